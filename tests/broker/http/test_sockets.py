"""Publishing and subscribing over a WebSocket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapwood
from tests.broker.access.test_doorkeeper import ANN, FEED, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import LARGE, soon
from tests.broker.http.helpers import JSON, gated
from tests.broker.http.web_socket import BINARY, connected, opened
from tests.examples import examples

__all__ = ("nothing_is_left",)


def subscribed(id_: str) -> dict[str, Any]:
    return {"type": "confirmed", "of": "subscribe", "id": id_}


def published(id_: str, ref: object) -> dict[str, Any]:
    return {"type": "confirmed", "of": "publish", "id": id_, "ref": ref}


async def test_a_socket_subscribes_publishes_and_unsubscribes() -> None:
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="s", filter="a > 1")
        assert await client.hear() == subscribed("s")
        client.say(type="publish", id="p", ref=7, attributes={"a": 2, "of": {"b": 1}})
        told = await client.hear_all(2)
        assert published("p", 7) in told
        publication = {"id": "p", "attributes": {"a": 2, "of": {"b": 1}}}
        delivery = {"type": "delivery", "subscriptions": ["s"], "publication": publication}
        assert delivery in told
        client.say(type="unsubscribe", id="s")
        assert await client.hear() == {"type": "confirmed", "of": "unsubscribe", "id": "s"}
        client.say(type="publish", id="q", ref="x", attributes={"a": 2})
        assert await client.hear() == published("q", "x")


async def test_documents_and_payloads_travel_both_ways() -> None:
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="d", xpath="//x:b", namespaces={"x": "urn:a"})
        assert await client.hear() == subscribed("d")
        document = "<a xmlns='urn:a'><b>é</b></a>"
        client.say(type="publish", id="p", ref=1, document=document, payload="AAE=")
        told = await client.hear_all(2)
        assert published("p", 1) in told
        found = next(one for one in told if one["type"] == "delivery")["publication"]
        assert found == {"id": "p", "document": document, "payload": "AAE="}


async def test_publications_are_confirmed_in_order_and_refused_by_reference() -> None:
    async with gated() as gate, connected(gate) as client:
        for number in range(300):
            document = "<a>" if number == 200 else "<a/>"
            client.say(type="publish", id=f"p{number}", ref=number, document=document)
        told = await client.hear_all(300)
        assert [one["ref"] for one in told] == list(range(300))
        assert [one["ref"] for one in told if one["type"] == "refused"] == [200]
        client.say(type="publish", ref=1, document="<a/>")
        assert (await client.hear())["id"].startswith("http/")
        assert gate.broker.counters.publications == 300


async def test_a_subscription_goes_on_behind_its_mark(tmp_path: Path) -> None:
    async with gated(data=tmp_path) as gate:
        async with connected(gate) as client:
            client.say(type="subscribe", id="s", filter="a > 1")
            assert await client.hear() == subscribed("s")
            for number in (2, 3):
                assert (await gate.post(b'{"a": %d}' % number, JSON)).status == 200
            first, _ = await client.hear_all(2)
            assert first["publication"]["attributes"] == {"a": 2}
        assert (await gate.post(b'{"a": 4}', JSON)).status == 200
        async with connected(gate) as client:
            client.say(type="subscribe", id="s", filter="a > 1", mark=first["mark"])
            told = await client.hear_all(3)
            assert [one["publication"]["attributes"]["a"] for one in told[1:]] == [3, 4]
            client.say(type="subscribe", id="t", filter="a > 3", since="all")
            told = await client.hear_all(2)
            assert told[1]["subscriptions"] == ["t"]


async def test_a_durable_subscription_gives_again_what_was_not_acknowledged(
    tmp_path: Path,
) -> None:
    async with gated(data=tmp_path) as gate:
        async with connected(gate) as client:
            client.say(type="subscribe", id="s", filter="a > 1", durable="orders", window=5)
            assert await client.hear() == subscribed("s")
            for number in range(2, 10):
                assert (await gate.post(b'{"a": %d}' % number, JSON)).status == 200
            told = await client.hear_all(5)
            assert [one["number"] for one in told] == [1, 2, 3, 4, 5]
            client.say(type="acknowledge", id="s", numbers=[1, 3])
            assert [one["number"] for one in await client.hear_all(2)] == [6, 7]
            client.say(type="acknowledge", id="s", numbers=[99])
            told = await client.hear_all(1)
            assert (told[0]["type"], told[0]["of"]) == ("refused", "acknowledge")
        async with connected(gate) as client:
            client.say(type="subscribe", id="t", durable="orders")
            told = (await client.hear_all(7))[1:]
            assert [one["publication"]["attributes"]["a"] for one in told] == [3, 5, 6, 7, 8, 9]
            assert {one["attempt"] for one in told[:4]} == {2}


async def test_what_is_published_may_have_an_end_and_a_span() -> None:
    span = {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "a=1"}
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="s", filter="exists a")
        assert await client.hear() == subscribed("s")
        client.say(type="publish", id="p", attributes={"a": 1}, ttl=60, **span)
        told = next(one for one in await client.hear_all(2) if one["type"] == "delivery")
        assert told["publication"] == {"id": "p", "attributes": {"a": 1}, "ttl": 60.0, **span}


async def test_last_values_come_first_and_behind_a_mark_the_last_ones_since(
    tmp_path: Path,
) -> None:
    wanted = {"type": "subscribe", "filter": "a > 0", "replay": "last", "by": "k"}
    async with gated(data=tmp_path) as gate, connected(gate) as client:
        for number, key in enumerate("xyx", 1):
            client.say(type="publish", attributes={"a": number, "k": key})
        await client.hear_all(3)
        client.say(id="s", **wanted)
        told = (await client.hear_all(3))[1:]
        assert [one["publication"]["attributes"]["a"] for one in told] == [2, 3]
        client.say(id="t", **wanted | {"by": ["k", "a"], "mark": told[0]["mark"]})
        told = (await client.hear_all(2))[1:]
        assert [one["publication"]["attributes"]["a"] for one in told] == [3]
        client.say(id="d", **wanted, durable="d")
        told_so = await client.hear()
        assert (told_so["of"], "durable name" in told_so["reason"]) == ("subscribe", True)


REFUSED: tuple[tuple[Any, str, str], ...] = (
    ({"type": "subscribe", "id": "s"}, "subscribe", "give a filter"),
    ({"type": "subscribe", "id": "s", "filter": "a >"}, "subscribe", "position 4"),
    ({"type": "subscribe", "id": "s", "filter": "a > 1", "since": "all"}, "subscribe", "journal"),
    ({"type": "subscribe", "id": "s", "filter": "a > 1", "durable": "d"}, "subscribe", "--data"),
    ({"type": "subscribe", "id": "s", "durable": "d d"}, "subscribe", "no name"),
    ({"type": "subscribe", "id": "s", "durable": "d", "mark": "hub/1"}, "subscribe", "mark out"),
    ({"type": "subscribe", "id": "there", "filter": "a > 1"}, "subscribe", "another id"),
    (
        {"type": "subscribe", "id": "s", "xpath": "//a", "dialect": "jms"},
        "subscribe",
        "of a filter",
    ),
    ({"type": "subscribe", "id": "s", "filter": {"a": [1]}}, "subscribe", "needs a dialect"),
    (
        {"type": "subscribe", "id": "s", "filter": {"a": 1}, "dialect": "sns"},
        "subscribe",
        "stand in an array",
    ),
    ({"type": "subscribe", "id": "", "filter": "a > 1"}, "message", "length"),
    ({"type": "subscribe", "id": "s", "filer": "a > 1"}, "message", "filer"),
    ({"type": "unsubscribe", "id": "s"}, "unsubscribe", "no subscription"),
    ({"type": "acknowledge", "id": "there", "numbers": [1]}, "acknowledge", "no consumer"),
    ({"type": "subscribe", "id": "s", "filter": "a", "replay": "all"}, "subscribe", "'last'"),
    ({"type": "subscribe", "id": "s", "filter": "a", "by": ["a"]}, "subscribe", "'last'"),
    (
        {"type": "subscribe", "id": "s", "filter": "a", "by": "a", "replay": "last"},
        "subscribe",
        "leave replay out",
    ),
    ({"type": "publish", "attributes": {}, "ttl": 0}, "publish", "TTL_MS_MAX"),
    ({"type": "publish", "attributes": {}, "ttl": "1"}, "message", "ttl"),
    ({"type": "publish", "attributes": {}, "traceparent": "x"}, "publish", "00-TRACE-SPAN-FLAGS"),
    ({"type": "publish", "attributes": {}, "tracestate": "x"}, "publish", "traceparent"),
    ({"type": "publish"}, "publish", "record or a document"),
    ({"type": "publish", "attributes": [1]}, "publish", "an array"),
    ({"type": "publish", "attributes": {"a": 2**70}}, "publish", "64 bits"),
    ({"type": "publish", "attributes": {"a": "x" * 100_000, "b": 2**70}}, "publish", "64 bits"),
    ({"type": "publish", "document": "\ud800"}, "message", ""),
    ({"type": "connect"}, "message", "already"),
    ({"type": "what"}, "message", "what"),
    ([], "message", "understood"),
)


async def test_what_is_refused_says_why_and_the_socket_goes_on() -> None:
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="there", filter="a > 1")
        assert await client.hear() == subscribed("there")
        for message, of, words in REFUSED:
            client.frame(json.dumps(message).encode())
            told = await client.hear()
            assert (told["type"], told["of"]) == ("refused", of), told
            assert words in told["reason"]
            assert 400 <= told["status"] < 500
        client.frame(b"\0", BINARY)
        assert "binary" in (await client.hear())["reason"]
        client.frame(b'{"type": "publish", "attributes": {"a": 1, "a": 2}}')
        assert "twice" in (await client.hear())["reason"]
        client.say(type="publish", id="p", attributes={"a": 2, "text": "x" * 100_000})
        assert {one["type"] for one in await client.hear_all(2)} == {"confirmed", "delivery"}


async def test_filters_may_be_in_another_language() -> None:
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="j", filter="a BETWEEN 1 AND 2", dialect="jms")
        client.say(type="subscribe", id="s", filter={"b": [{"prefix": "x"}]}, dialect="sns")
        client.say(type="subscribe", id="e", filter='{"b": ["xy"]}', dialect="eventbridge")
        assert await client.hear_all(3) == [subscribed("j"), subscribed("s"), subscribed("e")]
        client.say(type="publish", id="p", ref=1, attributes={"a": 3, "b": "xy"})
        told = await client.hear_all(2)
        found = next(one for one in told if one["type"] == "delivery")
        assert sorted(found["subscriptions"]) == ["e", "s"]


async def test_a_filter_that_cannot_match_is_warned_of() -> None:
    async with gated() as gate, connected(gate) as client:
        client.say(type="subscribe", id="s", filter="a > 2 and a < 1")
        told = await client.hear_all(2)
        assert [one["type"] for one in told] == ["never", "confirmed"]


async def test_who_it_is_stands_in_the_first_message_or_the_header(tmp_path: Path) -> None:
    grant = '[[grant]]\nto = ["ann"]\nsubscribe = "a > 10"\npublish = "a > 0"\n'
    path = identities(tmp_path, ANN, FEED, grant)
    async with gated(identities=path) as gate:
        async with connected(gate, user="ann", password="secret") as client:
            client.say(type="subscribe", id="s", filter="a > 0")
            assert await client.hear() == subscribed("s")
            for number in (-1, 5, 12):
                client.say(type="publish", id=f"p{number}", attributes={"a": number})
            told = await client.hear_all(4)
            [refused] = [one for one in told if one["type"] == "refused"]
            assert (refused["id"], refused["status"]) == ("p-1", 403)
            delivered = [one for one in told if one["type"] == "delivery"]
            assert [one["publication"]["id"] for one in delivered] == ["p12"]
            path.write_text(FEED)
            gate.broker.reload()
            assert "has changed" in (await client.hear())["reason"]
            assert (await client.closed())[0] == 1001
        async with connected(gate, token="a token"):
            pass
        async with opened(gate, {"Authorization": "Bearer a token"}) as client:
            client.say(type="connect")
            assert (await client.hear())["type"] == "connected"
        for shown in ({}, {"token": "another"}, {"user": "ann"}, {"token": "x", "user": "y"}):
            async with opened(gate) as client:
                client.say(type="connect", **shown)
                assert (await client.hear())["type"] == "end"
                assert (await client.closed())[0] == 1008


async def test_the_first_message_is_awaited_for_a_while_only() -> None:
    async with gated(greeting_s=0.05) as gate:
        async with opened(gate) as client:
            assert "did not come in time" in (await client.hear())["reason"]
            assert (await client.closed())[0] == 1008
        async with opened(gate) as client:
            client.say(type="publish", attributes={})
            assert "first message" in (await client.hear())["reason"]


async def test_sockets_count_as_streams_and_end_with_the_broker() -> None:
    async with gated(http_streams_max=1) as gate:
        one = opened(gate)
        client = await one.__aenter__()
        client.say(type="connect")
        assert (await client.hear())["type"] == "connected"
        async with opened(gate) as other:
            other.say(type="connect")
            assert "limit of 1 streams" in (await other.hear())["reason"]
            assert (await other.closed())[0] == 1013
    assert await client.hear() == {"type": "end", "reason": "the broker is shutting down"}
    await one.__aexit__(None, None, None)


async def test_pages_of_other_origins_get_no_socket() -> None:
    async with gated(http_origins=("https://desk.example.org",)) as gate:
        async with opened(gate, {"Origin": "https://desk.example.org"}):
            pass
        for headers in ({"Origin": "https://else.example"}, {"Host": "else.example"}):
            with pytest.raises(AssertionError, match="status=403"):
                async with opened(gate, headers):
                    pass


async def test_who_does_not_read_is_disconnected_as_any_slow_client() -> None:
    async with (
        gated(outgoing_bytes_max=2**21) as gate,
        connected(gate) as client,
        sapwood.connect(str(gate.broker.address)) as publisher,
    ):
        client.say(type="subscribe", id="s", filter="a > 0")
        assert await client.hear() == subscribed("s")
        published_ = 0
        while not gate.broker.counters.slow_consumers:
            await publisher.publish({"a": 1, "text": "x" * LARGE})
            published_ += 1
            assert published_ < 5000
        while (told := await client.hear())["type"] == "delivery":
            pass
        assert (told["type"], "slow consumer" in told["reason"]) == ("end", True)


async def test_who_takes_nothing_at_all_is_dropped_by_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.broker.http.serving.HTTP_UNREAD_S", 0.1)
    async with (
        gated(outgoing_bytes_max=2**21) as gate,
        gate.stream("filter=a%3E0"),  # whose reader has a bound, and is not read from
        sapwood.connect(str(gate.broker.address)) as publisher,
    ):
        gateway = gate.broker._doors[0]._gateway  # type: ignore[attr-defined]
        while gateway._count:
            await publisher.publish({"a": 1, "text": "x" * LARGE})


_TEXTS = st.one_of(
    st.text(max_size=60).map(lambda one: one.encode(errors="replace")),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["connect", "subscribe", "unsubscribe", "publish", "acknowledge"]
            )
        },
        optional={
            "id": st.sampled_from(["s", "t", 3, "", None]),
            "filter": st.sampled_from(["a > 1", "a >", "", 1]),
            "mark": st.sampled_from(["hub/1", "/", "hub/" + "9" * 30]),
            "durable": st.sampled_from(["d", "d d", ""]),
            "numbers": st.sampled_from([[], [1], [-1], [2**70], "x"]),
            "replay": st.sampled_from(["last", "all"]),
            "by": st.sampled_from(["a", ["a"], [], [1], ["a"] * 17]),
            "ttl": st.sampled_from([1, 0.5, -1, 1e300, "1"]),
            "traceparent": st.sampled_from(["x", f"00-{'1' * 32}-{'2' * 16}-01"]),
            "tracestate": st.sampled_from(["a=1", "\n", "x" * 999]),
            "attributes": st.sampled_from([{}, {"a": 2}, [], None, {"a": {"b": [1]}}]),
            "document": st.sampled_from(["<a/>", "<", "\ud800"]),
        },
    ).map(lambda one: json.dumps(one).encode()),
)


@given(st.lists(_TEXTS, max_size=40), st.booleans())
@settings(max_examples=examples(30, fuzzed=500), deadline=None)
def test_any_messages_get_documented_answers(messages: list[bytes], is_kept: bool) -> None:
    async def talk(folder: Path | None) -> None:
        async with gated(data=folder) as gate, connected(gate) as client:
            for message in messages:
                client.frame(message)
            client.say(type="publish", ref="last", attributes={})
            while (told := await client.hear()).get("ref") != "last":
                assert told["type"] in ("confirmed", "refused", "delivery", "never"), told
            assert gate.broker.failure is None

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(talk(Path(folder) if is_kept else None))


async def test_a_socket_that_goes_leaves_nothing() -> None:
    async with gated() as gate:
        async with connected(gate) as client:
            client.say(type="subscribe", id="s", filter="a > 1")
            assert await client.hear() == subscribed("s")
        await soon(gate.broker.connections.until(lambda: not gate.broker.connections.clients))
        assert gate.broker.router.table_sizes()["local"] == 0
