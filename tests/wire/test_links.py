"""Routers' messages on a link."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from sapwood.wire.links import Arriving, RoutingMessage, remembered, to_link

from sapwood import parse_filter
from sapwood.errors import FrameError, InputError
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import fewest_links
from sapwood.routing import messages as routing
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.wire.messages import (
    LinkAdvertise,
    LinkAnnounce,
    LinkOnTree,
    LinkPublish,
    LinkSubscribe,
)
from sapwood.wire.publications import EncodedPublications, encode_publication
from tests.wire.strategies import interests, names, publications
from tests.wire.test_updates import updates

tree_messages: st.SearchStrategy[routing.TreeMessage] = st.one_of(
    st.builds(routing.Subscribe, st.just("r1.1.1"), interests()),
    st.builds(
        routing.Replace,
        st.just("r1.1.1"),
        interests(),
        replaced=st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(routing.Unsubscribe, st.text(max_size=5)),
    st.builds(routing.Confirm, st.text(max_size=5)),
    st.builds(routing.Advertise, st.just("r1.1.1"), interests()),
    st.builds(routing.Unadvertise, st.text(max_size=5)),
    st.builds(routing.ConfirmAdvertisement, st.text(max_size=5)),
    st.builds(routing.ConfirmUpdate, st.integers(0, 9)),
    st.builds(routing.Publish, st.just("r1"), st.integers(0, 9), publications()),
    updates,
)
versions = st.builds(routing.Version, st.integers(0, 2**63 - 1), st.integers(0, 9))
trees = st.permutations(("r1", "größe", "r3", "r4")).map(
    lambda names: fewest_links(names[0], dict(zip(names, [names] * 4, strict=True)))
)
messages: st.SearchStrategy[routing.Message] = st.one_of(
    tree_messages,
    st.builds(routing.OnTree, names, st.integers(1, 9), tree_messages),
    st.builds(routing.Neighbors, names, versions, st.sampled_from(((), ("r2",), ("a", "b")))),
    st.builds(routing.Announce, trees, versions, st.integers(0, 9)),
    st.builds(routing.Join, names, versions, st.integers(1, 9)),
    st.builds(routing.Leave, names, st.integers(1, 9)),
    st.builds(routing.Ready, names, st.integers(1, 9)),
    st.builds(routing.Carry, names, st.integers(1, 9)),
)


def cross(message: routing.Message) -> routing.Message | None:
    """What arrives at the other end of a link; only the last part brings anything."""
    arriving = Arriving(EncodedPublications())
    *parts, last = to_link(message, EncodedPublications())
    assert [arriving.take(part) for part in parts] == [None] * len(parts)
    return arriving.take(last)


@given(messages)
def test_a_message_crosses_a_link_unchanged(message: routing.Message) -> None:
    assert cross(message) == message


def test_a_long_update_crosses_a_link_in_parts_on_one_tree_of_many() -> None:
    long = tuple(Triple(parse_filter(f"name = '{'x' * 40_000}{i}'"), 1, 0) for i in range(3))
    message = routing.OnTree("r1", 1, routing.Update("r1.0-1", 1, 1, (long,)))
    assert len(list(to_link(message, EncodedPublications()))) == 3
    assert cross(message) == message


def test_a_publication_goes_on_as_the_bytes_that_came() -> None:
    # Not the bytes that this encoder makes: 1 as a 64-bit integer.
    body = Raw(b"\x92\xa1p\x81\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x01")
    assert bytes(encode_publication(Publication("p", {"a": 1}))) != bytes(body)
    encoded = EncodedPublications()
    message = Arriving(encoded).take(LinkPublish("r1", 1, body))
    assert message is not None
    [onward] = to_link(message, encoded)
    assert isinstance(onward, LinkPublish)
    assert bytes(onward.publication) == bytes(body)


def test_a_filter_travels_as_canonical_text() -> None:
    wanted = parse_filter("b = 2 AND (a > 1)")
    [sent] = to_link(routing.Subscribe("k", wanted, 1), EncodedPublications())
    assert sent == LinkSubscribe("k", str(wanted), 1)


@pytest.mark.parametrize(
    "message",
    [
        LinkSubscribe("k", "price >", 1),
        LinkAdvertise("k", "price >", 1),
        LinkPublish("r1", 1, Raw(b"\xc0")),
        LinkPublish("r1", 1, Raw(msgspec.msgpack.encode(["p", {"a": float("nan")}]))),
        LinkOnTree("r1", 1, LinkSubscribe("k", "price >", 1)),
        LinkAnnounce(0, 1, 0, ("r1", "r2", "r2"), (0, 0)),
        LinkAnnounce(0, 1, 0, ("r1", "r2", "r3"), (0, 2)),
        LinkAnnounce(0, 1, 0, ("r1", "r2"), ()),
    ],
)
def test_what_a_neighbor_should_have_refused_is_its_fault(message: RoutingMessage) -> None:
    with pytest.raises(FrameError, match="the neighbor passed on what it should have refused"):
        Arriving(EncodedPublications()).take(message)


def test_remembered_reads_and_remembers() -> None:
    encoded = EncodedPublications()
    body = encode_publication(Publication("p", {"a": 1}))
    publication = remembered(body, encoded)
    assert publication == Publication("p", {"a": 1})
    assert encoded.encoded(publication) is body


def test_remembered_refuses_what_is_no_publication() -> None:
    with pytest.raises(InputError):
        remembered(Raw(b"\xc0"), EncodedPublications())
