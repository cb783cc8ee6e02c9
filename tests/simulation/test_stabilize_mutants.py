"""Planted bugs of edge stabilization: each must be found by tables that do not become right.

A mutant is the strategy with one defect. What finds it is that an overlay with arbitrary tables is
not legal within the bound, does not come to rest, or leaves a client without its answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

from sapwood.errors import SapwoodError
from sapwood.overlay.shapes import parse_topology
from sapwood.routing import router
from sapwood.routing.inputs import LinkUp
from sapwood.routing.tables import SentEntry
from sapwood.routing.upkeep.protocol import Action
from sapwood.routing.upkeep.stabilize import edges, sketched, stabilize, statements
from sapwood.routing.upkeep.stabilize.edges import Asked, Difference, Holder, Sender, difference
from sapwood.routing.upkeep.stabilize.notes import Observe, Sketch
from sapwood.routing.upkeep.stabilize.sketched import SketchedTable
from sapwood.routing.upkeep.stabilize.stabilize import Link, Stabilize
from sapwood.simulation import world as world_module
from sapwood.simulation.corruption import KINDS
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.routing.upkeep.stabilize import test_edges
from tests.simulation import test_stabilize
from tests.simulation.helpers import subscribe
from tests.simulation.test_stabilize import (
    PERIOD_S,
    SLACK_S,
    assert_legal,
    converges,
    corrupt_all,
    forged,
    overlay,
)

Patch = Callable[[pytest.MonkeyPatch], None]
SEEDS_MAX = 24


def never_withdraws(patch: pytest.MonkeyPatch) -> None:
    """The surplus of the holder stays."""
    patch.setattr(edges, "difference", lambda *it: difference(*it)._replace(surplus=()))


def never_restates(patch: pytest.MonkeyPatch) -> None:
    """The entries that the holder lacks are not said again."""
    patch.setattr(edges, "difference", lambda *it: difference(*it)._replace(missing=()))


def withdraws_last(patch: pytest.MonkeyPatch) -> None:
    """A name that is wrong in what it says is withdrawn behind its correction."""
    before = Stabilize._correct

    def correct(self: Stabilize, neighbor: str, link: Link, found: Difference) -> list[Action]:
        last = Difference((), found.surplus)
        first = found._replace(surplus=())
        return [*before(self, neighbor, link, first), *before(self, neighbor, link, last)]

    patch.setattr(Stabilize, "_correct", correct)


def looks_at_the_wrong_side(patch: pytest.MonkeyPatch) -> None:
    """The sender compares what it holds from the neighbor, not what it told."""
    patch.setattr(stabilize, "sent", edges.held)


def overlooks_conflicts(patch: pytest.MonkeyPatch) -> None:
    """An entry that another neighbor stated goes to routing, which takes it for a circle."""
    patch.setattr(statements, "sides_of", lambda *_: {})


def takes_keys_that_are_not_given(patch: pytest.MonkeyPatch) -> None:
    """A neighbor states an entry under the next key of the router itself."""
    patch.setattr(statements, "_is_own", lambda *_: False)


def hides_what_is_behind(patch: pytest.MonkeyPatch) -> None:
    """An upkeep in front of another one takes its place, also in what it cannot do itself."""
    patch.setattr(router, "layer_with", lambda one, method: one if hasattr(one, method) else None)


def overlooks_filters(patch: pytest.MonkeyPatch) -> None:
    """Elements say nothing of filters."""
    patch.setattr(sketched, "_element", lambda name, _, sending: hash((name, sending)) % 2**63)


def overlooks_numbers(patch: pytest.MonkeyPatch) -> None:
    """Elements say nothing of the numbers that confirmations answer."""
    before = sketched._element
    patch.setattr(sketched, "_element", lambda name, content, _: before(name, content, 0))


def loses_timers(patch: pytest.MonkeyPatch) -> None:
    """A link that comes up has no timer, and nobody looks."""
    before = Stabilize.link_up

    def link_up(self: Stabilize, link: LinkUp, now: float) -> Iterable[Action]:
        actions = before(self, link, now)
        self.links[link.neighbor].due_s = math.inf
        return actions

    patch.setattr(Stabilize, "link_up", link_up)
    patch.setattr(Stabilize, "_see", lambda *_: None)


def collides_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Sketches have the same salt in all rounds, and nothing beside their bits."""
    before = Sender.observe

    def observe(self: Sender, entries: Iterable[tuple[str, SentEntry]], held: int) -> Observe:
        self._planned, self._believed = 1 << 30, 0
        self._shape = replace(self._shape, size=64, salt=0)
        return before(self, entries, held)

    def is_alike(self: Asked, _: Sketch) -> bool:
        assert self.summary is not None
        return bytes(self.bits) == self.summary.bits.to_bytes()

    patch.setattr(Sender, "observe", observe)
    patch.setattr(Asked, "is_alike", is_alike)


def takes_late_answers(patch: pytest.MonkeyPatch) -> None:
    """An answer is taken whatever was asked."""
    patch.setattr(Asked, "takes", lambda *_: True)


def converges_with_any_seed() -> None:
    for seed in range(SEEDS_MAX):
        converges("simple", seed)


def heals_two_routers_in_one_round() -> None:
    for seed in range(4):
        line = parse_topology("line:2", lambda n: 0)
        world = World(line, router_maker(f"simple+stabilize:{PERIOD_S:g}"), validate=False)
        for number in range(3):
            subscribe(world, "r1", f"s{number}", f"x > {number}")
        world.drain()
        corrupt_all(world, seed, ("alter",))
        world.run_until(world.now + PERIOD_S + SLACK_S)
        assert_legal(world)


def tells_apart_what_differs_by_one() -> None:
    """Two tables that differ by one entry are told apart in one of some rounds."""
    for pair in range(30):
        keys = [f"k{pair}.{number}" for number in range(12)]
        told, held = test_edges.table(*keys), test_edges.table(*keys[1:])
        sender, holder = Sender("a/b"), Holder()
        rounds = (test_edges.compare(sender, told, holder, held) for _ in range(12))
        assert any(found is not None for found in rounds)


CHANGED = test_edges.test_another_filter_or_another_number_under_a_key_is_another_entry
LATE = test_edges.test_an_answer_to_an_earlier_question_says_nothing

BUGS: tuple[tuple[Patch, Callable[[], None]], ...] = (
    (never_withdraws, converges_with_any_seed),
    (never_restates, converges_with_any_seed),
    (looks_at_the_wrong_side, converges_with_any_seed),
    (overlooks_conflicts, converges_with_any_seed),
    (loses_timers, converges_with_any_seed),
    (withdraws_last, heals_two_routers_in_one_round),
    (overlooks_filters, CHANGED),
    (overlooks_numbers, CHANGED),
    (collides_for_ever, tells_apart_what_differs_by_one),
    (takes_late_answers, LATE),
)


@pytest.mark.parametrize(("bug", "check"), BUGS, ids=lambda it: it.__name__)
@pytest.mark.one_in(2)
def test_a_planted_bug_is_found(
    bug: Patch, check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises((AssertionError, SapwoodError, KeyError)):
        check()


@pytest.mark.parametrize("check", [heals_two_routers_in_one_round, tells_apart_what_differs_by_one])
def test_what_finds_bugs_finds_none_where_none_is(check: Callable[[], None]) -> None:
    check()


def test_sketches_that_are_believed_for_ever_hide_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SketchedTable, "afresh", lambda _: None)
    for seed in range(SEEDS_MAX):
        world = overlay("simple", seed)
        try:
            corrupt_all(world, seed, tuple(KINDS))
            world.run_until(world.now + 40 * PERIOD_S)
            assert_legal(world)
            assert all(not r.table_sizes()["wrong"] for r in world.routers.values())
        except (AssertionError, SapwoodError, KeyError):
            return
    pytest.fail("it was not found")


@pytest.mark.long
def test_a_snapshot_that_is_stale_undoes_what_was_said_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stale(
        snapshot: Mapping[str, int], listed: Mapping[str, int], _: Mapping[str, int]
    ) -> Difference:
        return difference(snapshot, listed, snapshot)

    monkeypatch.setattr(test_edges, "difference", stale)
    with pytest.raises((AssertionError, ExceptionGroup)):
        test_edges.test_a_correction_undoes_nothing_that_was_said_meanwhile()


def test_a_key_that_is_not_given_yet_has_to_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    takes_keys_that_are_not_given(monkeypatch)
    with pytest.raises((AssertionError, SapwoodError, KeyError)):
        forged("r2.0.1")


def test_an_upkeep_in_front_may_not_hide_what_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    hides_what_is_behind(monkeypatch)
    monkeypatch.setattr(world_module, "SIMULATION_RESTLESS_TICKS_MAX", 100)
    with pytest.raises((AssertionError, SapwoodError)):
        test_stabilize.test_tables_behind_another_upkeep_become_right_as_well()
