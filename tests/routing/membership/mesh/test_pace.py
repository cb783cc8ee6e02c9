"""The pace of a mesh: holds of links that return, and pauses between changes of trees."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.limits import MESH_HOLD_S, MESH_PAUSE_MAX_S, MESH_PAUSE_MIN_S
from sapwood.routing.effects import Send
from sapwood.routing.inputs import LinkDown, LinkUp, Receive, Tick
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.pace import HeldLinks, Pace
from sapwood.routing.messages import Neighbors, Version
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES
from tests.examples import examples

OTHERS = ("r2", "r3", "r4")


def test_only_a_link_that_returns_is_held() -> None:
    held = HeldLinks(4.0)
    assert not held.came_up("r2", 0.0)
    held.went_down("r2", for_good=False)
    assert held.came_up("r2", 1.0)
    assert "r2" in held
    assert held.deadline == 5.0
    held.went_down("r2", for_good=True)
    assert list(held) == []
    assert held.deadline is None
    assert not held.came_up("r2", 2.0)
    held.release("r2")  # nobody holds it


def test_what_has_been_up_for_half_the_hold_goes_along_with_what_is_due() -> None:
    held = HeldLinks(4.0)
    for neighbor, at in (("r2", 1.0), ("r3", 3.0), ("r4", 3.5)):
        held.went_down(neighbor, for_good=False)
        held.came_up(neighbor, at)
    assert held.due(4.9) == []
    assert held.due(5.0) == ["r2", "r3"]


def test_without_a_hold_nothing_waits() -> None:
    held, pace = HeldLinks(0.0), Pace(0.0)
    held.went_down("r2", for_good=False)
    assert not held.came_up("r2", 0.0)
    pace.changed(1.0)
    assert pace.may_improve(1.0)
    assert all(pace.may_repair(1.0) and pace.may_extend(1.0) for _ in range(9))


def test_a_better_tree_waits_until_nothing_has_changed_for_the_hold() -> None:
    pace = Pace(4.0)
    pace.changed(1.0)
    assert not pace.may_improve(1.0)
    assert pace.deadline == 5.0
    pace.changed(3.0)
    assert not pace.may_improve(5.0)
    assert pace.may_improve(7.0)
    assert pace.deadline is None


def test_the_first_cut_is_repaired_at_once_and_the_next_ones_after_pauses_that_double() -> None:
    pace, now, pauses = Pace(5.0), 100.0, []
    for _ in range(5):
        assert pace.may_repair(now)
        assert not pace.may_repair(now)
        assert not pace.may_extend(now)
        assert pace.deadline is not None
        pauses.append(pace.deadline - now)
        now = pace.deadline
    assert pauses == [MESH_PAUSE_MIN_S, 2 * MESH_PAUSE_MIN_S, *[MESH_PAUSE_MAX_S] * 3]
    assert pace.may_extend(now + 5.0)
    assert pace.may_repair(now + 5.0)
    assert pace.deadline is None


@given(st.lists(st.floats(0.0, 2.0), max_size=200), st.sampled_from([1.0, MESH_HOLD_S]))
def test_repairs_are_bounded_by_time(steps: list[float], hold_s: float) -> None:
    """However often there is cause, and also if whoever waits looks again too early."""
    pace = Pace(hold_s)
    repairs = [now for now in accumulate(steps) if pace.may_repair(now)]
    assert all(b - a > MESH_PAUSE_MIN_S - 1e-9 for a, b in pairwise(repairs))
    for first in repairs:
        within = [now for now in repairs if first <= now < first + hold_s]
        assert len(within) <= 4 + hold_s / MESH_PAUSE_MAX_S


class Alone:
    """One router of a full overlay of four, and the news that it gets of the others' links."""

    def __init__(self, hold_s: float) -> None:
        self.mesh = Mesh("r1", protocol("mesh+covering"), DEFAULT_ENGINES, hold_s=hold_s)
        self.numbers = dict.fromkeys(OTHERS, 0)
        self.gone: set[frozenset[str]] = set()
        for other in OTHERS:
            self.mesh.handle(LinkUp(other), 0.0)
            self.tell(other, 0.0)

    def tell(self, router: str, now: float) -> None:
        """A router says which links it has, by way of the first neighbor that is up."""
        self.numbers[router] += 1
        ends = [one for one in ("r1", *OTHERS) if one != router]
        left = tuple(end for end in ends if frozenset((router, end)) not in self.gone)
        said = Neighbors(router, Version(0, self.numbers[router]), left)
        via = next(iter(self.mesh.forest.links), None)
        if via is not None:
            self.mesh.handle(Receive(via, said), now)

    def toggle(self, a: str, b: str, now: float) -> None:
        """A link goes down, or comes up."""
        link = frozenset((a, b))
        change = LinkUp if link in self.gone else LinkDown
        self.gone ^= {link}
        if a == "r1":
            self.mesh.handle(change(b), now)
        else:
            self.tell(a, now)
        self.tell(b, now)

    def pass_until(self, now: float) -> None:
        """Let ticks come when they are due."""
        while (due := self.mesh.next_deadline()) is not None and due <= now:
            self.mesh.handle(Tick(), due)

    def told(self) -> tuple[str, ...]:
        """The links that the router tells of."""
        return self.mesh.map.own.neighbors

    @property
    def versions(self) -> int:
        """The number of trees that the router has announced."""
        return self.mesh.forest.trees["r1"].place.announced.version.number


PAIRS = st.sampled_from([(a, b) for a in ("r1", *OTHERS) for b in OTHERS if a < b])
FLAPS = st.lists(st.tuples(st.floats(0.0, 0.2), PAIRS), max_size=150)


@given(FLAPS)
@settings(max_examples=examples(25))
def test_the_versions_of_a_tree_are_bounded_by_time_and_not_by_what_links_do(
    flaps: list[tuple[float, tuple[str, str]]],
) -> None:
    alone, now = Alone(MESH_HOLD_S), 0.0
    begun = alone.versions
    for step, (a, b) in flaps:
        now += step
        alone.pass_until(now)
        alone.toggle(a, b, now)
        alone.mesh.validate()
    assert alone.versions - begun <= (4 + MESH_HOLD_S / MESH_PAUSE_MAX_S) * (now / MESH_HOLD_S + 2)
    for a, b in sorted(tuple(sorted(link)) for link in alone.gone):
        alone.toggle(a, b, now)
    alone.pass_until(now + 10 * MESH_HOLD_S)
    assert alone.mesh.next_deadline() is None
    assert set(alone.mesh.forest.trees["r1"].place.announced.tree.links()) == {
        ("r1", other) for other in OTHERS
    }


def test_a_link_that_returns_is_used_after_the_hold_or_when_the_neighbor_begins() -> None:
    for begins in (False, True):
        alone = Alone(MESH_HOLD_S)
        alone.toggle("r1", "r2", 1.0)
        assert alone.told() == ("r3", "r4")
        assert alone.mesh.handle(LinkUp("r2"), 2.0) == []
        with pytest.raises(InvariantError, match="up already"):
            alone.mesh.handle(LinkUp("r2"), 2.0)
        if begins:
            alone.mesh.handle(Receive("r2", Neighbors("r2", Version(0, 9), ("r1",))), 2.5)
        else:
            assert alone.mesh.next_deadline() is not None
            alone.pass_until(2.0 + MESH_HOLD_S)
        assert alone.told() == ("r2", "r3", "r4")


def test_a_link_that_returns_is_used_at_once_if_the_neighbor_is_out_of_reach_otherwise() -> None:
    alone = Alone(MESH_HOLD_S)
    for a, b in (("r2", "r3"), ("r2", "r4"), ("r1", "r2")):
        alone.toggle(a, b, 1.0)
    effects = alone.mesh.handle(LinkUp("r2"), 2.0)
    assert {effect.neighbor for effect in effects if isinstance(effect, Send)} == set(OTHERS)
    assert alone.told() == OTHERS


def test_a_link_that_is_held_is_used_as_soon_as_nothing_else_leads_there() -> None:
    alone = Alone(MESH_HOLD_S)
    alone.toggle("r1", "r2", 1.0)
    alone.mesh.handle(LinkUp("r2"), 2.0)
    alone.toggle("r2", "r3", 3.0)
    assert alone.told() == ("r3", "r4")
    alone.toggle("r2", "r4", 3.0)
    assert alone.told() == OTHERS


def test_validate_finds_a_link_that_is_held_and_in_use() -> None:
    alone = Alone(MESH_HOLD_S)
    alone.mesh._held.went_down("r2", for_good=False)
    alone.mesh._held.came_up("r2", 0.0)
    with pytest.raises(InvariantError, match="held, and in use"):
        alone.mesh.validate()
