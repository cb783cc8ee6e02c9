"""Beginnings and ends of branches, and the waits between them."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.routing.effects import Send
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientSubscribe,
    ClientUnsubscribe,
    LinkDown,
    Receive,
)
from sapwood.routing.membership.mesh import tree_set as module
from sapwood.routing.messages import Join, Leave
from tests.routing.membership.mesh.lines import (
    SLOW,
    forest,
    mesh,
    overtaken,
    publish,
    settle_but,
    wired,
)

WANTED = parse_filter("x > 1")


def test_what_overtakes_waits_until_the_old_tree_has_run_dry() -> None:
    overlay = overtaken()
    assert overlay.deliveries() == []
    assert mesh(overlay, "r3").table_sizes()["held"] == 1
    overlay.settle()
    assert overlay.deliveries() == [("p", "ann", "s"), ("q", "ann", "s")]
    assert mesh(overlay, "r3").table_sizes()["held"] == 0
    assert [len(trees.branches) for trees in forest(overlay, "r3").trees.values()] == [1, 1, 1]


def test_who_has_unsubscribed_gets_nothing_that_was_held() -> None:
    overlay = overtaken()
    overlay.give("r3", ClientUnsubscribe("ann", "s"))
    overlay.settle()
    assert overlay.deliveries() == []


def test_where_the_old_tree_is_cut_nothing_waits_for_it() -> None:
    overlay = overtaken()
    overlay.cut("r2", "r3")
    assert overlay.deliveries() == [("q", "ann", "s")]
    overlay.settle()
    publish(overlay, "r1", "later", x=2)
    overlay.settle()
    assert overlay.deliveries() == [("q", "ann", "s"), ("later", "ann", "s")]


def test_it_is_enough_that_the_other_end_says_that_a_link_is_gone() -> None:
    overlay = overtaken()
    overlay.queues["r2", "r3"].clear()
    overlay.give("r2", LinkDown("r3"))
    settle_but(overlay, SLOW)
    assert overlay.deliveries() == [("q", "ann", "s")]


def test_what_is_held_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MESH_HELD_MAX", 2)
    overlay = overtaken()
    for id_ in ("q2", "q3"):
        publish(overlay, "r1", id_, x=2)
    settle_but(overlay, SLOW)
    kept = [(id_, "ann", "s") for id_ in ("q", "q2", "q3")]
    assert overlay.deliveries() == kept
    overlay.settle()
    assert overlay.deliveries() == kept


def test_a_branch_that_ends_takes_those_below_with_it() -> None:
    overlay = wired("covering", (("r1", "r2"), ("r2", "r3"), ("r3", "r4")))
    overlay.give("r2", LinkDown("r1"))
    epoch = next(branch.epoch for branch in forest(overlay, "r3") if branch.source == "r1")
    overlay.settle()
    said = [effect for name, effect in overlay.log if name == "r3"]
    assert Send("r4", Leave("r1", epoch)) in said
    assert {branch.source for branch in forest(overlay, "r4")} == {"r2", "r3", "r4"}


def test_a_child_that_joins_again_takes_the_place_of_what_it_was() -> None:
    overlay = wired("covering")
    [branch] = forest(overlay, "r1").trees["r1"].branches
    overlay.give("r1", Receive("r2", Join("r1", branch.version, 900)))
    assert branch.peers == {"r2": 900}
    assert overlay.give("r1", Receive("r2", Join("r1", branch.version, 900))) == []


def test_a_subscription_waits_for_all_that_may_carry() -> None:
    overlay = wired("covering")
    overlay.link("r1", "r3")
    ways = (("r1", "r2"), ("r3", "r2"))  # r2 hears nothing: no tree is ready, none confirms
    settle_but(overlay, ways)
    overlay.give("r3", ClientSubscribe("ann", "s", WANTED))
    settle_but(overlay, ways)
    trees = forest(overlay, "r3").trees["r1"]
    assert [("ann", "s") in branch.unconfirmed for branch in trees.branches] == [True, False]
    assert "r1" in mesh(overlay, "r3").clients.awaited["ann", "s"]
    overlay.settle()
    assert not mesh(overlay, "r3").clients.awaited


def test_validate_finds_a_branch_that_is_out_of_place() -> None:
    overlay = wired("covering")
    router = mesh(overlay, "r1")
    trees = router.forest.trees["r2"]
    branch = trees.branches.pop()
    with pytest.raises(InvariantError, match="is missing"):
        router.validate()
    trees.branches.append(branch)
    branch.peers["r9"] = 1
    with pytest.raises(InvariantError, match="other links than peers"):
        router.validate()


def test_validate_finds_what_a_branch_cannot_stand_on() -> None:
    overlay = wired("covering")
    router = mesh(overlay, "r2")
    trees = router.forest.trees["r1"]
    [branch] = trees.branches
    basis = branch.basis
    branch.basis = basis._replace(parent_epoch=900)
    with pytest.raises(InvariantError, match="not of the latest tree"):
        router.validate()
    branch.basis = basis
    branch.unconfirmed.add(("ann", "never asked"))
    with pytest.raises(InvariantError, match="asked for something else"):
        router.validate()
    branch.unconfirmed.clear()
    branch.core.handle(ClientAdvertise("ann", "a", WANTED), 0.0)
    with pytest.raises(InvariantError, match="advertise something else"):
        router.validate()


def test_validate_finds_a_tree_that_does_not_carry() -> None:
    router = mesh(wired("covering"), "r1")
    router.forest.own.carries = False
    with pytest.raises(InvariantError, match="does not carry"):
        router.validate()
