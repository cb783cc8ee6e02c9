"""Subscribing by Server-Sent Events: what comes, where it goes on, and who is too slow."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

import sapwood
from sapwood.broker.http import streaming
from sapwood.broker.unread import Unread
from sapwood.model.publication import Publication
from tests.broker.access.test_doorkeeper import ANN, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import LARGE, running, settings, soon
from tests.broker.http.helpers import JSON, Gate, Web, gated

__all__ = ("nothing_is_left",)


async def put(gate: Gate, *prices: int) -> None:
    for price in prices:
        told = await gate.post(b'{"price": %d}' % price, JSON, f"?id=p{price}")
        assert told.status == 200


async def prices(web: Web, count: int) -> list[int]:
    return [(await web.delivery())["attributes"]["price"] for _ in range(count)]


async def test_a_stream_brings_what_its_filter_accepts() -> None:
    async with gated() as gate, gate.stream("filter=price%20%3E%2010") as web:
        await put(gate, 12, 9, 14)
        assert await web.delivery() == {"id": "p12", "attributes": {"price": 12}}
        assert await prices(web, 1) == [14]


async def test_a_filter_may_be_in_another_language() -> None:
    query = "filter=NOT%20price%20BETWEEN%2010%20AND%2012&dialect="
    async with gated() as gate:
        async with gate.stream(f"{query}jms") as web:
            await put(gate, 9, 11, 13)
            assert await prices(web, 2) == [9, 13]
        for asked, reason in (
            (f"{query}sql", "no dialect is called 'sql'"),
            ("xpath=//a&dialect=jms", "a dialect is that of a filter"),
            ("filter=a%20%3D%20b&dialect=jms", "constants only"),
        ):
            refused = await gate.ask("GET", f"/subscribe?{asked}")
            assert (refused.status, reason in refused.json["detail"]) == (400, True)


async def test_a_stream_brings_documents_and_payloads() -> None:
    async with (
        gated() as gate,
        gate.stream("xpath=//x:item&namespace=x=urn:a") as web,
        sapwood.connect(str(gate.broker.address)) as client,
    ):
        document = '<?xml version="1.0" encoding="iso-8859-1"?><item xmlns="urn:a">ü</item>'
        await client.publish(Publication("d", {"a": [1]}, document.encode("latin-1"), b"\0\1"))
        told = await web.delivery()
        assert told["document"].endswith('<item xmlns="urn:a">ü</item>')
        assert (told["attributes"], told["payload"]) == ({"a": [1]}, "AAE=")


async def test_a_stream_goes_on_behind_its_last_event(tmp_path: Path) -> None:
    async with gated(data=tmp_path) as gate:
        async with gate.stream("filter=price%20%3E%2010") as web:
            await put(gate, 11, 12)
            first, second = await web.delivery(), await web.delivery()
            assert (first["id"], second["id"]) == ("p11", "p12")
        await put(gate, 13, 3, 14)
        async with gate.stream("filter=price%20%3E%2010", Last_Event_ID=first["mark"]) as web:
            await put(gate, 15)
            assert await prices(web, 4) == [12, 13, 14, 15]
        query = f"filter=price%20%3E%2010&since=all&last_event_id={second['mark']}"
        async with gate.stream(query) as web:
            assert await prices(web, 3) == [13, 14, 15]
        for since in ("all", "p3", "2026-01-01T00:00:00Z"):
            async with gate.stream(f"filter=price%20%3E%2010&since={since}") as web:
                assert await prices(web, 1) == [14 if since == "p3" else 11]
    async with gated(data=tmp_path) as gate:  # the same broker, later
        async with gate.stream("filter=price%20%3E%2010", Last_Event_ID=second["mark"]) as web:
            assert await prices(web, 3) == [13, 14, 15]
        refused = await gate.ask("GET", "/subscribe?filter=a%3E1&last_event_id=rim/1")
        assert (refused.status, "journal of broker hub" in refused.json["detail"]) == (422, True)


async def test_the_last_value_of_each_key_comes_first(tmp_path: Path) -> None:
    async def sell(gate: Gate, *sales: tuple[str, int]) -> None:
        for symbol, price in sales:
            body = json.dumps({"symbol": symbol, "price": price}).encode()
            assert (await gate.post(body, JSON)).status == 200

    query = "filter=price%20%3E%2010&replay=last&by=symbol"
    async with gated(data=tmp_path) as gate:
        await sell(gate, ("SAP", 11), ("IBM", 12), ("SAP", 13), ("SAP", 3))
        async with gate.stream(query) as web:
            assert await prices(web, 2) == [12, 13]
            await sell(gate, ("SAP", 14))
            last = await web.delivery()
            assert last["attributes"]["price"] == 14
        await sell(gate, ("SAP", 15), ("IBM", 16), ("SAP", 17))
        async with gate.stream(query, Last_Event_ID=last["mark"]) as web:
            assert await prices(web, 2) == [16, 17], "of what came meanwhile, the last ones"
        async with gate.stream(f"{query}&by=price") as web:  # a key of two attributes
            assert await prices(web, 7) == [11, 12, 13, 14, 15, 16, 17]


async def test_spans_and_times_to_live_come_with_deliveries(tmp_path: Path) -> None:
    span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for data in (None, tmp_path):
        async with gated(data=data) as gate, gate.stream("filter=a%3D1") as web:
            told = {"traceparent": span, "tracestate": "a=1"}
            assert (await gate.post(b'{"a": 1}', JSON, "?ttl=60&id=p", **told)).status == 200
            found = await web.delivery()
            assert found.pop("mark", "hub/0") == "hub/0"
            assert found == {"id": "p", "attributes": {"a": 1}, "ttl": 60.0, **told}


async def test_more_than_a_window_comes_as_it_is_taken(tmp_path: Path) -> None:
    async with gated(data=tmp_path) as gate:
        body = b"".join(b'{"n": %d}\n' % number for number in range(3000))
        assert (await gate.post(body, "application/x-ndjson")).json["accepted"] == 3000
        async with gate.stream("filter=n%20%3E%3D%200&since=all") as web:
            found = [(await web.delivery())["attributes"]["n"] for _ in range(3000)]
        assert found == list(range(3000))


async def test_streams_get_what_is_published_at_other_brokers(tmp_path: Path) -> None:
    async with (
        gated(data=tmp_path) as gate,
        running(settings("rim", gate.broker.address)) as rim,
        sapwood.connect(str(rim.address)) as client,
    ):
        await soon(gate.broker.until_linked("rim"))
        async with gate.stream("filter=price%20%3E%2010") as web:
            await client.publish({"price": 11})
            first = await web.delivery()
        async with gate.stream("filter=price%20%3E%200", Last_Event_ID=first["mark"]) as web:
            await client.publish({"price": 12})
            assert await prices(web, 1) == [12]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 400, "give a filter"),
        ("filter=a%3E1&xpath=//a", 400, "give a filter"),
        ("filter=a%3E1&namespace=a=b", 400, "no namespaces"),
        ("xpath=//a&namespace=a", 400, "prefix=namespace"),
        ("filer=a%3E1", 400, "'filer' is unknown"),
        ("filter=a%3E1&filter=a%3E1", 400, "there twice"),
        ("filter=a%3E", 422, "position 3"),
        ("xpath=//a[", 422, ""),
        ("filter=a%3E1&since=all", 422, "no journal"),
        ("filter=a%3E1&replay=last&by=a", 422, "leave replay out"),
        ("filter=a%3E1&replay=first&by=a", 400, "'last'"),
        ("filter=a%3E1&replay=last", 400, "attribute that is the key"),
        ("filter=a%3E1&by=a", 400, "'last'"),
        ("filter=a%3E1&replay=last&by=", 400, "'by' is unknown"),
        ("filter=a%3E1&last_event_id=hub/1", 422, "no journal"),
    ],
)
async def test_what_cannot_be_subscribed_to_says_why(query: str, status: int, words: str) -> None:
    async with gated() as gate:
        told = await gate.ask("GET", f"/subscribe?{query}")
        assert (told.status, words in told.json["detail"]) == (status, True), told
        assert not gate.broker.connections.clients or status == 422


async def test_a_filter_that_cannot_match_is_warned_of() -> None:
    async with gated() as gate, gate.stream("filter=a%20%3E%202%20and%20a%20%3C%201") as web:
        event = await web.event()
        assert (event["event"], "reason" in json.loads(event["data"])) == ("never", True)


async def test_a_subscription_ends_with_its_stream() -> None:
    async with gated() as gate:
        async with gate.stream("filter=a%20%3E%201"):
            assert gate.broker.router.table_sizes()["local"] == 1
        await soon(gate.broker.connections.until(lambda: not gate.broker.connections.clients))
        assert gate.broker.router.table_sizes()["local"] == 0


async def test_there_are_so_many_streams_and_no_more() -> None:
    async with gated(http_streams_max=1) as gate:
        async with gate.stream("filter=a%20%3E%201"):
            told = await gate.ask("GET", "/subscribe?filter=a%3E1")
            assert (told.status, "limit of 1 streams" in told.json["detail"]) == (503, True)
            assert told.headers["retry-after"] == "5"
            assert (await gate.ask("GET", "/healthz")).status == 200
        await soon(gate.broker.connections.until(lambda: not gate.broker.connections.clients))
        async with gate.stream("filter=a%20%3E%201"):
            pass


async def test_a_quiet_stream_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "GATEWAY_HEARTBEAT_S", 0.01)
    async with gated() as gate, gate.stream("filter=a%20%3E%201") as web:
        assert await web.chunk() == b": subscribed\n\n"
        assert [await web.chunk() for _ in range(2)] == [b":\n\n"] * 2


async def test_who_does_not_read_is_disconnected_as_any_slow_client_and_told() -> None:
    async with (
        gated(outgoing_bytes_max=2**21) as gate,
        gate.stream("filter=a%20%3E%200") as web,
        sapwood.connect(str(gate.broker.address)) as client,
    ):
        text = "x" * LARGE
        published = 0
        while not gate.broker.counters.slow_consumers:
            await client.publish({"a": 1, "text": text})
            published += 1
            assert published < 5000
        events = []
        while event := await web.event():
            events.append(event)
        assert len(events) < published
        assert events[-1]["event"] == "end"
        assert "slow consumer" in json.loads(events[-1]["data"])["reason"]


async def test_streams_end_with_a_reason_when_the_broker_stops() -> None:
    async with gated() as gate:
        web = await gate.connect()
        web.say("GET", "/subscribe?filter=a%3E1", {}, None)
        assert (await web.head()).status == 200
    event = await web.event()
    assert json.loads(event["data"]) == {"reason": "the broker is shutting down"}
    assert await web.event() == {}
    await web.close()


async def test_streams_are_for_identities_and_end_with_them(tmp_path: Path) -> None:
    grant = '[[grant]]\nto = ["ann"]\nsubscribe = "price > 10"\npublish = "price > 0"\n'
    path = identities(tmp_path, ANN, grant)
    ann = {"Authorization": "Basic YW5uOnNlY3JldA=="}
    async with gated(identities=path) as gate:
        told = await gate.ask("GET", "/subscribe?filter=price%3E1")
        assert told.status == 401
        assert told.headers["www-authenticate"].startswith("Basic")
        async with gate.stream("filter=price%3E1", **ann) as web:
            for price in (5, 12):
                body = b'{"price": %d}' % price
                assert (await gate.post(body, JSON, **ann)).status == 200
            assert await prices(web, 1) == [12]
            path.write_text(ANN)  # which is another grant
            gate.broker.reload()
            event = await web.event()
            assert event["event"] == "end"
            assert "has changed" in event["data"]
        told = await gate.ask("GET", "/subscribe?filter=price%3C1", {"Authorization": "Basic !"})
        assert told.status == 401


async def test_a_client_that_goes_while_it_is_asked_leaves_nothing() -> None:
    async with gated() as gate:
        web = await gate.connect()
        web.say("GET", "/subscribe?filter=a%3E1", {}, None)
        await asyncio.sleep(0)
        await web.close()
        async with gate.stream("filter=a%20%3E%201"):
            pass
        await soon(gate.broker.connections.until(lambda: not gate.broker.connections.clients))


async def test_a_stream_that_never_reads_does_not_keep_others_from_what_they_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.broker.http.gateway.Unread", partial(Unread, bytes_max=1000))
    async with (
        gated() as gate,
        gate.stream("filter=a%20%3E%3D%200"),  # whose reader has a bound, and is not read from
        gate.stream("filter=a%20%3E%3D%200") as web,
    ):
        for number in range(20):
            body = b'{"a": %d, "fill": "%s"}' % (number, b"x" * 1_000_000)
            assert (await gate.post(body, JSON)).status == 200
            assert (await web.delivery())["attributes"]["a"] == number
        assert gate.broker.counters.slow_consumers == 1
