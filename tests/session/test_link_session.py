"""A neighbor, as a broker sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import FrameError
from sapwood.language.interests import Interests
from sapwood.limits import FRAME_BYTES_CEILING, FRAME_OVERHEAD_BYTES
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.routing.inputs import Receive
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.session.connection import Connection
from sapwood.session.link_session import LinkSession
from sapwood.wire.greetings import Role
from sapwood.wire.messages import (
    LinkCongestion,
    LinkEstablished,
    Part,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from tests.session.helpers import SETTINGS, accepting, framed, hello, welcome
from tests.wire.items import one_by_one
from tests.wire.strategies import hostile_frames, link_messages, messages


def ends() -> tuple[LinkSession, LinkSession]:
    """The end that connected, welcomed, and the end that accepted, not yet established."""
    dialed, accepted = Connection(Role.BROKER, SETTINGS, 0.0), accepting()
    dialed.greet(hello(Role.BROKER, "r2"))
    list(accepted.receive(dialed.take_outgoing(), 0.0))
    accepted.welcome(welcome(), Role.BROKER)
    list(dialed.receive(accepted.take_outgoing(), 0.0))
    dialed.welcomed()
    return (
        LinkSession("r1", "b", dialed),
        LinkSession("r2", "s", accepted),
    )


def pass_on(sender: LinkSession, receiver: LinkSession) -> list[object]:
    """Pass on all that the sender has said; returns what the receiver makes of it."""
    data = sender.connection.take_outgoing()
    found: list[object] = []
    for message in one_by_one(receiver.connection.receive(data, 0.0)):
        news = receiver.interpret(message)
        if isinstance(news, LinkEstablished):
            receiver.connection.established()
        found.append(news)
    return found


def test_a_link_carries_routing_messages_once_it_is_established() -> None:
    dialed, accepted = ends()
    dialed.establish()
    message = routing.Subscribe("r2.1.1", parse_filter("a = 1"), 1)
    dialed.send(message)
    assert pass_on(dialed, accepted) == [LinkEstablished(), Receive("r2", message)]
    publication = routing.Publish("r1", 1, Publication("p", {"a": 1}))
    accepted.send(publication)
    accepted.congested(congested=True)
    assert pass_on(accepted, dialed) == [Receive("r1", publication), LinkCongestion(True)]


def test_a_link_carries_updates_that_are_longer_than_a_frame() -> None:
    dialed, accepted = ends()
    dialed.establish()
    many = tuple(
        Triple(parse_filter(f"name = '{'x' * 50_000}{number}'"), 1, 0) for number in range(100)
    )
    message = routing.Update("r2.1", 1, 1, (many,))
    dialed.send(message)
    confirmation = routing.ConfirmUpdate(1)
    dialed.send(confirmation)
    assert dialed.connection.outgoing_bytes > 2 * SETTINGS.frame_bytes_max
    assert pass_on(dialed, accepted) == [
        LinkEstablished(),
        Receive("r2", message),
        Receive("r2", confirmation),
    ]


@pytest.mark.parametrize("on_tree", [False, True])
@pytest.mark.parametrize("beyond", [1, FRAME_OVERHEAD_BYTES, SETTINGS.frame_bytes_max])
def test_a_publication_that_is_too_long_for_clients_is_a_fault(beyond: int, on_tree: bool) -> None:
    dialed, accepted = ends()
    dialed.establish()
    longest = SETTINGS.frame_bytes_max - FRAME_OVERHEAD_BYTES
    spare = len(encode_publication(Publication("p", {"a": "x" * 100_000}))) - 100_000
    for length in (longest, longest + beyond):
        publication = Publication("p", {"a": "x" * (length - spare)})
        encode_publication(publication, FRAME_BYTES_CEILING)
        said = routing.Publish("r2", 1, publication)
        dialed.send(routing.OnTree("r2", 1, said) if on_tree else said)
    data = dialed.connection.take_outgoing()
    established, *said_first = one_by_one(accepted.connection.receive(data, 0.0))
    accepted.interpret(established)
    accepted.connection.established()
    fits, is_too_long = said_first
    arrived = accepted.interpret(fits)
    assert isinstance(arrived, Receive)
    assert arrived.message == fits
    with pytest.raises(FrameError, match="should have refused: the encoded size of publication"):
        accepted.interpret(is_too_long)


def test_a_link_must_not_be_used_before_it_is_established() -> None:
    _, accepted = ends()
    with pytest.raises(FrameError, match="has not established"):
        accepted.interpret(routing.Confirm("k", 1))


@pytest.mark.parametrize("at_dialer", [True, False])
def test_a_link_must_not_be_established_twice(at_dialer: bool) -> None:
    dialed, accepted = ends()
    dialed.establish()
    pass_on(dialed, accepted)
    with pytest.raises(FrameError, match="established twice"):
        (dialed if at_dialer else accepted).interpret(LinkEstablished())


def test_what_no_neighbor_says_is_a_fault() -> None:
    dialed, _ = ends()
    with pytest.raises(FrameError, match="nothing a neighbor says"):
        dialed.interpret(UnsubscribeRequest("s1"))


@given(
    st.lists(
        st.one_of(hostile_frames(), st.one_of(link_messages(), messages(Part)).map(framed)),
        max_size=6,
    )
)
def test_whatever_a_neighbor_sends_it_is_understood_or_at_fault(frames: list[bytes]) -> None:
    dialed, accepted = ends()
    dialed.establish()
    pass_on(dialed, accepted)
    try:
        for message in one_by_one(accepted.connection.receive(b"".join(frames), 1.0)):
            accepted.interpret(message)
    except FrameError as error:
        accepted.connection.fault(error)
    assert (accepted.connection.ending is not None) != accepted.connection.open


@pytest.mark.parametrize("kind", ["subscriptions", "entries of a range"])
def test_filters_of_several_are_read_where_they_arrive(kind: str) -> None:
    dialed, accepted = ends()
    dialed.establish()
    filters = Interests((parse_filter("a = 1"), parse_filter("b = 2")))
    message: routing.Message = routing.SubscribeMany(("k1", "k2"), filters, 1)
    if kind != "subscriptions":
        known = (routing.Known("k1", 1), routing.Known("k2", 3))
        message = routing.RangeEntries("02", known, filters, is_last=True)
    dialed.send(message)
    _, arrived = pass_on(dialed, accepted)
    assert isinstance(arrived, Receive)
    assert isinstance(arrived.message, routing.SubscribeMany | routing.RangeEntries)
    assert arrived.message.filters.values == filters.values
