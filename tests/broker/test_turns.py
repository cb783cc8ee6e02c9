"""Turns, with a clock that only work moves and a loop that is a list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.turns import Pace, Progress, Turns
from sapwood.limits import BRIEF_READS, TURN_S

MESSAGE_S = TURN_S / 5


class Loop:
    """The calls for the next time that the loop comes by, and the time that work takes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[Callable[[], None]] = []
        self.flushed_at: list[float] = []
        self.flush_s = 0.0
        self.turns = Turns(self.calls.append, lambda: self.now, self.flush)

    def flush(self) -> None:
        self.now += self.flush_s
        self.flushed_at.append(self.now)

    def waits(self, one: Connection) -> bool:
        queues = self.turns._brief, self.turns._long
        return any(one is entry[-1] for queue in queues for entry in queue._waiting)

    def come_by(self) -> None:
        calls, self.calls[:] = list(self.calls), []
        for call in calls:
            call()

    def until_calm(self) -> int:
        """The number of times that the loop had to come by."""
        rounds = 0
        while self.calls:
            self.come_by()
            rounds += 1
        return rounds


class Connection:
    """Messages, each of which takes some time; `None` is one that is parked first."""

    def __init__(self, loop: Loop, name: str = "c") -> None:
        self.loop = loop
        self.name = name
        self.spent_s = 0.0
        self.brief_reads = 0
        self.weight = 1
        self.messages: list[float | None] = []
        self.is_put_off = False
        self.handled: list[float] = []

    def arrive(self, *messages: float | None) -> None:
        assert not self.is_put_off, "nobody reads it"
        self.messages += messages
        self.loop.turns.arrived(self)

    def advance(self, expired: Callable[[], bool]) -> Progress:
        while self.messages:
            took = self.messages.pop(0)
            if took is None:
                self.messages.insert(0, 0.0)
                return Progress.PARKED
            self.loop.now += took
            self.handled.append(self.loop.now)
            if self.messages and expired():
                return Progress.MORE
        return Progress.DONE

    def put_off(self) -> None:
        self.is_put_off = True

    def resume(self) -> None:
        assert not self.messages
        self.is_put_off = False


def test_a_little_is_handled_at_once() -> None:
    loop = Loop()
    one = Connection(loop)
    one.arrive(MESSAGE_S, MESSAGE_S)
    assert (len(one.handled), one.is_put_off, loop.calls) == (2, False, [])


def test_much_is_put_off_after_a_turn_and_goes_on_when_the_loop_comes_by() -> None:
    loop = Loop()
    one = Connection(loop)
    one.arrive(*[MESSAGE_S] * 12)
    assert (len(one.handled), one.is_put_off) == (5, True)
    loop.come_by()
    assert (len(one.handled), one.is_put_off) == (10, True)
    assert loop.until_calm() == 1
    assert (len(one.handled), one.is_put_off) == (12, False)


def test_who_has_used_least_has_the_next_turn() -> None:
    loop = Loop()
    hostile, other, modest = (Connection(loop, name) for name in "hom")
    hostile.arrive(*[MESSAGE_S] * 100)
    other.arrive(*[MESSAGE_S] * 100)  # waits: the time until the loop comes by is used up
    loop.come_by()
    assert (len(hostile.handled), len(other.handled)) == (5, 6)  # two turns of half the length
    modest.arrive(MESSAGE_S)
    loop.come_by()
    assert len(modest.handled) == 1
    assert not modest.is_put_off


def test_a_newcomer_gets_no_credit_for_the_past() -> None:
    loop = Loop()
    old, new = Connection(loop), Connection(loop)
    old.arrive(*[MESSAGE_S] * 100)
    for _ in range(10):
        loop.come_by()
    new.arrive(*[MESSAGE_S] * 50)
    before = len(old.handled)
    for _ in range(10):
        loop.come_by()
    ahead = len(new.handled) - (len(old.handled) - before)
    assert -5 <= ahead <= 10  # a turn or two: not the fifty of the past


def test_who_has_been_at_work_for_long_does_not_wait_until_newcomers_have_been() -> None:
    loop = Loop()
    old, busy = Connection(loop), [Connection(loop) for _ in range(10)]
    for _ in range(1000):
        old.arrive(MESSAGE_S)
        loop.until_calm()
    for one in busy:
        one.arrive(*[MESSAGE_S] * 1000)
    sent = loop.now
    old.arrive(MESSAGE_S)
    while old.is_put_off:
        loop.come_by()
    assert loop.now - sent <= 3 * len(busy) * TURN_S


def test_turns_are_shorter_the_more_wait() -> None:
    loop = Loop()
    busy = [Connection(loop) for _ in range(50)]
    for one in busy:
        one.arrive(*[TURN_S / 100] * 1000)
    assert len(busy[0].handled) in (100, 101)  # sums are rounded
    while not busy[-1].handled:
        loop.come_by()
    assert len(busy[-1].handled) in (10, 11)  # `TURN_MIN_S`


def test_a_worker_of_many_shares_gets_them() -> None:
    loop = Loop()
    link, clients = Connection(loop), [Connection(loop) for _ in range(8)]
    link.weight = 8
    for one in (link, *clients):
        one.arrive(*[MESSAGE_S] * 10_000)
    for _ in range(400):
        loop.come_by()
    counts = [len(one.handled) for one in clients]
    assert max(counts) - min(counts) <= 2
    assert 0.9 < len(link.handled) / sum(counts) < 1.1


@pytest.mark.parametrize("earlier", [BRIEF_READS, 1000])
@pytest.mark.parametrize("busy", [1, 100])
def test_busy_connections_delay_a_modest_one_by_a_turn_or_two_however_many_they_are(
    busy: int, earlier: int
) -> None:
    loop = Loop()
    modest, hostile = Connection(loop), [Connection(loop) for _ in range(busy)]
    for _ in range(earlier):
        modest.arrive(MESSAGE_S)
        loop.until_calm()
    waits = []
    for _ in range(200):
        for one in hostile:
            if not one.is_put_off:
                one.arrive(*[MESSAGE_S] * 50)
        sent = loop.now
        modest.arrive(MESSAGE_S / 2)  # more than its share, where others are a hundred
        while modest.is_put_off:
            loop.come_by()
        waits.append(loop.now - sent)
        loop.come_by()
    assert max(waits) <= 2 * TURN_S


def test_who_brings_much_has_half_of_the_loop_beside_those_who_bring_little() -> None:
    loop = Loop()
    busy, modest = Connection(loop), [Connection(loop) for _ in range(20)]
    for one in modest * BRIEF_READS:
        one.arrive(0.0)
    busy.arrive(*[MESSAGE_S / 10] * 100_000)
    for _ in range(200):
        for one in modest:
            if not one.is_put_off:
                one.arrive(MESSAGE_S / 2)
        loop.come_by()
    little = sum(len(one.handled) for one in modest) * MESSAGE_S / 2
    assert 0.8 < len(busy.handled) * MESSAGE_S / 10 / little < 1.25


def test_all_turns_of_a_round_are_flushed_together_and_on_the_account_of_all() -> None:
    loop = Loop()
    first, busy = Connection(loop), [Connection(loop) for _ in range(3)]
    first.arrive(*[MESSAGE_S] * 5)
    for one in busy:
        one.arrive(MESSAGE_S / 3)
    assert (len(loop.flushed_at), [len(one.handled) for one in busy]) == (1, [0, 0, 0])
    loop.flush_s = MESSAGE_S
    loop.come_by()
    assert (len(loop.flushed_at), [len(one.handled) for one in busy]) == (2, [1, 1, 1])
    assert [one.spent_s for one in busy] == pytest.approx([2 * MESSAGE_S / 3] * 3)
    one = Connection(loop)
    one.arrive(MESSAGE_S)  # who is handled at once has an answer at once
    assert len(loop.flushed_at) == 3
    assert one.spent_s == pytest.approx(2 * MESSAGE_S)


def test_who_brings_little_many_times_is_brief_until_a_turn_is_not_enough() -> None:
    loop = Loop()
    one = Connection(loop)
    for _ in range(BRIEF_READS):
        assert one.brief_reads < BRIEF_READS
        one.arrive(MESSAGE_S)
        loop.until_calm()
    assert one.brief_reads == BRIEF_READS
    one.arrive(*[MESSAGE_S] * 12)
    assert one.brief_reads == -1
    loop.until_calm()
    assert one.brief_reads == 0
    one.arrive(MESSAGE_S)
    assert one.brief_reads == 1


def test_what_is_parked_goes_on_when_it_is_ready() -> None:
    loop = Loop()
    one = Connection(loop)
    one.arrive(MESSAGE_S, None, MESSAGE_S)
    assert (len(one.handled), one.is_put_off, loop.calls) == (1, True, [])
    loop.turns.ready(one)
    loop.until_calm()
    assert (len(one.handled), one.is_put_off) == (3, False)


def test_a_defect_in_a_turn_leaves_nobody_waiting() -> None:
    class DefectError(Exception):
        """A defect."""

    loop = Loop()
    bad, good = Connection(loop), Connection(loop)
    bad.arrive(*[MESSAGE_S] * 6)
    good.arrive(MESSAGE_S)

    def fails(expired: Callable[[], bool]) -> Progress:
        bad.messages.clear()
        raise DefectError

    bad.advance = fails  # type: ignore[method-assign]  # a defect
    with pytest.raises(DefectError):
        loop.come_by()
    loop.until_calm()
    assert (bad.is_put_off, good.is_put_off, len(good.handled)) == (False, False, 1)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.lists(st.one_of(st.floats(0.0, 2 * TURN_S), st.none()), max_size=8),
        ),
        max_size=30,
    )
)
def test_everything_is_handled_once_and_nobody_is_left_waiting(
    arrivals: list[tuple[int, list[float | None]]],
) -> None:
    loop = Loop()
    connections = [Connection(loop, str(n)) for n in range(5)]
    sent = [0] * 5
    for which, messages in arrivals:
        one = connections[which]
        if one.is_put_off:
            loop.come_by()
        if not one.is_put_off:
            sent[which] += len(messages)
            one.arrive(*messages)
        for parked in connections:
            if parked.is_put_off and not loop.waits(parked):
                loop.turns.ready(parked)
    while any(one.is_put_off for one in connections):
        loop.until_calm()
        for one in connections:
            if one.is_put_off:
                loop.turns.ready(one)
    assert [len(one.handled) for one in connections] == sent
    assert loop.calls == []


def test_a_batch_is_what_three_quarters_of_a_turn_are_enough_for_and_at_most_twice_the_last() -> (
    None
):
    pace = Pace()
    pace.publications = 32
    pace.took(32, 0.0004)
    assert pace.publications == 64
    pace.took(100, TURN_S)
    assert pace.publications == 75
    pace.took(75, 100 * TURN_S)
    assert pace.publications == 1
    pace.took(1, 0.0)
    assert pace.publications == 2


def test_a_batch_is_what_three_turns_are_enough_for_where_nobody_waits() -> None:
    pace = Pace()
    pace.publications = 100
    pace.took(100, TURN_S, is_alone=True)
    assert pace.publications == 200
    pace.took(200, 2 * TURN_S, is_alone=True)
    assert pace.publications == 300
    pace.took(300, 3 * TURN_S)
    assert pace.publications == 75
