"""Routers' messages on a link."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sapwood import parse_filter
from sapwood.errors import FrameError, InputError
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.wire.links import from_link, remembered, to_link
from sapwood.wire.messages import LinkAdvertise, LinkPublish, LinkSubscribe
from sapwood.wire.publications import EncodedPublications, encode_publication
from tests.wire.strategies import interests, publications

messages: st.SearchStrategy[routing.Message] = st.one_of(
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
)


@given(messages)
def test_a_message_crosses_a_link_unchanged(message: routing.Message) -> None:
    assert from_link(to_link(message, EncodedPublications()), EncodedPublications()) == message


def test_a_publication_goes_on_as_the_bytes_that_came() -> None:
    # Not the bytes that this encoder makes: 1 as a 64-bit integer.
    body = Raw(b"\x92\xa1p\x81\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x01")
    assert bytes(encode_publication(Publication("p", {"a": 1}))) != bytes(body)
    encoded = EncodedPublications()
    message = from_link(LinkPublish("r1", 1, body), encoded)
    onward = to_link(message, encoded)
    assert isinstance(onward, LinkPublish)
    assert bytes(onward.publication) == bytes(body)


def test_a_filter_travels_as_canonical_text() -> None:
    wanted = parse_filter("b = 2 AND (a > 1)")
    sent = to_link(routing.Subscribe("k", wanted, 1), EncodedPublications())
    assert sent == LinkSubscribe("k", str(wanted), 1)


@pytest.mark.parametrize(
    "message",
    [
        LinkSubscribe("k", "price >", 1),
        LinkAdvertise("k", "price >", 1),
        LinkPublish("r1", 1, Raw(b"\xc0")),
        LinkPublish("r1", 1, Raw(msgspec.msgpack.encode(["p", {"a": float("nan")}]))),
    ],
)
def test_what_a_neighbor_should_have_refused_is_its_fault(
    message: LinkSubscribe | LinkAdvertise | LinkPublish,
) -> None:
    with pytest.raises(FrameError, match="the neighbor passed on what it should have refused"):
        from_link(message, EncodedPublications())


def test_remembered_reads_and_remembers() -> None:
    encoded = EncodedPublications()
    body = encode_publication(Publication("p", {"a": 1}))
    publication = remembered(body, encoded)
    assert publication == Publication("p", {"a": 1})
    assert encoded.encoded(publication) is body


def test_remembered_refuses_what_is_no_publication() -> None:
    with pytest.raises(InputError):
        remembered(Raw(b"\xc0"), EncodedPublications())
