"""Answers to clients' statements, and the reasons for which links are closed."""

from __future__ import annotations

import pytest

from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import (
    SUBSCRIPTIONS,
    ClientEntries,
    cycle_reason,
    unexpected_message,
)
from sapwood.routing.effects import Refused, Subscribed, Unsubscribed
from sapwood.routing.messages import Confirm, ConfirmUpdate
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.propagation.xroute.counting import CountingPropagation

WANTED, OTHER = parse_filter("a > 1"), parse_filter("a > 2")

BOTH = pytest.mark.parametrize(
    "made",
    [
        EntryPropagation(SUBSCRIPTIONS, "r1.0", Simple),
        CountingPropagation("r1.0", ReferenceCovering),
    ],
    ids=["one by one", "as counts"],
)


@BOTH
def test_statements_answer_clients_however_they_spread(made: ClientEntries[Interest]) -> None:
    made.attach("c")
    with pytest.raises(InvariantError, match="attached already"):
        made.attach("c")
    with pytest.raises(InvariantError, match="is not attached"):
        made.own("d")
    entry = made.register("c", "s", WANTED)
    assert entry.key.startswith("r1.0.")
    assert made.announce(entry) == [Subscribed("c", "s")], "no link, so nobody has to confirm"
    assert made.repeated(entry, WANTED) == [Subscribed("c", "s")]
    assert made.settle(made.repeated(entry, OTHER)) == [Subscribed("c", "s")]
    entry = made.own("c")["s"]
    assert (entry.filter, list(made.entries.by_key)) == (OTHER, [entry.key])
    [unknown] = made.unknown("c", "t")
    assert isinstance(unknown, Refused)
    assert "has no subscription with id 't'" in unknown.reason
    assert made.release(entry) == [Unsubscribed("c", "s")]
    made.register("c", "s", WANTED)
    made.announce(made.own("c")["s"])
    assert made.detach("c") == []
    assert not made.entries.by_key
    assert made.unconfirmed == 0


def test_a_link_is_closed_with_the_reason_and_the_remedy() -> None:
    assert "the overlay has a cycle" in cycle_reason("subscription k", "here", "r2")
    assert "with the same protocol" in unexpected_message(Confirm("k", 1))


def test_what_another_protocol_says_is_objected_to() -> None:
    counted = CountingPropagation("r1.0", ReferenceCovering)
    single: EntryPropagation[Interest] = EntryPropagation(SUBSCRIPTIONS, "r1.0", Simple)
    for made, message in ((counted, Confirm("k", 1)), (single, ConfirmUpdate(1))):
        made.link_up("r2")
        heard = made.on_message("r2", message)
        assert heard.objection == unexpected_message(message)
        assert heard.effects == []
