"""The laws of delay bounds (dossier P33, P35, P37), on traces that Hypothesis draws.

Real time is an integer here, and clocks are right by construction, so that the true delay of every
message is known to the nanosecond. Nothing is compared with a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sapwood.timing.drift import Drift
from sapwood.timing.link_bounds import LinkBounds, Mark, Passage, Stamp

PPM = 500


@dataclass
class Clock:
    """Shows `begins` at 0 and is off by `ppm`."""

    ppm: int
    begins: int

    def __call__(self, now: int) -> int:
        return self.begins + now * (10**6 + self.ppm) // 10**6


@dataclass
class Sent:
    """A message, as the truth has it."""

    by: int
    at: int
    arrives: int
    stamp: Stamp
    helpers: tuple[Mark, ...]


DELAYS = st.one_of(st.integers(0, 3), st.integers(0, 10**6), st.integers(0, 10**9), st.just(10**12))

EVENTS = st.lists(
    st.tuples(
        st.sampled_from((0, 1)),  # who sends, or restarts
        st.one_of(st.just(0), st.integers(0, 10**7), st.integers(0, 10**11)),  # after how long
        st.one_of(st.none(), DELAYS),  # how long it takes; None: it is lost
        st.sampled_from(("once", "once", "once", "twice", "restart")),
        DELAYS,
    ),
    max_size=60,
)

CLOCKS = st.tuples(
    *(st.builds(Clock, st.integers(-PPM, PPM), st.integers(-(10**12), 10**12)) for _ in range(2))
)


@dataclass
class Run:
    """A trace on one link, and what its ends made of each message."""

    clocks: tuple[Clock, Clock]
    options: dict[str, Any] = field(default_factory=dict)
    now: int = 0
    lives: int = 0
    told: list[tuple[Sent, Passage]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clocks = (Clock(**vars(self.clocks[0])), Clock(**vars(self.clocks[1])))
        self.ends = [self.fresh(), self.fresh()]
        self.flying: list[Sent] = []
        self.helpers: tuple[list[Mark], list[Mark]] = ([], [])

    def fresh(self) -> LinkBounds:
        self.lives += 1
        return LinkBounds(Drift(PPM), Drift(PPM), self.lives, **self.options)

    def play(self, events: list[tuple[int, int, int | None, str, int]]) -> Run:
        for end, after, delay, kind, again in events:
            self.pass_(self.now + after)
            if kind == "restart":
                self.ends[end] = self.fresh()
                self.clocks[end].begins += 7 * (after - 10**6)  # it begins anywhere
                continue
            stamp = self.ends[end].stamp(self.clocks[end](self.now))
            for taking in (delay, again)[: 2 if kind == "twice" else 1]:
                if taking is not None:
                    came = tuple(self.helpers[end])
                    self.flying.append(Sent(end, self.now, self.now + taking, stamp, came))
        self.pass_(self.now + 10**13)
        return self

    def pass_(self, to: int) -> None:
        """Let everything arrive that does by then, in the order in which it does."""
        for one in sorted(self.flying, key=lambda one: one.arrives):
            if one.arrives <= to:
                other = 1 - one.by
                shown = self.clocks[other](one.arrives)
                passage = self.ends[other].arrived(one.stamp, shown)
                self.told.append((one, passage))
                self.helpers[other].append(Mark(one.stamp.sent, shown, passage.lower))
        self.flying = [one for one in self.flying if one.arrives > to]
        self.now = to


@given(CLOCKS, EVENTS)
def test_no_message_takes_longer_than_its_upper_bound_or_less_than_its_lower(
    clocks: tuple[Clock, Clock], events: list[Any]
) -> None:
    run = Run(clocks).play(events)
    for one, (upper, lower) in run.told:
        assert 0 <= lower <= one.arrives - one.at
        assert upper is None or one.arrives - one.at <= upper
    assert [end.contradictions for end in run.ends] == [0, 0]


@given(CLOCKS, EVENTS)
def test_the_bounds_with_choices_are_never_worse_than_those_without(
    clocks: tuple[Clock, Clock], events: list[Any]
) -> None:
    best = Run(clocks).play(events)
    chosen = Run(clocks, {"improves": False}).play(events)
    plain = Run(clocks, {"improves": False, "chooses": False}).play(events)
    for (_, first), (_, second), (_, last) in zip(best.told, chosen.told, plain.told, strict=True):
        if last.upper is not None:
            assert first.upper is not None
            assert second.upper is not None
            assert first.upper <= second.upper <= last.upper
        assert first.lower >= last.lower


@given(CLOCKS, EVENTS)
def test_the_chosen_helper_gives_the_smallest_bound_of_all_that_came(
    clocks: tuple[Clock, Clock], events: list[Any]
) -> None:
    """Whoever remembers all helpers, and tries each, finds no smaller bound (P35)."""
    run = Run(clocks).play([event for event in events if event[3] != "restart"])
    for one, (upper, _) in run.told:
        shown = run.clocks[1 - one.by](one.arrives)
        for helper in one.helpers:
            alone = LinkBounds(Drift(PPM), Drift(PPM), one.stamp.known)
            stamp = Stamp(one.stamp.epoch, one.stamp.known, one.stamp.sent, helper)
            by_it = alone.arrived(stamp, shown).upper
            assert by_it is not None
            assert upper is not None
            assert upper <= by_it


@given(CLOCKS, EVENTS, st.tuples(st.integers(-(10**15), 10**15), st.integers(-(10**15), 10**15)))
def test_where_clocks_begin_changes_nothing(
    clocks: tuple[Clock, Clock], events: list[Any], later: tuple[int, int]
) -> None:
    """No decision rests on comparing two clocks (P37)."""
    others = tuple(
        Clock(clock.ppm, clock.begins + by) for clock, by in zip(clocks, later, strict=True)
    )
    first, second = Run(clocks).play(events), Run(others).play(events)  # type: ignore[arg-type]
    assert [passage for _, passage in first.told] == [passage for _, passage in second.told]


def test_the_worked_example() -> None:
    exact = Drift(0, 0)
    p, q = LinkBounds(exact, exact, 1), LinkBounds(exact, exact, 2)
    p.arrived(q.stamp(1000), 5300)
    assert q.arrived(p.stamp(5400), 1450) == Passage(350, 0)
    marked = Stamp(1, 2, 5400, Mark(1000, 5300, 200))
    assert LinkBounds(exact, exact, 2).arrived(marked, 1450) == Passage(150, 0)


def test_nothing_is_known_until_something_came_back() -> None:
    p, q = LinkBounds(Drift(), Drift(), 1), LinkBounds(Drift(), Drift(), 2)
    assert p.arrived(q.stamp(0), 0) == Passage(None, 0)
    assert q.arrived(p.stamp(10), 10).upper is not None


def test_a_smaller_message_bound_by_bandwidth_is_used() -> None:
    p = LinkBounds(Drift(), Drift(), 1, least_ns=lambda size: 8 * size)
    assert p.arrived(Stamp(2, 0, 0), 0, size=100) == Passage(None, 800)


def test_marks_of_an_earlier_life_are_not_used() -> None:
    p, q = LinkBounds(Drift(), Drift(), 1), LinkBounds(Drift(), Drift(), 2)
    p.arrived(q.stamp(0), 0)
    reply = p.stamp(100)
    again = LinkBounds(Drift(), Drift(), 3)
    assert again.arrived(reply, 50_000).upper is None


def test_a_clock_that_jumps_is_found_out_and_forgotten() -> None:
    p, q = LinkBounds(Drift(), Drift(), 1), LinkBounds(Drift(), Drift(), 2)
    p.arrived(q.stamp(0), 0)
    q.arrived(p.stamp(1000), 1000)
    p.arrived(q.stamp(2000), 2000)
    jumped = p.stamp(10**12)  # p's clock says that a long time has passed, q's does not
    assert q.arrived(jumped, 3000) == Passage(None, 0)
    assert (q.contradictions, q.epoch) == (1, 3)
    assert p.arrived(q.stamp(4000), 10**12 + 1000).upper is None, "p forgets as well"
    assert q.arrived(p.stamp(10**12 + 2000), 5000).upper is not None, "and they begin afresh"
