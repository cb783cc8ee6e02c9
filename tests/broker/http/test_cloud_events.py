"""CloudEvents over HTTP: binary, structured and in batches, in and out."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapwood
from sapwood.broker.http.cloud_events import json_of_event, of_headers, of_json
from sapwood.errors import InputError
from sapwood.limits.timing import TTL_MS_MAX
from sapwood.session.delivery import Delivery
from sapwood.wire.publications import encode_publication
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.http.helpers import JSON, gated
from tests.examples import examples

__all__ = ("nothing_is_left",)

EVENT = "application/cloudevents+json; charset=utf-8"
EVENTS = "application/cloudevents-batch+json"

ORDER: dict[str, Any] = {
    "specversion": "1.0",
    "id": "A-1",
    "source": "/shop/7",
    "type": "com.example.order",
    "time": "2026-01-02T03:04:05.67Z",
    "subject": "orders/1",
    "priority": 3,
    "datacontenttype": "application/json",
    "data": {"amount": 12, "of": {"desk": "x"}},
}
"""An event with an extension (`priority`)."""


def headers(event: Mapping[str, Any]) -> dict[str, str]:
    """The headers of an event in binary mode; what its data is stands elsewhere."""
    inner = {name: value for name, value in event.items() if name[:4] != "data"}
    return {f"ce-{name}": str(value) for name, value in inner.items()}


def text(event: Any) -> bytes:
    return json.dumps(event).encode()


def without(name: str, **more: Any) -> dict[str, Any]:
    return {key: value for key, value in {**ORDER, **more}.items() if key != name}


async def test_attributes_and_members_of_data_are_attributes() -> None:
    filter_ = "type = 'com.example.order' and source like '/shop/%' and data.of.desk = 'x'"
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        subscription = await client.subscribe(f"{filter_} and data.amount > 10")
        typed = await client.subscribe("priority > 2")
        told = await gate.post(text(ORDER), EVENT)
        assert (told.status, told.json) == (200, {"id": "/shop/7 A-1"})
        assert (await soon(anext(subscription))).attributes == ORDER
        assert (await soon(anext(typed))).id == "/shop/7 A-1"
        told = await gate.post(text(ORDER["data"]), JSON, **headers(ORDER))
        assert told.status == 200
        binary = {**ORDER, "priority": "3"}  # a header is text
        assert (await soon(anext(subscription))).attributes == binary
        batch = [ORDER, {**ORDER, "id": ""}, 7, {**ORDER, "id": "B"}]
        told = await gate.post(text(batch), EVENTS)
        assert (told.status, told.json["accepted"]) == (207, 2)
        assert [one["event"] for one in told.json["refused"]] == [2, 3]
        assert [(await soon(anext(typed))).id for _ in range(2)] == ["/shop/7 A-1", "/shop/7 B"]
        assert (await gate.post(b"[]", EVENTS)).json == {"accepted": 0, "refused": []}


async def test_xml_is_a_document_and_other_data_a_payload() -> None:
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        documents = await client.subscribe(sapwood.parse_xpath("//b"))
        records = await client.subscribe("type = 't'")
        inner = {"specversion": "1.0", "id": "1", "source": "s", "type": "t"}
        xml = {**inner, "datacontenttype": "application/xml"}
        assert (await gate.post(text({**xml, "data": "<b/>"}), EVENT)).status == 200
        assert (await gate.post(b"<b/>", "text/xml", **headers(inner))).status == 200
        assert (await gate.post(b"<b>", "text/xml", **headers(inner))).status == 422
        for _ in range(2):
            assert (await soon(anext(documents))).document == b"<b/>"
            assert (await soon(anext(records))).document == b"<b/>"
        written = base64.b64encode(b"\0\xff").decode()
        for kind, body, event in (
            ("image/png", b"\0\xff", {"datacontenttype": "image/png", "data_base64": written}),
            ("text/plain", b"hello", {"datacontenttype": "text/plain", "data": "hello"}),
        ):
            assert (await gate.post(text({**inner, **event}), EVENT)).status == 200
            assert (await gate.post(body, kind, **headers(inner))).status == 200
            for _ in range(2):
                assert (await soon(anext(records))).payload == body


async def test_deliveries_come_as_events_on_request() -> None:
    async with (
        gated() as gate,
        gate.stream("filter=true&as=cloudevents") as web,
        sapwood.connect(str(gate.broker.address)) as client,
    ):
        assert (await gate.post(text(ORDER), EVENT)).status == 200
        assert await web.delivery() == ORDER
        await client.publish({"a": 1}, "p1")
        assert await web.delivery() == {
            "specversion": "1.0",
            "id": "p1",
            "source": "/hub",
            "type": "sapwood.publication",
            "datacontenttype": "application/json",
            "data": {"attributes": {"a": 1}},
        }
        told = await gate.ask("GET", "/subscribe?filter=true&as=what")
        assert (told.status, "cloudevents" in told.json["detail"]) == (400, True)


SPAN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HOP = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def test_an_expiry_time_is_a_time_to_live_and_stays_an_attribute() -> None:
    def at(seconds: float) -> str:
        return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()

    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        wanted = await client.subscribe("true")
        event = {**ORDER, "expirytime": at(3600)}
        assert (await gate.post(text(event), EVENT, "?ttl=5")).status == 200
        assert (await gate.post(b"1", JSON, **headers(event))).status == 200
        last = {**ORDER, "expirytime": "9999-12-31T23:59:59.9+01:00"}
        assert (await gate.post(text(last), EVENT)).status == 200
        assert (await gate.post(text(ORDER), EVENT, TTL="5")).status == 200
        found = [await soon(anext(wanted)) for _ in range(4)]
        assert found[0].attributes == event
        for one in found[:2]:
            assert one.ttl is not None
            assert 3500 < one.ttl <= 3600, "what the event says goes before what the request says"
        assert [one.ttl for one in found[2:]] == [TTL_MS_MAX / 1000, 5.0]
        told = await gate.post(text([{**ORDER, "expirytime": at(-10)}, ORDER]), EVENTS)
        assert (told.status, told.json["accepted"]) == (207, 1)
        assert "has expired 10." in told.json["refused"][0]["reason"]
        told = await gate.post(text({**ORDER, "expirytime": "tomorrow"}), EVENT)
        assert (told.status, "expirytime is a time as in" in told.json["detail"]) == (400, True)


async def test_spans_of_events_and_of_their_requests() -> None:
    state = {"tracestate": "a=1"}
    async with (
        gated() as gate,
        gate.stream("filter=true&as=cloudevents") as web,
        sapwood.connect(str(gate.broker.address)) as client,
    ):
        wanted = await client.subscribe("true")
        began = {**ORDER, "traceparent": SPAN, **state}
        for event, headers_ in (
            (began, {}),
            (began, {"traceparent": HOP}),
            (ORDER, {"traceparent": HOP, **state}),
            ({**ORDER, "traceparent": "what"}, {}),
        ):
            assert (await gate.post(text(event), EVENT, **headers_)).status == 200
        found = [await soon(anext(wanted)) for _ in range(4)]
        assert [(one.traceparent, one.tracestate) for one in found] == [
            (SPAN, "a=1"),
            (HOP, None),
            (HOP, "a=1"),
            (None, None),
        ]
        events = [await web.delivery() for _ in range(4)]
        assert events[0] == events[1] == began, "an event keeps where it began"
        assert events[2] == {**ORDER, "traceparent": HOP, **state}
        assert events[3] == {**ORDER, "traceparent": "what"}
        await client.publish({"a": 1}, "p1", traceparent=SPAN, tracestate="b=2")
        event = await web.delivery()
        assert (event["traceparent"], event["tracestate"]) == (SPAN, "b=2")
        assert event["data"] == {"attributes": {"a": 1}}


async def test_what_is_no_event_says_why() -> None:
    cases = (
        (b"{", EVENT, "", 400, "not JSON"),
        (b"[]", EVENT, "", 400, "one event"),
        (b"{}", EVENTS, "", 400, "JSON array"),
        (b"<a/>", "application/cloudevents+xml", "", 415, "cloudevents+json"),
        (text(ORDER), EVENT, "?id=p", 400, "no events"),
        (b'{"a": 1, "a": 2}', EVENT, "", 400, "twice"),
        (text({**ORDER, "id": "x" * 600}), EVENT, "", 400, "ID_CHARS_MAX"),
    )
    async with gated() as gate:
        for body, kind, query, status, words in cases:
            told = await gate.post(body, kind, query)
            assert (told.status, words in told.json["detail"]) == (status, True), told
        told = await gate.post(b"1}", JSON, **headers(ORDER))
        assert told.status == 400
        told = await gate.post(b'1,"x":2', JSON, **headers(ORDER))
        assert (told.status, told.json["detail"]) == (400, "the data is no JSON")
        told = await gate.post(b"1", JSON, **{"ce-specversion": "1.0"})
        assert "there is no id, source, type" in told.json["detail"]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        *((without(name), f"no {name}") for name in ("id", "source", "type", "specversion")),
        *(
            (without("", **{name: ""}), f"{name} is")
            for name in ("id", "source", "type", "subject")
        ),
        (without("", specversion="0.3"), "1.0 is read"),
        (without("", source="a b"), "URI reference"),
        (without("", source="a%2"), "URI reference"),
        (without("", dataschema="/relative"), "its scheme"),
        (without("", time="2026-02-30T00:00:00Z"), "RFC 3339"),
        (without("", time="2026-01-02 03:04:05Z"), "RFC 3339"),
        (without("", time="2026-01-02T03:04:05"), "RFC 3339"),
        (without("", time=3), "RFC 3339"),
        (without("", datacontenttype="json"), "media type"),
        (without("", Priority=1), "small letters"),
        (without("", my_name=1), "small letters"),
        (without("", grösse=1), "small letters"),
        (without("", x=2**31), "32 bits"),
        (without("", x=1.5), "32 bits"),
        (without("", x=[1]), "32 bits"),
        (without("", x="a\u0007"), "control characters"),
        (without("", subject="a\u0085"), "control characters"),
        (without("", data_base64="AAE="), "not both"),
        (without("data", data_base64="!"), "base64"),
        (without("data", data_base64=7), "base64"),
        (without("", datacontenttype="text/plain"), "is a text"),
    ],
)
def test_rules_of_the_specification_are_checked(event: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        of_json(text(event))


@pytest.mark.parametrize(
    "time", ["2026-12-31T23:59:60Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05.123456789+01:30"]
)
def test_times_are_those_of_rfc_3339(time: str) -> None:
    assert of_json(text({**ORDER, "time": time})).record["time"] == time


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),  # the example of the HTTP binding
        ('"a \\"b\\" c"', 'a "b" c'),
        ("100%25", "100%"),
        ('"', '"'),
        ("\u00e2\u0082\u00ac", "€"),  # bytes as they are
    ],
)
def test_headers_are_read_as_the_binding_says(value: str, meant: str) -> None:
    given = [*headers(without("subject")).items(), ("CE-Subject", value)]
    event = of_headers(given, b"")
    assert event.record["subject"] == meant
    for wrong in ([*given, ("ce-subject", "x")], [*given, ("ce-x", "%ff")]):
        with pytest.raises(InputError):
            of_headers(wrong, b"")
    with pytest.raises(InputError, match="Content-Type"):
        of_headers([*given, ("ce-datacontenttype", "text/plain")], b"")


_WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], max_codepoint=0x2FFF),
    min_size=1,
    max_size=9,
)
_VALUES = st.one_of(st.booleans(), st.integers(-(2**31), 2**31 - 1), _WORDS)
_NAMES = st.from_regex(r"x[a-z0-9]{1,8}", fullmatch=True)
_JSON = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**53), 2**53), _WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_DATA = st.one_of(
    st.just({}),
    st.builds(lambda data: {"data": data}, _JSON),
    st.builds(lambda data: {"data": data, "datacontenttype": "a/b+json"}, _JSON),
    st.builds(
        lambda data: {
            "data_base64": base64.b64encode(data).decode(),
            "datacontenttype": "image/png",
        },
        st.binary(max_size=20),
    ),
    st.just({"data": "<a>é</a>", "datacontenttype": "text/xml"}),
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=4), _WORDS, _DATA)
@settings(max_examples=examples(200))
def test_an_event_that_goes_in_comes_out(
    extensions: dict[str, Any], id_: str, data: dict[str, Any]
) -> None:
    event = {"specversion": "1.0", "id": id_, "source": "s", "type": "t", **extensions, **data}
    body = encode_publication(of_json(text(event)))
    assert json.loads(json_of_event("hub", Delivery.of(body, ("s",)))) == event


_PIECES = st.lists(
    st.sampled_from(["specversion", "1.0", "id", "source", "type", "data", "{", "}", ":", ",", '"'])
).map(lambda pieces: "".join(pieces).encode())
_BODIES = st.one_of(st.binary(max_size=80), _PIECES, st.dictionaries(_WORDS, _JSON).map(text))
_HEADERS = st.dictionaries(
    st.sampled_from(
        ["ce-specversion", "ce-id", "ce-source", "ce-type", "ce-time", "ce-", "ce-A_b"]
    ),
    st.sampled_from(["1.0", "x", "", '"', "%", "%ff", "\u00ff", "2026-01-02T03:04:05Z"]),
)


@given(st.lists(st.tuples(_BODIES, st.sampled_from([EVENT, EVENTS, JSON, "a/b"]), _HEADERS)))
@settings(max_examples=examples(20, fuzzed=500), deadline=None)
def test_any_request_gets_a_documented_answer(
    requests: list[tuple[bytes, str, dict[str, str]]],
) -> None:
    async def ask() -> None:
        async with gated() as gate:
            for body, kind, shown in requests:
                told = await gate.post(body, kind, **shown)
                assert told.status in {200, 207, 400, 413, 415, 422}, told
            assert gate.broker.failure is None

    asyncio.run(ask())
