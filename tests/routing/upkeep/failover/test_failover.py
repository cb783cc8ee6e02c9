"""One router under failover: what it says, whom it leaves, and whom it asks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood.errors import PeerError
from sapwood.language import parse_filter
from sapwood.routing.effects import Connect, Disconnect, Effect, Persist, Send
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    LinkDown,
    LinkUp,
    Note,
    Receive,
    Record,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.messages import SubscribeMany, UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.failover.choice import planned
from sapwood.routing.upkeep.failover.notes import (
    Place,
    Standing,
    note_of,
    place_in,
    standing_in,
)
from sapwood.routing.upkeep.failover.plans import Plan

NAME = "failover:5+covering"


def router(plan: Plan, name: str = "d") -> Router:
    return Router(name, planned(protocol(NAME), {name: plan}))


def standing(
    *,
    is_below: bool = False,
    has_backups: bool = False,
    upstream: str = "",
    heir: str = "",
) -> UpkeepNote:
    return note_of(
        Standing(is_below=is_below, has_backups=has_backups, upstream=upstream, heir=heir)
    )


def moves(effects: Sequence[Effect]) -> list[Connect | Disconnect]:
    return [effect for effect in effects if isinstance(effect, Connect | Disconnect)]


def said(effects: Sequence[Effect]) -> dict[str, Standing]:
    return {
        effect.neighbor: found
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.message, UpkeepNote)
        if (found := standing_in(effect.message)) is not None
    }


def attached(plan: Plan) -> Router:
    """A router whose upstream r has come and gone, at second 10."""
    machine = router(plan)
    machine.handle(LinkUp("r"), 0.0)
    machine.handle(Receive("r", standing(upstream="u")), 1.0)
    assert machine.next_deadline() is None
    machine.handle(LinkDown("r"), 10.0)
    return machine


def test_an_outage_below_the_threshold_moves_nobody() -> None:
    machine = attached(Plan("r", (("b", ""),)))
    assert machine.next_deadline() == 15.0
    assert moves(machine.handle(Tick(), 14.9)) == []
    assert moves(machine.handle(LinkUp("r"), 14.95)) == []
    assert machine.next_deadline() is None
    machine.validate()


def test_an_outage_of_the_threshold_leads_to_the_backups_one_after_the_other() -> None:
    machine = attached(Plan("r", (("b", "host:1"), ("c", ""))))
    assert moves(machine.handle(Tick(), 15.0)) == [Disconnect("r"), Connect("b", "host:1")]
    assert machine.table_sizes()["sought"] == 1
    assert machine.next_deadline() == 20.0
    assert moves(machine.handle(Tick(), 20.0)) == [Disconnect("b"), Connect("c")]
    assert moves(machine.handle(Tick(), 25.0)) == [Disconnect("c"), Connect("u")]
    # All have been tried: what is gone is waited for, without end.
    assert moves(machine.handle(Tick(), 30.0)) == [Disconnect("u"), Connect("r")]
    assert machine.next_deadline() is None
    machine.validate()
    machine.handle(LinkUp("r"), 99.0)
    assert machine.table_sizes()["sought"] == 0


def test_a_backup_that_links_is_the_upstream_and_hears_of_the_tops_only() -> None:
    machine = attached(Plan("r", (("b", ""),)))
    machine.handle(AttachClient("ann"), 11.0)
    for number, wanted in enumerate(("x > 1", "x > 2", "x > 3", "y > 0")):
        machine.handle(ClientSubscribe("ann", f"s{number}", parse_filter(wanted)), 11.0)
    machine.handle(Tick(), 15.0)
    effects = machine.handle(LinkUp("b"), 16.0)
    told = [e.message for e in effects if isinstance(e, Send) and e.neighbor == "b"]
    (many,) = (message for message in told if isinstance(message, SubscribeMany))
    assert sorted(map(str, many.filters.values)) == ["x > 1", "y > 0"]
    assert said(effects)["b"].is_below
    assert machine.next_deadline() is None
    machine.handle(LinkDown("b"), 20.0)
    assert machine.next_deadline() == 25.0
    machine.validate()


def test_the_threshold_is_not_missed_where_something_else_comes_first() -> None:
    machine = attached(Plan("r", (("b", ""),)))
    machine.handle(LinkUp("below"), 15.0)
    assert machine.next_deadline() == 15.0
    assert moves(machine.handle(Tick(), 15.0)) == [Disconnect("r"), Connect("b")]


def test_for_want_of_backups_the_upstream_of_the_upstream_is_asked() -> None:
    assert moves(attached(Plan("r")).handle(Tick(), 15.0)) == [Disconnect("r"), Connect("u")]


@pytest.mark.parametrize(
    ("heir", "found"), [("c", [Disconnect("r"), Connect("c")]), ("d", [Connect("r")])]
)
def test_below_a_root_all_go_to_the_heir_and_the_heir_nowhere(
    heir: str, found: list[Effect]
) -> None:
    machine = router(Plan("r"))
    machine.handle(LinkUp("r"), 0.0)
    machine.handle(Receive("r", standing(heir=heir)), 1.0)
    machine.handle(LinkDown("r"), 10.0)
    assert moves(machine.handle(Tick(), 15.0)) == found
    assert (machine.next_deadline() is None) == (heir == "d")


def test_a_router_names_the_first_of_those_below_without_backups_as_its_heir() -> None:
    machine = router(Plan())
    for name in ("c", "a", "b"):
        machine.handle(LinkUp(name), 0.0)
    machine.handle(Receive("a", standing(is_below=True, has_backups=True)), 1.0)
    machine.handle(Receive("c", standing(is_below=True)), 1.0)
    effects = machine.handle(Receive("b", standing(is_below=True)), 1.0)
    assert {to: one.heir for to, one in said(effects).items()} == {"a": "b", "b": "b", "c": "b"}
    assert machine.handle(Receive("b", standing(is_below=True)), 2.0) == []


def test_a_suspicion_of_an_upstream_that_is_alive_gives_it_time_to_withdraw() -> None:
    machine = router(Plan("r", (("b", ""),)))
    machine.handle(LinkUp("r"), 0.0)
    assert moves(machine.handle(Suspicion("x", 9.0), 1.0)) == []
    assert moves(machine.handle(Suspicion("r", 9.0), 1.0)) == [Disconnect("r")]
    assert machine.handle(Suspicion("r", 9.0), 2.0) == []
    assert machine.handle(LinkDown("r"), 2.0) == []
    assert machine.next_deadline() == 6.0
    assert moves(machine.handle(Tick(), 6.0)) == [Connect("b")]
    machine.validate()


def kept(plan: Plan) -> Router:
    """A router under `recover` with the upstream r and a neighbor below, both linked."""
    machine = Router("d", planned(protocol("recover+failover:5+covering"), {"d": plan}))
    for neighbor in ("r", "below"):
        machine.handle(LinkUp(neighbor), 0.0)
    return machine


def test_where_entries_outlive_their_link_the_old_way_is_withdrawn_first() -> None:
    machine = kept(Plan("r", (("b", ""),)))
    machine.handle(LinkDown("r"), 10.0)
    assert moves(machine.handle(Tick(), 15.0)) == [Disconnect("r")]
    assert moves(machine.handle(Tick(), 19.9)) == []
    assert moves(machine.handle(Tick(), 20.0)) == [Connect("b")]
    machine.validate()


def test_where_entries_outlive_their_link_a_wrong_suspicion_costs_twice_the_patience() -> None:
    machine = kept(Plan("r", (("b", ""),)))
    assert moves(machine.handle(Suspicion("r", 1.0), 10.0)) == [Disconnect("r")]
    assert moves(machine.handle(Tick(), 15.0)) == []
    assert moves(machine.handle(Tick(), 20.0)) == [Connect("b")]
    machine.validate()


def test_where_entries_outlive_their_link_any_neighbor_is_given_up_in_time() -> None:
    machine = kept(Plan("r"))
    machine.handle(LinkDown("below"), 10.0)
    machine.handle(LinkUp("below"), 14.0)
    assert machine.next_deadline() is None
    machine.handle(LinkDown("below"), 20.0)
    effects = machine.handle(Tick(), 25.0)
    assert moves(effects) == [Disconnect("below")]
    assert Persist(LinkDown("below")) in effects
    assert machine.next_deadline() is None
    machine.handle(LinkDown("r"), 30.0)
    # There is nobody else: it is given up all the same, and waited for.
    assert moves(machine.handle(Tick(), 35.0)) == [Disconnect("r"), Connect("r")]
    machine.validate()


def test_a_backup_that_is_given_up_for_want_of_others_is_requested_where_it_listens() -> None:
    machine = kept(Plan("", (("b", "host:1"),)))
    machine.handle(LinkUp("b", dialed=True), 1.0)
    machine.handle(LinkDown("b"), 10.0)
    assert moves(machine.handle(Tick(), 15.0)) == [Disconnect("b"), Connect("b", "host:1")]


def test_a_router_that_is_back_gives_up_those_that_are_not() -> None:
    records = [e.record for e in kept_records() if isinstance(e, Persist)]
    records.sort(key=lambda one: not isinstance(one, Note))  # notes come first
    machine = Router("d", planned(protocol("recover+failover:5+covering"), {"d": Plan("r")}))
    machine.handle(Restored(records), 50.0)
    machine.handle(LinkUp("r"), 51.0)
    assert machine.next_deadline() == 55.0
    assert moves(machine.handle(Tick(), 55.0)) == [Disconnect("below")]
    assert machine.next_deadline() is None


def kept_records() -> list[Effect]:
    """The effects of a router that links to r, and to one below."""
    machine = Router("d", planned(protocol("recover+failover:5+covering"), {"d": Plan("r")}))
    return [one for name in ("r", "below") for one in machine.handle(LinkUp(name), 0.0)]


def test_who_has_no_failure_detector_ignores_suspicions() -> None:
    machine = Router("d", "covering")
    machine.handle(LinkUp("r"), 0.0)
    assert machine.handle(Suspicion("r", 9.0), 1.0) == []


def test_whoever_was_dialed_is_the_upstream() -> None:
    machine = router(Plan())
    machine.handle(LinkUp("below"), 0.0)
    effects = machine.handle(LinkUp("above", dialed=True), 0.0)
    assert said(effects)["above"].is_below
    assert not said(machine.handle(LinkUp("other"), 0.0))["other"].is_below


def test_a_router_that_hangs_elsewhere_than_planned_finds_out() -> None:
    machine = router(Plan("r"))
    assert not said(machine.handle(LinkUp("b"), 0.0))["b"].is_below
    effects = machine.handle(Receive("b", standing(upstream="a")), 1.0)
    assert said(effects)["b"].is_below


def test_a_router_that_knows_its_upstream_takes_no_other_that_says_nothing_of_being_below() -> None:
    """Such a neighbor may have been below, and have started again: that is no way to the others."""
    machine = attached(Plan("r", (("b", ""),)))
    effects = machine.handle(LinkUp("n"), 11.0)
    effects += machine.handle(Receive("n", standing()), 12.0)
    assert not said(effects)["n"].is_below
    assert moves(machine.handle(Tick(), 15.0)) == [Disconnect("r"), Connect("b")]


PERSISTING = "recover+failover:5+covering"


def records_in(effects: Sequence[Effect]) -> list[Record]:
    """What is persisted: the last note of each name, and then the changes."""
    persisted = [one.record for one in effects if isinstance(one, Persist)]
    notes = {one.name: one for one in persisted if isinstance(one, Note)}
    return [*notes.values(), *(one for one in persisted if not isinstance(one, Note))]


def moved() -> list[Effect]:
    """The effects of a router that was planned below r, and then dialed b, which listens at h:2."""
    machine = Router("d", planned(protocol(PERSISTING), {"d": Plan("r")}))
    where = note_of(Standing(is_below=False, has_backups=False, address="h:2"))
    return [
        *machine.handle(LinkUp("r"), 0.0),
        *machine.handle(LinkUp("b", dialed=True), 1.0),
        *machine.handle(Receive("b", where), 2.0),
        *machine.handle(Receive("b", where), 3.0),
    ]


def test_a_router_persists_its_upstream_where_that_is_not_as_planned() -> None:
    notes = [one.record for one in moved() if isinstance(one, Persist)]
    places = [place_in(note) for note in notes if isinstance(note, Note)]
    assert [place for place in places if place is not None] == [Place("b", ""), Place("b", "h:2")]


@pytest.mark.parametrize("upstream", ["r", ""])
def test_a_router_that_is_restored_knows_its_upstream(upstream: str) -> None:
    machine = Router("d", planned(protocol(PERSISTING), {"d": Plan(upstream)}))
    machine.handle(Restored(records_in(moved())), 50.0)
    told = said(machine.handle(LinkUp("other"), 51.0))["other"]
    assert (told.is_below, told.upstream, told.upstream_address) == (False, "b", "h:2")
    assert said(machine.handle(LinkUp("b"), 52.0))["b"].is_below


def test_a_router_that_is_restored_goes_back_to_its_upstream_where_that_listens() -> None:
    machine = Router("d", planned(protocol(PERSISTING), {"d": Plan()}))
    machine.handle(Restored(records_in(moved())), 50.0)
    assert Connect("b", "h:2") in moves(machine.handle(Tick(), 55.0))


def test_two_that_take_each_other_for_the_upstream_agree() -> None:
    machine = router(Plan("r"), "d")
    machine.handle(LinkUp("b"), 0.0)
    machine.handle(Receive("b", standing()), 1.0)
    effects = machine.handle(Receive("b", standing(is_below=True)), 2.0)
    assert not said(effects)["b"].is_below


def test_a_note_that_is_damaged_is_the_fault_of_its_sender() -> None:
    with pytest.raises(PeerError, match="cannot be read"):
        standing_in(UpkeepNote(b"F\xc1"))
    assert standing_in(UpkeepNote(b"other")) is None


def test_a_router_that_starts_without_its_upstream_asks_for_it_in_time() -> None:
    machine = router(Plan("r"))
    assert machine.next_deadline() == 0.0
    assert machine.handle(Tick(), 3.0) == []
    assert machine.next_deadline() == 8.0
    assert moves(machine.handle(Tick(), 8.0)) == [Connect("r")]
    assert machine.next_deadline() is None
