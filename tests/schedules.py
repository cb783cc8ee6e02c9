"""Two threads that take turns: every schedule of a small scenario, one after the other.

Only one of the threads runs at a time. Which one may change only at a *point*: where code of some
files reads or writes a private attribute (`self._state`), since that is how a thread sees what
another one did. A schedule is the set of points, counted from the beginning of the run, at which
the other thread goes on; so a run can be repeated, and all runs with few such switches can be
tried (Musuvathi and Qadeer 2007: most races need no more than two).

Beside these, a thread lets the other one go on when it ends and when it waits for a lock.
"""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Final

_ACCESS: Final = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"})
_LOCK: Final = type(threading.Lock())


@dataclass(frozen=True, slots=True)
class Scenario:
    """Two calls, and the objects whose locks they take."""

    calls: tuple[Callable[[], object], Callable[[], object]]
    holders: Sequence[object]


@dataclass(frozen=True, slots=True)
class Where:
    """The points: private attributes in files that end so, or only those of some names."""

    files: tuple[str, ...]
    names: frozenset[str] = frozenset()

    def points(self, code: CodeType) -> frozenset[int]:
        """The offsets of points in some code."""
        if not code.co_filename.endswith(self.files):
            return frozenset()
        return frozenset(
            instruction.offset
            for instruction in dis.get_instructions(code)
            if instruction.opname in _ACCESS
            and instruction.argval.startswith("_")
            and not instruction.argval.startswith("__")
            and (not self.names or instruction.argval in self.names)
        )


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of a schedule: what each call returned or raised.

    `open` is the number of the first point that only one of the threads has passed: there is
    nothing to choose from then on.
    """

    switches: tuple[int, ...]
    results: tuple[object, object]
    open: int


def runs(make: Callable[[], Scenario], where: Where, switches_max: int) -> Iterator[Run]:
    """The run of every schedule with so many switches at most; `make` makes a scenario for each."""
    codes: dict[CodeType, frozenset[int]] = {}
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        switches = waiting.pop()
        run = _Turns(make(), where, codes, switches).run()
        yield run
        if len(switches) < switches_max:
            first = switches[-1] + 1 if switches else 0
            waiting += [(*switches, point) for point in range(first, run.open)]


@dataclass(slots=True)
class _Turns:
    """One run of a scenario."""

    scenario: Scenario
    where: Where
    #: code -> its points, kept from run to run
    codes: dict[CodeType, frozenset[int]]
    switches: tuple[int, ...]
    #: points passed so far
    passed: int = 0
    running: int = 0
    ended: list[bool] = field(default_factory=lambda: [False, False])
    open: int = 0
    results: list[object] = field(default_factory=lambda: [None, None])
    batons: list[threading.Semaphore] = field(
        default_factory=lambda: [threading.Semaphore(0), threading.Semaphore(0)]
    )

    def run(self) -> Run:
        for holder in self.scenario.holders:
            for name, value in vars(holder).items():
                if isinstance(value, _LOCK):
                    setattr(holder, name, _Lock(self))
        threads = [threading.Thread(target=self._work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        self.batons[0].release()
        for thread in threads:
            thread.join()
        return Run(self.switches, (self.results[0], self.results[1]), self.open)

    def give_way(self) -> None:
        """Let the other thread go on until it ends, waits, or is switched."""
        me = self.running
        assert not self.ended[1 - me], "both threads wait: a deadlock"
        self.running = 1 - me
        self.batons[1 - me].release()
        self.batons[me].acquire()

    def _work(self, number: int) -> None:
        self.batons[number].acquire()
        sys.settrace(self._trace)
        try:
            self.results[number] = self.scenario.calls[number]()
        except Exception as error:  # noqa: BLE001 - the test compares it with what should come
            self.results[number] = error
        finally:
            sys.settrace(None)
        if not any(self.ended):
            self.open = self.passed
        self.ended[number] = True
        self.running = 1 - number
        self.batons[1 - number].release()

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Called for each new frame: only those with points are looked at further."""
        points = self.codes.get(frame.f_code)
        if points is None:
            points = self.codes[frame.f_code] = self.where.points(frame.f_code)
        if not points:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode" and frame.f_lasti in self.codes[frame.f_code]:
            point = self.passed
            self.passed += 1
            if point in self.switches and not any(self.ended):
                self.give_way()
        return self._step


class _Lock:
    """A lock of threads that take turns: no two ever try for it at the same time."""

    def __init__(self, turns: _Turns) -> None:
        self._turns = turns
        self._is_held = False

    def acquire(self, blocking: bool = True) -> bool:
        while self._is_held:
            if not blocking:
                return False
            self._turns.give_way()
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
