"""One line to a value and back."""

from __future__ import annotations

import json
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, InputError, InvalidValueError, LimitError
from sapwood.files.lines import (
    decode_advertisement,
    decode_publication,
    decode_record,
    decode_subscription,
    encode_publication,
    encode_subscription,
)
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import LINE_BYTES_MAX, RECORD_DEPTH_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from tests.strategies import filters, nested_records


def subscription_line(**members: Any) -> bytes:
    """A good line, with some members exchanged."""
    return json.dumps({"id": "s1", "filter": "price > 10", **members}).encode()


def publication_line(**members: Any) -> bytes:
    """A good line, with some members exchanged."""
    return json.dumps({"id": "p1", "attributes": {"price": 12}, **members}).encode()


def test_decode_subscription_reads_id_filter_and_home() -> None:
    line = b'{"id": "s1", "filter": "price > 10", "home": "r7"}'
    assert decode_subscription(line) == Subscription("s1", parse_filter("price > 10"), "r7")


def test_decode_publication_reads_id_attributes_and_home() -> None:
    line = decode_publication(b'{"id": "p1", "attributes": {"a": {"b": 1}}, "home": "r1"}')
    assert line.publication == Publication("p1", {"a": {"b": 1}})
    assert line.home == "r1"


@pytest.mark.parametrize(
    "line", [b'{"home":null,"id":"x","filter":"a"}', b'{"id":"x","filter":"a"}']
)
def test_decode_subscription_takes_null_for_absent(line: bytes) -> None:
    assert decode_subscription(line).home is None


def test_decode_publication_takes_null_documents_for_absent() -> None:
    assert decode_publication(publication_line(document=None, home=None)).home is None


def test_decode_publication_carries_arrays_and_takes_their_elements_for_values() -> None:
    publication = decode_publication(
        publication_line(attributes={"tags": ["a", "b"], "one": ["c"], "n": 1})
    ).publication
    assert publication.attributes == {"tags": ["a", "b"], "one": ["c"], "n": 1}
    assert publication.record == {"n": 1, "one": "c", "tags": ("a", "b")}
    assert publication.has_arrays


BAD_EITHER = [
    pytest.param(b"", "blank", id="nothing"),
    pytest.param(b"  \t", "blank", id="white space"),
    pytest.param(b"price > 10", "not JSON: expecting value, at column 1", id="no JSON"),
    pytest.param(b'{"id": "x"', "not JSON: expecting ',' delimiter, at column 11", id="half"),
    pytest.param(b'{"id": "x"} {"id": "y"}', "not JSON: extra data, at column 13", id="two"),
    pytest.param(b'["x"]', "one JSON object, not an array", id="an array"),
    pytest.param(b'"x"', "one JSON object, not a text", id="a text"),
    pytest.param(b"17", "one JSON object, not a number", id="a number"),
    pytest.param(b"true", "one JSON object, not a boolean", id="a boolean"),
    pytest.param(b"null", "one JSON object, not null", id="null"),
    pytest.param(b'{"id": "\xff"}', "byte 9 of the line is not UTF-8", id="Latin-1"),
    pytest.param(b'{"id": "\\ud800"}', "half of a surrogate pair", id="surrogate"),
    pytest.param(b'{"id": NaN}', "NaN is not JSON", id="NaN"),
    pytest.param(b'{"id": -Infinity}', "-Infinity is not JSON", id="infinity"),
    pytest.param(b'{"id": 1e999}', "larger than 64 bits", id="overflow"),
    pytest.param(b'{"id": ' + b"9" * 5000 + b"}", "larger than 64 bits", id="long integer"),
    pytest.param(b'{"id": ' + b"[" * 99999 + b"]" * 99999 + b"}", "too deeply", id="deep"),
    pytest.param(b'{"id": ' + b"[" * 99999, "too deeply", id="deep and half"),
    pytest.param(b'{"id": "\\ud800", "x":' + b"[" * 99999, "too deeply", id="surrogate and deep"),
    pytest.param(b"{}", 'needs an "id"', id="no id"),
    pytest.param(b'{"id": null}', 'needs an "id"', id="null id"),
    pytest.param(b'{"id": 7}', '"id" is a number; write it as text', id="number id"),
    pytest.param(b'{"id": ""}', '"id" is empty', id="empty id"),
    pytest.param(b'{"id": "x", "hom": "r1"}', "unknown key 'hom'; did you mean 'home'?", id="typo"),
    pytest.param(b'{"id": "x", "id": "y"}', "the name 'id' stands twice", id="repeated"),
    pytest.param(b'{"id": "x", "id" : "y"}', "the name 'id' stands twice", id="repeated, spaced"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_EITHER)
def test_decode_names_what_is_wrong_with_any_line(line: bytes, reason: str) -> None:
    with pytest.raises(InputError) as subscription:
        decode_subscription(line)
    with pytest.raises(InputError) as publication:
        decode_publication(line)
    assert reason in str(subscription.value)
    assert reason in str(publication.value)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(subscription_line(filter=None), 'needs a "filter"', id="null"),
        pytest.param(b'{"id": "s1"}', 'needs a "filter"', id="none"),
        pytest.param(subscription_line(filter=7), '"filter" is a number', id="number"),
        pytest.param(subscription_line(filter={"a": 1}), '"filter" is an object', id="object"),
        pytest.param(subscription_line(home=7), '"home" is a number', id="home is a number"),
        pytest.param(subscription_line(home=""), '"home" is empty', id="home is empty"),
        pytest.param(subscription_line(attributes={}), "unknown key 'attributes'", id="mixed up"),
        pytest.param(subscription_line(document="<a/>"), "unknown key 'document'", id="a document"),
        pytest.param(subscription_line(xpath="//a"), "not both; make it two", id="both"),
        pytest.param(b'{"id": "s1", "xpath": 7}', '"xpath" is a number', id="xpath is a number"),
        pytest.param(
            subscription_line(namespaces={}), "leave them out", id="namespaces of records"
        ),
        pytest.param(
            b'{"id": "s1", "xpath": "//a", "namespaces": {"p": 1}}',
            "prefixes and their namespaces",
            id="namespaces are numbers",
        ),
        pytest.param(b'{"id": "s1", "xpath": "//a["}', "xpath: ", id="malformed xpath"),
        pytest.param(b'{"id": "s1", "xpath": "a[position()=1]"}', "position", id="beyond"),
    ],
)
def test_decode_subscription_names_what_is_wrong(line: bytes, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_subscription(line)
    assert reason in str(caught.value)


def test_decode_subscription_gives_the_position_of_a_malformed_filter() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        decode_subscription(subscription_line(filter="price > 10 and"))
    assert caught.value.position == len("price > 10 and")
    assert caught.value.reason.startswith("filter: ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param(b'{"id": "p1"}', 'needs "attributes"', id="none"),
        pytest.param(publication_line(attributes=None), 'needs "attributes"', id="null"),
        pytest.param(publication_line(attributes=[1]), '"attributes" is an array', id="array"),
        pytest.param(publication_line(attributes="a"), '"attributes" is a text', id="text"),
        pytest.param(publication_line(home=[]), '"home" is an array', id="home is an array"),
        pytest.param(publication_line(filter="a"), "unknown key 'filter'", id="mixed up"),
    ],
)
def test_decode_publication_names_what_is_wrong(line: bytes, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_publication(line)
    assert reason in str(caught.value)


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_decode_publication_names_the_attribute_of_an_impossible_value(value: int) -> None:
    with pytest.raises(InvalidValueError) as caught:
        decode_publication(publication_line(attributes={"a": {"b": value}}))
    assert caught.value.attribute == "a.b"


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"p1","attributes":{"a":1,"a":2}}',
        b'{"id":"p1","attributes":{"a":{"b":1,"b":1}}}',
        b'{"id":"p1","attributes":{"a":[{"b":1},{"b":1,"b":2}]}}',
        b'{"id":"p1","attributes":{"\\u0061":1,"a":2}}',
        b'{"id":"p1","attributes":{"t":"\\":","a":1,"a":2}}',
    ],
)
def test_decode_publication_refuses_a_name_given_twice_anywhere(line: bytes) -> None:
    with pytest.raises(InputError, match="stands twice in one object"):
        decode_publication(line)


@pytest.mark.parametrize(
    "attributes",
    [{"t": '":'}, {'":': 1}, {"t": '" : ":'}, {"a": [{"b": 1}, {"b": 2}]}, {"t": "12:30:00"}],
)
def test_decode_publication_takes_colons_and_quotes_in_texts(attributes: dict[str, Any]) -> None:
    line = publication_line(attributes=attributes)
    assert decode_publication(line).publication.attributes == attributes


@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"a":', b"}")])
def test_decode_publication_bounds_the_nesting_of_objects_and_arrays(
    brackets: tuple[bytes, bytes],
) -> None:
    def line(depth: int) -> bytes:
        opening, closing = brackets
        deep = opening * depth + b"1" + closing * depth
        return b'{"id":"p1","attributes":{"x":' + deep + b"}}"

    assert decode_publication(line(RECORD_DEPTH_MAX - 1)).publication.id == "p1"
    for depth in (RECORD_DEPTH_MAX, 900, 5000):
        with pytest.raises(InputError, match=r"RECORD_DEPTH_MAX|too deeply"):
            decode_publication(line(depth))


def test_decode_refuses_a_line_that_is_too_long() -> None:
    fits = publication_line(attributes={"t": "x" * (LINE_BYTES_MAX - 50)})
    fits += b" " * (LINE_BYTES_MAX - len(fits))
    assert decode_publication(fits).publication.id == "p1"
    with pytest.raises(LimitError) as caught:
        decode_publication(fits + b" ")
    assert caught.value.name == "LINE_BYTES_MAX"


def test_encode_publication_refuses_an_infinite_number() -> None:
    with pytest.raises(InvalidValueError, match="inf cannot be written"):
        encode_publication(Publication("p1", {"a": {"b": float("inf")}}))
    with pytest.raises(InvalidValueError, match="inf cannot be written"):
        encode_publication(Publication("p1", {"a": [1.0, float("-inf")]}))


def test_encode_publication_writes_null_and_the_text_null_as_they_are() -> None:
    attributes = {"a": None, "b": "null", "c": [None, 1]}
    line = encode_publication(Publication("p1", attributes))
    assert json.loads(line)["attributes"] == attributes


def test_encode_publication_takes_any_mapping() -> None:
    line = encode_publication(
        Publication("p1", MappingProxyType({"a": MappingProxyType({"b": 1})}))
    )
    assert line == b'{"id":"p1","attributes":{"a":{"b":1}}}'


def test_encode_publication_writes_scalars_of_numpy_as_what_they_are() -> None:
    attributes = {"a": np.int64(1), "b": np.float64(0.5), "c": [np.bool_(False)], "d": np.str_("x")}
    line = encode_publication(Publication("p", attributes))
    assert line == b'{"id":"p","attributes":{"a":1,"b":0.5,"c":[false],"d":"x"}}'
    with pytest.raises(InvalidValueError, match="inf cannot be written"):
        encode_publication(Publication("p", {"a": np.float32("inf")}))


def test_encode_publication_refuses_what_json_cannot_say() -> None:
    with pytest.raises(InvalidValueError, match="cannot be written as JSON"):
        encode_publication(Publication("p1", {"a": [object()]}))


def test_encode_subscription_keeps_the_text_the_filter_was_read_from() -> None:
    subscription = Subscription("s1", parse_filter("price>10  AND true"))
    assert json.loads(encode_subscription(subscription))["filter"] == "price>10  AND true"


@pytest.mark.parametrize("namespaces", [None, {}, {"p": "urn:x", "q": "urn:y"}])
def test_document_subscription_lines_round_trip(namespaces: dict[str, str] | None) -> None:
    text = "//p:a[q:b = 1]" if namespaces else "//a[b = 1]"
    subscription = Subscription("s1", parse_xpath(text, namespaces), "r1")
    line = encode_subscription(subscription)
    assert json.loads(line)["xpath"] == text
    assert json.loads(line).get("namespaces") == namespaces
    decoded = decode_subscription(line)
    assert decoded == subscription
    assert decoded.filter.source == text


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (b"<a>1</a>", "<a>1</a>"),
        ("<a>é</a>".encode(), "<a>é</a>"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>'.encode("latin-1"),
         '<?xml version="1.0"?><a>é</a>'),
        ("<a>é</a>".encode("utf-16"), "<a>é</a>"),
    ],
)  # fmt: skip
def test_encode_publication_writes_documents_as_text(document: bytes, text: str) -> None:
    line = encode_publication(Publication("p1", document=document))
    assert json.loads(line) == {"id": "p1", "document": text}
    decoded = decode_publication(line).publication
    assert decoded.attributes is None
    assert decoded.document == text.encode()
    assert encode_publication(decoded) == line


def test_a_payload_is_written_in_base64() -> None:
    for blind in (False, True):
        publication = Publication("p1", {"a": 1}, payload=b"\xff\x00", is_blind=blind)
        line = encode_publication(publication, "r1")
        told = json.loads(line)
        assert (told["payload"], told.get("blind", False)) == ("/wA=", blind)
        assert decode_publication(line).publication == publication


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"payload": "?"}, "no base64"),
        ({"payload": 7}, "no base64"),
        ({"blind": 1}, "true or false"),
    ],
)
def test_a_payload_that_is_none_is_refused(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        decode_publication(publication_line(attributes={"a": 1}, **members))


def test_decode_publication_reads_a_record_and_a_document() -> None:
    line = publication_line(document="<a><b/></a>")
    publication = decode_publication(line).publication
    assert publication.attributes is not None
    contents = publication.read_document()
    assert contents is not None
    assert contents.names == ("a", "b")


def test_decode_publication_takes_text_for_text_whatever_it_says_of_its_encoding() -> None:
    line = publication_line(document='<?xml version="1.0" encoding="UTF-16"?><a>é</a>')
    contents = decode_publication(line).publication.read_document()
    assert contents is not None
    assert contents.string_value(0) == "é"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<a>", "line 1"),
        ("<!DOCTYPE a><a/>", "DOCTYPE"),
        ("", "line 1|empty"),
        ("<a/>" * 2, "line 1"),
        (7, "a number"),
    ],
)
def test_decode_publication_refuses_what_is_no_document(document: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        decode_publication(publication_line(document=document))


@pytest.mark.parametrize(
    ("member", "advertised"),
    [
        ({"filter": "a > 1"}, parse_filter("a > 1")),
        ({"xpath": "/a//b"}, parse_xpath("/a//b")),
        ({"paths": "/a(/b)+/c"}, parse_advertisement("/a(/b)+/c")),
    ],
)
def test_decode_advertisement_reads_the_advertised_content(
    member: dict[str, str], advertised: AdvertisedContent
) -> None:
    line = decode_advertisement(json.dumps({"id": "a1", "home": "r1", **member}).encode())
    assert (line.id, line.filter, line.home) == ("a1", advertised, "r1")


def test_paths_are_nothing_to_subscribe_to() -> None:
    with pytest.raises(InputError, match="unknown key 'paths'"):
        decode_subscription(b'{"id": "s1", "paths": "/a"}')
    with pytest.raises(InputError, match="paths: every level is written"):
        decode_advertisement(b'{"id": "a1", "paths": "//a"}')


def test_encode_subscription_prints_a_filter_without_a_text() -> None:
    merged = parse_filter("a = 1").merge(parse_filter("a = 2")).filter
    line = encode_subscription(Subscription("s1", merged, "r1"))
    assert decode_subscription(line) == Subscription("s1", merged, "r1")


@given(nested_records(), st.text(min_size=1, max_size=8), st.none() | st.sampled_from(("r1", "é")))
def test_publication_lines_round_trip(
    attributes: dict[str, Any], id_: str, home: str | None
) -> None:
    publication = Publication(id_, attributes)
    if "Infinity" in json.dumps(attributes):
        with pytest.raises(InvalidValueError, match="inf cannot be written"):
            encode_publication(publication, home)
        return
    line = encode_publication(publication, home)
    assert b"\n" not in line
    decoded = decode_publication(line)
    assert decoded.publication == publication
    assert decoded.publication.record == publication.record
    assert decoded.home == home


@given(filters(), st.none() | st.just("r1"))
def test_subscription_lines_round_trip(wanted: Filter, home: str | None) -> None:
    subscription = Subscription("s1", wanted, home)
    assert decode_subscription(encode_subscription(subscription)) == subscription


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" ,", " : "), (", ", "\t:")])
def test_decode_publication_does_not_depend_on_white_space(separators: tuple[str, str]) -> None:
    members = {"id": "p1", "attributes": {"a": {"b": [1, {"c": None}]}, "t": 'x":y'}}
    line = json.dumps(members, separators=separators).encode()
    assert decode_publication(line).publication.attributes == members["attributes"]


FRAGMENTS = st.sampled_from(
    (
        *('{"id":"x"', ',"filter":', ',"attributes":', "{", "}", "[", "]", '"', ":", ",", "\\"),
        *("NaN", "\\ud800", "\\ud83d\\ude00", "null", "true", "-0", "1e999", '"a"', "a > 1"),
        *(" ", "\x00", "é"),
    )
)


@given(st.lists(FRAGMENTS, max_size=14).map("".join).map(str.encode) | st.binary(max_size=40))
def test_decode_raises_nothing_but_input_errors(line: bytes) -> None:
    for decode in (decode_subscription, decode_publication):
        with suppress(InputError):
            decode(line)


@given(st.lists(FRAGMENTS, max_size=14).map("".join).map(str.encode))
def test_decode_blames_a_surrogate_only_where_there_is_one(line: bytes) -> None:
    try:
        decode_publication(line)
    except InputError as error:
        reason = str(error)
    else:
        reason = ""
    assert "surrogate" not in reason or b"\\ud800" in line


def test_further_keys_are_the_users_own() -> None:
    plain = decode_publication(b'{"id": "p", "attributes": {"a": 1}}')
    assert decode_publication(b'{"id": "p", "attributes": {"a": 1}, "sent": 5}') == plain
    line = b'{"id": "s", "filter": "a > 1", "owner": {"name": "x"}}'
    assert decode_subscription(line).id == "s"


@pytest.mark.parametrize(
    ("line", "id_", "attributes"),
    [
        (b'{"key": "k", "a": 1}', "k", {"a": 1}),
        (b'{"key": -7, "id": "other", "attributes": 2}', "-7", {"id": "other", "attributes": 2}),
        (b'{"a": {"b": [1]}, "key": "k"}', "k", {"a": {"b": [1]}}),
    ],
)
def test_decode_record_takes_a_member_as_the_id(
    line: bytes, id_: str, attributes: dict[str, Any]
) -> None:
    publication = decode_record(line, "key").publication
    assert (publication.id, publication.attributes) == (id_, attributes)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1}', 'no "key"'),
        (b'{"key": null}', 'no "key"'),
        (b'{"key": true}', "is a boolean"),
        (b'{"key": 1.0}', "is a number"),
        (b'{"key": ""}', "is an empty text"),
        (b'{"key": ["k"]}', "is an array"),
        (b'{"key": "k", "a": 1, "a": 2}', "stands twice"),
        (b"[1]", "one JSON object"),
        (b"{", "not JSON"),
    ],
)
def test_decode_record_names_what_is_wrong(line: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        decode_record(line, "key")


def test_a_record_without_anything_around_it_is_told_how_to_go_on() -> None:
    with pytest.raises(InputError, match="--id"):
        decode_publication(b'{"symbol": "SAP", "price": 120}')
