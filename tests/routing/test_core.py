"""The core: one way for every change, and forwarding that can be made afresh."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import CloseLink, Deliver, Send
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    LinkUp,
    Receive,
    Restored,
    Tick,
)
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import Publish, Subscribe, UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import LinkSubscription

WANTED = parse_filter("x > 1")
P = Publication("p", {"x": 2})


def made(kind: type[RoutingCore] = RoutingCore) -> RoutingCore:
    """A core with a client and two links; r2 wants what the client wants."""
    core = kind("r1", protocol("simple"), Engines("counting"))
    core.apply(AttachClient("c"))
    core.apply(ClientSubscribe("c", "s", WANTED))
    for neighbor in ("r2", "r3"):
        core.apply(LinkUp(neighbor))
    core.apply(Receive("r2", Subscribe("r2.0.1", WANTED, 1)))
    core.validate()
    return core


def test_what_is_known_and_what_was_told_can_be_looked_at() -> None:
    core = made()
    assert list(core.received()) == [LinkSubscription("r2", "r2.0.1", WANTED)]
    assert set(core.sent()) == {
        LinkSubscription("r2", "r1.0.1", WANTED),
        LinkSubscription("r3", "r1.0.1", WANTED),
        LinkSubscription("r3", "r2.0.1", WANTED),
    }


def test_forwarding_that_is_made_afresh_decides_as_before() -> None:
    core = made()
    arrived = Receive("r3", Publish("r9", 3, P))
    before, old = core.handle(arrived, 0.0), core.forwarding
    core.rebuild()
    core.validate()
    assert core.forwarding is not old
    assert (
        core.handle(arrived, 0.0)
        == before
        == [
            Deliver("c", ("s",), P),
            Send("r2", Publish("r9", 4, P)),
        ]
    )


def test_a_digest_goes_on_as_it_came() -> None:
    core = made()
    assert core.counters() == {"digests_unread": 0, "content_matches": 0}
    [_, sent] = core.handle(Receive("r3", Publish("r9", 3, P, b"?of others")), 0.0)
    assert sent == Send("r2", Publish("r9", 4, P, b"?of others"))
    assert core.counters() == {"digests_unread": 1, "content_matches": 2}


def test_publications_change_nothing_and_so_does_time() -> None:
    core = made()
    assert core.handle(Tick(), 5.0) == []
    for publication in (ClientPublish("c", P), Receive("r2", Publish("r2", 1, P))):
        with pytest.raises(InvariantError, match="changes nothing"):
            core.apply(publication)
    with pytest.raises(InvariantError, match="change by change"):
        core.handle(Restored(()), 0.0)


def test_what_upkeep_does_not_take_off_closes_the_link() -> None:
    [*_, closed] = made().handle(Receive("r2", UpkeepNote(b"?")), 0.0)
    assert isinstance(closed, CloseLink)
    assert "nobody says UpkeepNote" in closed.reason


def test_given_links_are_all_there_is() -> None:
    given = made(Given)
    assert isinstance(given, Given)
    assert given.is_tree
    assert given.tells_over() is None
    assert given.neighbors() == given.neighbors("r2") == ("r2", "r3")
    assert given.next_deadline() is None
