"""Planted bugs of edge stabilization: each must be found by tables that do not become right.

A mutant is the strategy with one defect. What finds it is that an overlay with arbitrary tables is
not legal within the bound, does not come to rest, or leaves a client without its answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sapwood.errors import SapwoodError
from sapwood.routing.inputs import LinkUp
from sapwood.routing.router import Router
from sapwood.routing.tables import Statement
from sapwood.routing.upkeep.protocol import Action
from sapwood.routing.upkeep.stabilize import edges, sketched, stabilize, statements
from sapwood.routing.upkeep.stabilize.edges import Asked, Difference, Sender, difference
from sapwood.routing.upkeep.stabilize.notes import Observe, Sketch
from sapwood.routing.upkeep.stabilize.sketched import SketchedTable
from sapwood.routing.upkeep.stabilize.stabilize import Link, Stabilize
from sapwood.simulation.corruption import KINDS
from tests.routing.upkeep.stabilize import test_edges
from tests.simulation.test_stabilize import (
    PERIOD_S,
    assert_legal,
    converges,
    corrupt_all,
    overlay,
)

Patch = Callable[[pytest.MonkeyPatch], None]
SEEDS_MAX = 24


def never_withdraws(patch: pytest.MonkeyPatch) -> None:
    """What the holder has too much stays."""
    patch.setattr(edges, "difference", lambda *it: difference(*it)._replace(surplus=()))


def never_restates(patch: pytest.MonkeyPatch) -> None:
    """What the holder lacks is not said again."""
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
    patch.setattr(stabilize, "told", edges.held)


def gives_way_to_nobody(patch: pytest.MonkeyPatch) -> None:
    """A correction does not take the place of what another neighbor stated."""
    before = statements.allowed

    def allowed(sides: Mapping[str, str | None], neighbor: str, *, is_correction: bool) -> Any:
        del is_correction
        return before(sides, neighbor, is_correction=False)

    patch.setattr(statements, "allowed", allowed)


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

    def link_up(self: Stabilize, link: LinkUp, now: float) -> Sequence[Action]:
        actions = before(self, link, now)
        self.links[link.neighbor].due_s = math.inf
        return actions

    patch.setattr(Stabilize, "link_up", link_up)
    patch.setattr(Stabilize, "_see", lambda *_: None)


def collides_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Sketches have 64 bits, always in the same places, and nothing beside them."""
    before = Sender.observe

    def observe(self: Sender, entries: Iterator[tuple[str, Statement]], held: int) -> Observe:
        self._planned, self._believed = 1 << 30, 0
        self._shape = replace(self._shape, size=64, salt=0)
        return before(self, entries, held)

    def is_alike(self: Asked, _: Sketch) -> bool:
        assert self.summary is not None
        return bytes(self.bits) == self.summary.bits.to_bytes()

    patch.setattr(Sender, "observe", observe)
    patch.setattr(Asked, "is_alike", is_alike)


def adopts_late_answers(patch: pytest.MonkeyPatch) -> None:
    """An answer is taken whatever was asked."""

    def takes(self: Asked, answer: Any) -> bool:
        return isinstance(answer, Sketch) == (self.summary is not None)

    patch.setattr(Asked, "takes", takes)
    patch.setattr(Sender, "observe", _asks_twice(Sender.observe))


def _asks_twice(before: Callable[..., Observe]) -> Callable[..., Observe]:
    def observe(self: Sender, entries: Iterator[tuple[str, Statement]], held: int) -> Observe:
        some = list(entries)
        asked = before(self, some, held)
        return replace_round(asked, before(self, some, held))

    return observe


def replace_round(asked: Observe, later: Observe) -> Observe:
    """The earlier question, whose answer is late."""
    return Observe(asked.round, later.size, later.probes, later.salt ^ 1)


BUGS: tuple[Patch, ...] = (
    never_withdraws,
    never_restates,
    withdraws_last,
    looks_at_the_wrong_side,
    gives_way_to_nobody,
    overlooks_filters,
    loses_timers,
    collides_for_ever,
    adopts_late_answers,
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_keeps_tables_wrong(bug: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    for seed in range(SEEDS_MAX):
        try:
            converges("simple", seed)
        except (AssertionError, SapwoodError, KeyError):
            return
    pytest.fail(f"{bug.__name__} was not found")


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


def numbers_differ(seed: int) -> bool:
    """Whether a holder that has healed has a number that is not the sender's."""
    world = overlay("simple", seed)
    corrupt_all(world, seed, ("alter",))
    world.run_until(world.now + 10 * PERIOD_S)
    routers = {name: one for name, one in world.routers.items() if isinstance(one, Router)}
    for link in world.topology.links:
        for sender, holder in ((link.a, link.b), (link.b, link.a)):
            told = edges.told(routers[sender].tables, holder)
            held = edges.held(routers[holder].tables, sender)
            if {n: it.sending for n, it in told} != {n: it.sending for n, it in held}:
                return True
    return False


def test_numbers_that_are_overlooked_stay_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(map(numbers_differ, range(3)))
    overlooks_numbers(monkeypatch)
    assert any(map(numbers_differ, range(SEEDS_MAX)))
