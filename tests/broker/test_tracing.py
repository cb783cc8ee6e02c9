"""Spans of brokers, as a collector gets them over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from sapwood.client import connect
from sapwood.errors import InputError
from tests.broker.helpers import running, settings, soon

pytestmark = pytest.mark.network

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = f"00-{TRACE}-{SPAN}-01"


class Spans:
    """The spans that a collector has received, by broker."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Any]] = []

    def take(self, body: bytes) -> None:
        request: Any = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            about = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert about["service.name"] == "sapwood"
            for scope in resource.scope_spans:
                self.found += [(about["service.instance.id"], one) for one in scope.spans]

    def names(self, broker: str) -> list[str]:
        return sorted(one.name for name, one in self.found if name == broker)

    def one(self, broker: str, name: str) -> Any:
        (found,) = [one for where, one in self.found if (where, one.name) == (broker, name)]
        return found


@contextmanager
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Spans]]:
    """A collector's address, and what it gets."""
    spans = Spans()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            spans.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", spans
        finally:
            server.shutdown()
            thread.join()


def attributes(span: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in span.attributes:
        kind = one.value.WhichOneof("value")
        value = getattr(one.value, kind)
        found[one.key] = (
            [inner.string_value for inner in value.values] if kind == "array_value" else value
        )
    return found


async def test_each_broker_on_the_way_tells_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector(monkeypatch) as (url, spans):
        async with (
            running(settings("a", traces=url)) as a,
            running(settings("b", a.address, traces=url)) as b,
        ):
            await soon(a.until_linked("b"))
            await soon(b.until_linked("a"))
            async with (
                connect(str(a.address), "ann") as publisher,
                connect(str(b.address), "bob") as subscriber,
            ):
                wanted = await subscriber.subscribe("exists n", "mine")
                await publisher.publish({"n": 1}, "p1", traceparent=SAMPLED)
                await publisher.publish({"n": 2}, traceparent=f"00-{TRACE}-{SPAN}-00")
                await publisher.publish({"n": 3})
                await publisher.publish({"n": 4}, ttl=600)
                found = [await soon(anext(wanted)) for _ in range(4)]
                assert [one.traceparent for one in found[::2]] == [SAMPLED, None]
    assert spans.names("a") == ["accept", "forward", "match"]
    assert spans.names("b") == ["deliver", "match", "receive"]
    assert {one.trace_id.hex() for _, one in spans.found} == {TRACE}
    for broker, root, leaf in (("a", "accept", "forward"), ("b", "receive", "deliver")):
        begun = spans.one(broker, root)
        assert begun.parent_span_id.hex() == SPAN
        for below in (spans.one(broker, "match"), spans.one(broker, leaf)):
            assert below.parent_span_id == begun.span_id
            assert attributes(below)["messaging.message.id"] == "p1"
            assert begun.start_time_unix_nano <= below.start_time_unix_nano
    assert attributes(spans.one("a", "accept"))["sapwood.client"] == "ann"
    assert attributes(spans.one("a", "forward"))["sapwood.neighbor"] == "b"
    assert attributes(spans.one("a", "forward"))["sapwood.hops"] == 1
    assert attributes(spans.one("b", "receive"))["sapwood.neighbor"] == "a"
    delivered = attributes(spans.one("b", "deliver"))
    assert (delivered["sapwood.client"], delivered["sapwood.subscriptions"]) == ("bob", ["mine"])
    assert delivered["messaging.system"] == "sapwood"


async def test_what_goes_into_a_mailbox_is_a_delivery_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with collector(monkeypatch) as (url, spans):
        keeping = settings("a", traces=url, data=tmp_path, protocol="recover+covering")
        async with running(keeping) as broker, connect(str(broker.address)) as client:
            kept = await client.subscribe("exists n", durable="d")
            await client.publish({"n": 1}, traceparent=SAMPLED)
            delivery = await soon(anext(kept))
            assert delivery.traceparent == SAMPLED
    assert spans.names("a") == ["accept", "deliver", "match"]
    assert attributes(spans.one("a", "deliver"))["sapwood.mailbox"] == "durable d"


async def test_a_collector_that_is_not_there_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with collector(monkeypatch) as (url, _):
        pass
    async with running(settings("a", traces=url)) as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("exists n")
        await client.publish({"n": 1}, traceparent=SAMPLED)
        assert (await soon(anext(wanted))).attributes == {"n": 1}


@pytest.mark.parametrize("url", ["collector:4318", "grpc://x", "http://", "http://a b"])
def test_what_is_no_collector_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="--traces"):
        settings(traces=url)


@pytest.mark.parametrize("traceparent", ["", "00-1-2-01", SAMPLED.upper(), SAMPLED + "-x"])
async def test_what_is_no_traceparent_is_not_published(traceparent: str) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InputError, match="traceparent"):
            await client.publish({"n": 1}, traceparent=traceparent)
