"""Single changes wait for each other while publications flow, on a loop whose time is a number."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.spacing import ChangeSpacing
from sapwood.limits.bulk import CHANGES_APART_S, CHANGES_REST

MS = 0.001


class Loop:
    """A loop that comes by when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.soon: list[Callable[[], None]] = []
        self.later: list[tuple[float, int, Callable[[], None]]] = []
        self.spacing = ChangeSpacing(self.soon.append, self.call_at, lambda: self.now)

    def call_at(self, due_s: float, call: Callable[[], None]) -> None:
        heapq.heappush(self.later, (due_s, len(self.later), call))

    def come_by(self, took_s: float = 0.0) -> None:
        """One pass, which takes some time."""
        self.now += took_s
        calls, self.soon[:] = list(self.soon), []
        while self.later and self.later[0][0] <= self.now:
            calls.append(heapq.heappop(self.later)[-1])
        for call in calls:
            call()

    def flow(self) -> None:
        self.spacing.flowed(self.now)


class Changes:
    """Changes that come, and when each was handled."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.came: list[float] = []
        self.handled: dict[int, float] = {}

    def come(self) -> None:
        number = len(self.came)
        self.came.append(self.loop.now)

        def ready() -> None:
            assert number not in self.handled, "a change is handled once"
            self.handled[number] = self.loop.now

        if not self.loop.spacing.parks(ready):
            ready()


def test_the_worked_example() -> None:
    loop = Loop()
    changes, begun = Changes(loop), loop.now
    loop.flow()
    changes.come()
    loop.come_by(0.5 * MS)
    loop.now = begun + 1 * MS
    changes.come()
    loop.now = begun + 2 * MS
    changes.come()
    loop.come_by()
    assert [*changes.handled] == [0]
    loop.now = begun + 2.5 * MS + 1e-9
    loop.come_by()
    assert [*changes.handled] == [0, 1, 2]
    loop.flow()
    loop.come_by(3 * MS)
    changes.come()
    loop.now = begun + 13.4 * MS
    loop.come_by()
    assert 3 not in changes.handled
    loop.now = begun + 13.5 * MS + 1e-6
    loop.come_by()
    assert 3 in changes.handled


def test_changes_of_one_pass_are_handled_at_once() -> None:
    loop = Loop()
    changes = Changes(loop)
    loop.flow()
    for _ in range(3):
        changes.come()
    assert len(changes.handled) == 3


def test_no_change_waits_where_nothing_is_published() -> None:
    loop = Loop()
    changes = Changes(loop)
    loop.flow()
    changes.come()
    loop.come_by(CHANGES_APART_S + 1e-6)
    changes.come()
    assert len(changes.handled) == 2


@given(
    steps=st.lists(
        st.sampled_from(("come", "flow", "pass")) | st.floats(0.0, 0.02), min_size=1, max_size=60
    )
)
def test_no_change_waits_longer_than_the_bound_nor_overtakes_another(
    steps: list[str | float],
) -> None:
    loop = Loop()
    changes = Changes(loop)
    #: the greatest time that a pass took, for which a change may have waited besides
    longest_s = 0.0
    for step in steps:
        match step:
            case "come":
                changes.come()
            case "flow":
                loop.flow()
            case "pass":
                loop.come_by()
            case took_s:
                assert isinstance(took_s, float)
                longest_s = max(longest_s, took_s)
                loop.come_by(took_s)
    loop.come_by()
    loop.come_by(CHANGES_APART_S + 1e-9)
    assert [*changes.handled] == [*range(len(changes.came))]
    for number, handled_s in changes.handled.items():
        waited_s = handled_s - changes.came[number]
        assert waited_s <= CHANGES_APART_S + longest_s + 1e-6


@given(took_ms=st.floats(0.01, 50.0), early=st.floats(0.0, 0.99))
def test_the_rest_is_as_long_as_the_pass_was_so_many_times(took_ms: float, early: float) -> None:
    loop = Loop()
    changes = Changes(loop)
    loop.flow()
    changes.come()
    loop.come_by(took_ms * MS)
    loop.flow()
    rest_s = min(CHANGES_APART_S, CHANGES_REST * took_ms * MS)
    loop.now += early * rest_s
    changes.come()
    assert len(changes.handled) == 1
    loop.now += (1 - early) * rest_s + 1e-6
    loop.come_by()
    assert len(changes.handled) == 2
