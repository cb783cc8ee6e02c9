"""Publications as bytes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvalidValueError, LimitError
from sapwood.limits import (
    FRAME_BYTES_MAX,
    FRAME_OVERHEAD_BYTES,
    ID_CHARS_MAX,
    RECORD_DEPTH_MAX,
)
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication
from sapwood.wire.publications import (
    decode_body,
    decode_publication,
    encode_publication,
    envelope_of,
    has_envelope,
)
from tests.wire.strategies import publications


@given(publications())
def test_a_publication_is_read_as_it_was_written(publication: Publication) -> None:
    encoded = encode_publication(publication)
    assert decode_publication(encoded) == publication
    assert decode_publication(encoded).record == publication.record
    body = decode_body(encoded)
    assert (body.id, body.attributes) == (publication.id, publication.attributes)


@given(publications())
def test_bytes_do_not_change_from_hop_to_hop(publication: Publication) -> None:
    encoded = encode_publication(publication)
    again = decode_publication(encoded)
    assert encode_publication(again) is encoded
    assert encode_publication(again.renamed(again.id)) == encoded


@given(publications(), st.none() | st.binary(max_size=8), st.booleans())
def test_a_payload_travels_behind_all_else(
    plain: Publication, payload: bytes | None, is_blind: bool
) -> None:
    is_blind = is_blind and payload is not None
    carrying = Publication(plain.id, plain.attributes, plain.document, payload, is_blind=is_blind)
    encoded = encode_publication(carrying)
    assert decode_publication(encoded) == carrying
    assert encoded[0] == 0x93 + (payload is not None) + is_blind
    if payload is None:
        assert encoded == encode_publication(plain.renamed(plain.id))
    onward = msgspec.msgpack.decode(encode_publication(carrying.beyond()))
    assert onward == [plain.id, None, None, payload] or not is_blind


def test_kinds_that_behave_like_plain_ones_travel_as_those() -> None:
    class Name(str):
        __slots__ = ()

    attributes = MappingProxyType(
        {"a": np.float64(1.5), "b": Name("x"), "c": MappingProxyType({"d": (1, Name("y"))})}
    )
    decoded = decode_publication(encode_publication(Publication("p", attributes)))
    assert decoded.attributes == {"a": 1.5, "b": "x", "c": {"d": [1, "y"]}}


class Color(Enum):
    RED = object()


@pytest.mark.parametrize(
    "carried",
    [
        datetime.date(2026, 1, 1),
        Decimal(1),
        b"bytes",
        {1, 2},
        Color.RED,
        {1: "key"},
        2**63,
        [[-(2**63) - 1]],
    ],
)
def test_an_array_of_what_json_has_not_is_refused_by_name(carried: Any) -> None:
    with pytest.raises(InvalidValueError):
        encode_publication(Publication("p", {"tags": ["fine", carried]}))


@pytest.mark.parametrize("tags", [["\ud800"], [{"\ud800": 1}]])
def test_a_text_in_an_array_that_is_no_unicode_is_refused(tags: list[Any]) -> None:
    with pytest.raises(InvalidValueError, match="half of a surrogate pair"):
        encode_publication(Publication("p", {"tags": tags}))


def test_a_long_id_is_refused() -> None:
    with pytest.raises(LimitError, match="ID_CHARS_MAX"):
        encode_publication(Publication("x" * (ID_CHARS_MAX + 1), {}))


def test_the_largest_publication_leaves_room_for_what_a_hop_adds() -> None:
    spare = len(encode_publication(Publication("p", {"a": "x" * 100_000}))) - 100_000
    most = FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES - spare
    assert len(encode_publication(Publication("p", {"a": "x" * most}))) == most + spare
    with pytest.raises(LimitError, match="the encoded size of publication 'p'"):
        encode_publication(Publication("p", {"a": "x" * (most + 1)}))


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_arrays_are_nested_no_deeper_than_the_limit() -> None:
    deepest = nested(RECORD_DEPTH_MAX - 1)
    encoded = encode_publication(Publication("p", {"a": deepest}))
    assert decode_publication(encoded).attributes == {"a": deepest}
    with pytest.raises(LimitError, match="RECORD_DEPTH_MAX"):
        encode_publication(Publication("p", {"a": nested(RECORD_DEPTH_MAX)}))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc0",
        b"\x92\xa1p\x80\x00",
        b"\x92\xa1p\xc0",
        b"\x92\xa0\x80",
        b"\x92\xa1\xff\x80",
        b"\x92\xa1p\x81\x01\x02",
        b"\x92\xa1p\x81\xa1a" + b"\x91" * 100_000,
        msgspec.msgpack.encode(["p", {"a": float("nan")}]),
        msgspec.msgpack.encode(["p", {"a": 2**63}]),
        msgspec.msgpack.encode(["p", {"a": b"bytes"}]),
        msgspec.msgpack.encode(["p", {"a": msgspec.msgpack.Ext(5, b"x")}]),
        msgspec.msgpack.encode(["p", {"a": {"b": 1}, "a.b": 2}]),
        msgspec.msgpack.encode(["p", {"a": [msgspec.msgpack.Ext(5, b"x")]}]),
        msgspec.msgpack.encode(["p", {"a": [{1: 2}]}]),
        msgspec.msgpack.encode(["p", {"a": nested(RECORD_DEPTH_MAX)}]),
    ],
)
def test_bytes_that_are_no_publication_are_refused(body: bytes) -> None:
    with pytest.raises(InputError):
        decode_publication(body)


def test_a_publication_keeps_the_bytes_that_it_came_as() -> None:
    # 1 as an integer of 64 bits: not what this encoder makes.
    body = b"\x93\xa1p\x81\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x01\xc0"
    publication = decode_publication(body)
    assert encode_publication(publication) is body
    assert publication == Publication("p", {"a": 1})
    assert encode_publication(Publication("p", {"a": 1})) != body


def test_the_bytes_of_a_publication_are_made_once() -> None:
    publication = Publication("p", {"a": 1})
    assert publication.encoded is None
    first = encode_publication(publication)
    assert encode_publication(publication) is first is publication.encoded


def test_bytes_that_were_made_before_are_too_long_for_smaller_frames_all_the_same() -> None:
    publication = Publication("p", {"a": "x" * 10_000})
    encode_publication(publication)
    with pytest.raises(LimitError, match="FRAME_BYTES_MAX"):
        encode_publication(publication, 10_000)


@given(publications(), st.none() | st.integers(1, 10**12), st.booleans())
def test_an_envelope_travels_behind_all_content(
    plain: Publication, ttl_ms: int | None, is_blind: bool
) -> None:
    payload = b"x" if is_blind else None
    content = Publication(plain.id, plain.attributes, plain.document, payload, is_blind=is_blind)
    limited = content.in_envelope(Envelope(ttl_ms))
    encoded = encode_publication(limited)
    assert decode_publication(encoded) == limited
    assert has_envelope(encoded)
    assert envelope_of(encoded) == Envelope(ttl_ms)
    without = encode_publication(content)
    assert not has_envelope(without)
    assert envelope_of(without) is None


def test_an_envelope_has_these_bytes_and_may_grow_at_its_end() -> None:
    limited = Publication("p", {"a": 1}).in_envelope(Envelope(1000))
    expected = bytes.fromhex("96 a170 81a16101 c0 c0 c2 93cd03e8c0c0")
    assert encode_publication(limited) == expected
    grown = bytes.fromhex("97 a170 81a16101 c0 c0 c2 95cd03e8c0c0a178c3 01")
    assert decode_publication(grown) == limited


@pytest.mark.parametrize("envelope", ["9100", "91a131", "91cbc000000000000000", "01"])
def test_what_is_no_envelope_is_refused(envelope: str) -> None:
    with pytest.raises(InputError, match="no publication"):
        decode_publication(bytes.fromhex(f"96 a170 81a16101 c0 c0 c2 {envelope}"))
