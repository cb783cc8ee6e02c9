"""The schedules themselves: planted races are found, and what waits for a lock is let go on."""

from __future__ import annotations

from threading import Lock

from tests.schedules import Scenario, Where, runs

HERE = Where((__file__,))


class Account:
    """Money that is moved in two steps, with a lock or without."""

    def __init__(self, *, is_locked: bool) -> None:
        self._left, self._right = 10, 0
        self._lock = Lock() if is_locked else None

    def move(self, much: int) -> None:
        if self._lock is None:
            self._move(much)
        else:
            with self._lock:
                self._move(much)

    def total(self) -> int:
        if self._lock is None:
            return self._left + self._right
        with self._lock:
            return self._left + self._right

    def _move(self, much: int) -> None:
        self._left -= much
        self._right += much


def totals(*, is_locked: bool, switches: int) -> set[object]:
    def make() -> Scenario:
        account = Account(is_locked=is_locked)
        return Scenario((lambda: account.move(3), account.total), (account,))

    return {run.results[1] for run in runs(make, HERE, switches)}


def test_without_a_switch_nothing_is_found() -> None:
    assert totals(is_locked=False, switches=0) == {10}


def test_one_switch_finds_a_read_between_two_writes() -> None:
    assert totals(is_locked=False, switches=1) == {10, 7}


def test_two_switches_find_writes_between_two_reads() -> None:
    assert totals(is_locked=False, switches=2) == {10, 7, 13}


def test_threads_that_wait_for_a_lock_let_the_other_one_go_on() -> None:
    assert totals(is_locked=True, switches=2) == {10}


def test_every_schedule_is_run_once_and_errors_are_results() -> None:
    class Counter:
        def __init__(self) -> None:
            self._count = 0

        def add(self) -> None:
            self._count += 1

        def fail(self) -> None:
            raise ValueError(str(self._count))

    def make() -> Scenario:
        counter = Counter()
        return Scenario((counter.add, counter.fail), ())

    found = list(runs(make, HERE, 2))
    assert len({run.switches for run in found}) == len(found)
    assert {str(run.results[1]) for run in found} == {"0", "1"}
