"""Records of topics as publications, and deliveries as records."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.kafka.contents import Consumed, publication_of, record_of
from sapwood.kafka.library import read_properties
from sapwood.session.delivery import Delivery
from tests.examples import examples

RECORD = Consumed("orders", 3, 17, b"k", b'{"price": 12}', (("h", b"x"),), 5)


def test_a_json_object_is_a_record_with_its_place() -> None:
    made = publication_of(RECORD, "json")
    assert made.id == "orders-3-17"
    assert made.attributes == {
        "price": 12,
        "kafka": {
            "topic": "orders",
            "partition": 3,
            "offset": 17,
            "timestamp_ms": 5,
            "key": "k",
            "headers": {"h": "x"},
        },
    }


def test_documents_and_bytes_are_carried_as_they_are() -> None:
    place = {"topic": "orders", "partition": 3, "offset": 17, "timestamp_ms": 5, "key": "k"}
    xml = publication_of(RECORD._replace(value=b"<a/>", headers=()), "xml")
    assert (xml.document, xml.attributes) == (b"<a/>", {"kafka": place})
    raw = publication_of(RECORD._replace(value=b"\xff", headers=()), "payload")
    assert (raw.payload, raw.attributes) == (b"\xff", {"kafka": place})


def test_what_is_no_text_is_left_out_and_a_tombstone_says_so() -> None:
    bare = RECORD._replace(
        key=b"\xff", headers=(("h", b"\xfe"), ("n", None)), value=None, timestamp_ms=None
    )
    made = publication_of(bare, "json")
    assert made.attributes == {
        "kafka": {"topic": "orders", "partition": 3, "offset": 17, "is_tombstone": True}
    }


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"{", "JSON"),
        (b"[1]", "object"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"kafka": 1}', "where it comes from"),
        (b"\xff{}", "JSON|UTF-8"),
    ],
)
def test_values_that_are_no_json_object_are_refused(value: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        publication_of(RECORD._replace(value=value), "json")


@given(st.binary(max_size=60))
@settings(max_examples=examples(100))
def test_any_value_is_a_publication_or_refused(value: bytes) -> None:
    try:
        made = publication_of(RECORD._replace(value=value), "json")
    except InputError:
        return
    assert made.attributes is not None
    assert made.attributes["kafka"]["offset"] == 17


def test_a_delivery_is_its_payload_or_document_or_record() -> None:
    record = record_of(Delivery("p", {"a": {"b": "k"}, "n": 2}, ("s",)), "a.b")
    assert (record.key, json.loads(record.value)) == (b"k", {"a": {"b": "k"}, "n": 2})
    assert record.headers == [("sapwood-id", b"p"), ("content-type", b"application/json")]
    document = record_of(Delivery("p", {"n": 2}, ("s",), b"<a/>"), "n")
    assert (document.key, document.value) == (b"2", b"<a/>")
    assert document.headers[1] == ("content-type", b"application/xml")
    payload = record_of(Delivery("p", {"n": [1]}, ("s",), None, b"\0"), "n")
    assert (payload.key, payload.value, len(payload.headers)) == (None, b"\0", 1)


def test_properties_are_pairs_and_not_the_bridges_own() -> None:
    assert read_properties(["a.b=c=d"]) == {"a.b": "c=d"}
    for wrong, words in (
        (["a"], "name=value"),
        (["a=1", "a=2"], "each name once"),
        (["group.id=x"], "it is --group"),
        (["enable.auto.commit=true"], "accepted"),
    ):
        with pytest.raises(InputError, match=words):
            read_properties(wrong)
