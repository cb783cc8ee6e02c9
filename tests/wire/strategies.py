"""Hypothesis strategies for what travels on a connection."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Raw

from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.wire.frames import frame
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AdvertiseRequest,
    ClientMessage,
    Delivery,
    Goodbye,
    GoodbyeCode,
    LinkAdvertise,
    LinkAnnounce,
    LinkCarry,
    LinkConfirm,
    LinkConfirmAdvertisement,
    LinkConfirmUpdate,
    LinkCongestion,
    LinkEstablished,
    LinkJoin,
    LinkLeave,
    LinkMessage,
    LinkNeighbors,
    LinkOnTree,
    LinkPublish,
    LinkReady,
    LinkReplace,
    LinkSubscribe,
    LinkUnadvertise,
    LinkUnsubscribe,
    LinkUpdate,
    Ping,
    Pong,
    PublicationRefused,
    PublishRequest,
    ReplayRefused,
    ReplayReply,
    ReplayRequest,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    TripleText,
    UnadvertisedReply,
    UnadvertiseRequest,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from tests.strategies import filters, nested_records
from tests.xml.made import documents
from tests.xpaths import bounded_expressions

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
names = st.sampled_from(("r1", "r2", "größe"))
reasons = st.text(st.characters(codec="utf-8"), max_size=20)
sequences = st.integers(1, 2**63 - 1)
offsets = st.integers(0, 2**63 - 1)


def publications() -> st.SearchStrategy[Publication]:
    """Publications of all shapes; nested names that flatten to one are left out."""
    return st.one_of(
        st.builds(Publication, ids, nested_records()),
        st.builds(Publication, ids, st.none() | nested_records(), documents()),
    )


def interests() -> st.SearchStrategy[Interest]:
    """Filters of both languages."""
    return st.one_of(filters(), bounded_expressions().map(parse_xpath))


def interest_texts() -> st.SearchStrategy[InterestText]:
    """What may stand where a message has a filter, whether it can be read or not."""
    texts = st.text(st.characters(codec="utf-8"), max_size=20)
    bindings = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
    return texts | st.builds(XPathText, texts, st.none() | bindings)


def bodies() -> st.SearchStrategy[Raw]:
    """The bytes of publications."""
    return publications().map(encode_publication)


_GOODBYES = st.builds(Goodbye, st.sampled_from(GoodbyeCode), reasons)


def client_messages() -> st.SearchStrategy[ClientMessage]:
    """What a client says."""
    return st.one_of(
        st.builds(PublishRequest, sequences, bodies()),
        st.builds(SubscribeRequest, ids, interest_texts()),
        st.builds(UnsubscribeRequest, ids),
        st.builds(AdvertiseRequest, ids, interest_texts()),
        st.builds(UnadvertiseRequest, ids),
        st.builds(ReplayRequest, offsets, offsets, st.none() | interest_texts()),
        st.builds(Ping),
        st.builds(Pong),
        _GOODBYES,
    )


def broker_messages() -> st.SearchStrategy[Any]:
    """What a broker says to a client."""
    return st.one_of(
        st.builds(Delivery, st.lists(ids, max_size=3).map(tuple), bodies(), st.booleans()),
        st.builds(AcceptedReply, sequences),
        st.builds(PublicationRefused, sequences, reasons),
        st.builds(SubscribedReply, ids),
        st.builds(UnsubscribedReply, ids),
        st.builds(SubscriptionRefused, ids, reasons),
        st.builds(AdvertisedReply, ids),
        st.builds(UnadvertisedReply, ids),
        st.builds(AdvertisementRefused, ids, reasons),
        st.builds(
            ReplayReply, offsets, offsets, offsets, st.lists(st.binary(max_size=9)).map(tuple)
        ),
        st.builds(ReplayRefused, reasons),
        st.builds(Ping),
        st.builds(Pong),
        _GOODBYES,
    )


def triple_texts() -> st.SearchStrategy[tuple[TripleText, ...]]:
    """Triples of an update, or of a part of it."""
    counts = st.integers(-(2**63), 2**63 - 1)
    triples = st.tuples(interest_texts(), counts, counts, st.booleans())
    return st.lists(triples, min_size=1, max_size=3).map(tuple)


def link_messages() -> st.SearchStrategy[LinkMessage]:
    """What brokers say to each other."""
    return st.one_of(
        st.builds(LinkPublish, names, st.integers(0, 1000), bodies()),
        st.builds(LinkSubscribe, ids, interest_texts(), sequences),
        st.builds(
            LinkReplace,
            ids,
            interest_texts(),
            sequences,
            st.lists(ids, min_size=1, max_size=3).map(tuple),
        ),
        st.builds(LinkUnsubscribe, ids),
        st.builds(LinkConfirm, ids, sequences),
        st.builds(LinkAdvertise, ids, interest_texts(), sequences),
        st.builds(LinkUnadvertise, ids),
        st.builds(LinkConfirmAdvertisement, ids, sequences),
        st.builds(LinkUpdate, ids, sequences, sequences, triple_texts(), st.booleans()),
        st.builds(LinkConfirmUpdate, sequences),
        st.builds(LinkNeighbors, names, offsets, offsets, st.lists(names, max_size=3).map(tuple)),
        st.builds(
            LinkAnnounce,
            offsets,
            offsets,
            offsets,
            st.lists(names, min_size=1, max_size=3).map(tuple),
            st.lists(st.integers(0, 3), max_size=3).map(tuple),
        ),
        st.builds(LinkJoin, names, offsets, offsets, offsets),
        st.builds(LinkLeave, names, offsets),
        st.builds(LinkReady, names, offsets),
        st.builds(LinkCarry, names, offsets),
        st.builds(LinkOnTree, names, offsets, st.builds(LinkConfirm, ids, sequences)),
        st.builds(LinkOnTree, names, offsets, st.builds(LinkPublish, names, offsets, bodies())),
        st.builds(LinkCongestion, st.booleans()),
        st.builds(LinkEstablished),
        st.builds(Ping),
        st.builds(Pong),
        _GOODBYES,
    )


def hostile_frames() -> st.SearchStrategy[bytes]:
    """Frames that may or may not be messages: known tags, and anything at all behind them."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**64 - 1),
        st.floats(),
        st.text(st.characters(codec="utf-8"), max_size=5),
        st.binary(max_size=5),
        st.sampled_from(("a = 1", "a >", "done", "r1", "r1.1.1")),
    )
    values = st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=8,
    )
    tags = st.sampled_from((1, 2, 3, 10, 11, 12, 13, 14, 20, 23, 25, 26, 28, *range(30, 49), 99))
    arrays = st.tuples(tags, st.lists(values, max_size=4)).map(
        lambda pair: msgspec.msgpack.encode([pair[0], *pair[1]])
    )
    return st.one_of(arrays, st.binary(max_size=20)).map(frame)


def cuts(data: bytes, points: list[int]) -> list[bytes]:
    """`data` in pieces, cut at these points (taken modulo its length)."""
    places = sorted({point % (len(data) + 1) for point in points} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]
