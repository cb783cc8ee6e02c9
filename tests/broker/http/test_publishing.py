"""Publishing by HTTP: what is accepted, what is refused, and what both are told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sapwood
from sapwood.limits.gateway import GATEWAY_REFUSED_MAX
from tests.broker.access.test_doorkeeper import ANN, FEED, identities
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.http.helpers import JSON, NDJSON, PROBLEM, XML, gated
from tests.broker.http.web_socket import connected
from tests.broker.test_expiry import HOUR_NS, Shifted
from tests.examples import examples

__all__ = ("nothing_is_left",)


async def test_a_record_and_a_document_arrive_under_their_ids() -> None:
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        records = await client.subscribe("price > 10")
        documents = await client.subscribe(sapwood.parse_xpath("//item"))
        told = await gate.post(b'{"price": 12, "of": {"desk": 3}}', JSON, "?id=p1")
        assert (told.status, told.json) == (200, {"id": "p1"})
        told = await gate.post(b"<order><item/></order>", f"{XML}; charset=utf-8")
        record, document = await soon(anext(records)), await soon(anext(documents))
        assert (record.id, record.attributes) == ("p1", {"price": 12, "of": {"desk": 3}})
        assert (document.id, document.document) == (told.json["id"], b"<order><item/></order>")


async def test_lines_come_out_in_order_and_those_refused_are_told_by_number() -> None:
    body = b'{"a": 1}\n\n{"a": }\r\n{"a": 2}\r\n[3]\n{"a": 1, "a": 2}\n{"a": 4}'
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        subscription = await client.subscribe("a > 0")
        told = await gate.post(body, NDJSON)
        assert (told.status, told.json["accepted"]) == (207, 3)
        assert [one["line"] for one in told.json["refused"]] == [3, 5, 6]
        assert "twice" in told.json["refused"][2]["reason"]
        arrived = [(await soon(anext(subscription))).attributes["a"] for _ in range(3)]
        assert arrived == [1, 2, 4]
        told = await gate.post(b'{"a": 5}\n', NDJSON)
        assert (told.status, told.json) == (200, {"accepted": 1, "refused": []})
        told = await gate.post(b"what\n", NDJSON)
        assert (told.status, told.json["accepted"]) == (422, 0)


async def test_lines_may_have_ids_and_be_publications() -> None:
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        records = await client.subscribe("a > 0")
        documents = await client.subscribe(sapwood.parse_xpath("//b"))
        told = await gate.post(b'{"a": 1, "n": 7}\n{"a": 2}\n', NDJSON, "?id_member=n")
        assert told.json["refused"] == [
            {"line": 2, "reason": 'the record has no "n", which is to be its id', "status": 400}
        ]
        one = await soon(anext(records))
        assert (one.id, one.attributes) == ("7", {"a": 1})
        line = {"id": "p", "attributes": {"a": 3}, "document": "<b/>", "payload": "AAE="}
        body = json.dumps(line).encode() + b'\n{"id": "q", "document": "<b>"}\n'
        told = await gate.post(body, NDJSON, "?lines=publication")
        assert told.json["accepted"] == 1
        assert told.json["refused"][0]["reason"].startswith("document, line 1")
        for one in (await soon(anext(records)), await soon(anext(documents))):
            assert (one.id, one.document, one.payload) == ("p", b"<b/>", b"\0\1")


async def test_what_is_not_read_says_why() -> None:
    cases = (
        (b"{", JSON, "", 400, "not JSON"),
        (b"[1]", JSON, "", 400, "one JSON object, not an array"),
        (b'{"a": 18446744073709551616}', JSON, "", 400, "64 bits"),
        (b'{"a": 1}', f"{JSON}; charset=latin1", "", 415, "UTF-8"),
        (b'{"a": 1}', "text/plain", "", 415, "application/json"),
        (b"<a>", XML, "", 422, "document, line 1"),
        (b'{"a": 1}', JSON, "?ids=p", 400, "'ids' is unknown"),
        (b'{"a": 1}', JSON, "?id_member=p", 400, "application/x-ndjson"),
        (b'{"a": 1}', JSON, "?id=" + "x" * 600, 413 - 13, "ID_CHARS_MAX"),
        (b'{"a": 1}', NDJSON, "?id=p", 400, "id_member"),
        (b'{"a": 1}', NDJSON, "?lines=what", 400, "lines is record"),
        (b'{"a": 1}', NDJSON, "?lines=publication&id_member=a", 400, "lines is record"),
    )
    async with gated() as gate:
        for body, kind, query, status, words in cases:
            told = await gate.post(body, kind, query)
            assert (told.status, words in told.json["detail"]) == (status, True), told
        told = await gate.post(b"", JSON, **{"Content-Encoding": "gzip"})
        assert (told.status, "gzip" in told.json["detail"]) == (415, True)
        assert (await gate.ask("GET", "/publish")).status == 405
        assert gate.broker.counters.publications == 0


async def test_what_is_long_is_read_beside_the_loop_and_what_is_too_long_refused() -> None:
    async with gated(frame_bytes_max=2**19) as gate:
        text = "x" * 200_000
        told = await gate.post(json.dumps({"a": text}).encode(), JSON)
        assert told.status == 200
        told = await gate.post(b'{"a": ' + b" " * 100_000 + b"}", JSON)
        assert told.status == 400
        told = await gate.post(json.dumps({"a": text * 4}).encode(), JSON)
        assert (told.status, "524,288 bytes" in told.json["detail"]) == (413, True)
        web = await gate.connect()  # one that does not say how long it is
        headers = {"Content-Type": JSON, "Transfer-Encoding": "chunked"}
        web.say("POST", "/publish", headers, None)
        for _ in range(3):
            web.writer.write(b"40000\r\n" + b" " * 0x40000 + b"\r\n")
        assert (await web.answer()).status == 413
        await web.close()
        lines = json.dumps({"a": text * 4}).encode() + b"\n" + b" " * 2**23 + b'\n{"a": 1}\n'
        told = await gate.post(lines, NDJSON)
        assert told.json["accepted"] == 1
        reasons = [one["reason"] for one in told.json["refused"]]
        assert ["FRAME_BYTES_MAX" in reasons[0], "LINE_BYTES_MAX" in reasons[1]] == [True, True]


async def test_a_request_with_too_many_refused_lines_is_not_read_on() -> None:
    async with gated() as gate:
        body = b"x\n" * (GATEWAY_REFUSED_MAX + 1) + b'{"a": 1}\n'
        told = await gate.post(body, NDJSON)
        assert (told.status, len(told.json["refused"])) == (422, GATEWAY_REFUSED_MAX)
        assert f"from line {GATEWAY_REFUSED_MAX + 1:d} on" in told.json["detail"]


async def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.http.bodies.GATEWAY_BODY_IDLE_S", 0.01)
    async with gated() as gate:
        web = await gate.connect()
        web.say("POST", "/publish", {"Content-Type": JSON, "Content-Length": "9"}, None)
        assert (await web.answer()).status == 408
        await web.close()
        web = await gate.connect()  # what has come is published, and told of
        web.say("POST", "/publish", {"Content-Type": NDJSON, "Content-Length": "99"}, None)
        web.writer.write(b'{"a": 1}\nx\n{"a"')
        told = await web.answer()
        assert (told.status, told.json["accepted"]) == (408, 1)
        assert [one["line"] for one in told.json["refused"]] == [2]
        await web.close()


GRANT = '[[grant]]\nto = ["ann"]\nsubscribe = "a > 0"\npublish = "a > 5"\n'
QUOTA = '[[quota]]\nto = ["ann"]\npublications_per_s = 1\n'


async def test_identities_grants_and_quotas_are_those_of_clients(tmp_path: Path) -> None:
    path = identities(tmp_path, ANN, FEED, GRANT)
    async with gated(identities=path) as gate:
        ann = {"Authorization": "Basic YW5uOnNlY3JldA=="}  # ann:secret
        feed = {"Authorization": "Bearer a token"}
        assert (await gate.post(b'{"a": 6}', JSON, **ann)).status == 200
        told = await gate.post(b'{"a": 5}', JSON, **ann)
        assert (told.status, "may not publish that" in told.json["detail"]) == (403, True)
        assert told.headers["content-type"] == PROBLEM
        assert (told.json["title"], told.json["status"]) == ("Forbidden", 403)
        told = await gate.post(b'{"a": 5}\n{"a": 7}\n', NDJSON, **ann)
        assert (told.status, told.json["refused"][0]["line"]) == (207, 1)
        assert told.json["refused"][0]["status"] == 403
        assert (await gate.post(b'{"a": 6}', JSON, **feed)).status == 403
        told = await gate.post(b'{"a": 6}\n{"a": 7}', NDJSON, **feed)
        assert (told.status, told.headers["content-type"]) == (403, PROBLEM)
        assert (told.json["accepted"], len(told.json["refused"])) == (0, 2)
        told = await gate.post(b'{"a": 6}\n{', NDJSON, **feed)
        assert (told.status, [one["status"] for one in told.json["refused"]]) == (422, [403, 400])
        told = await gate.ask("GET", "/subscribe?filter=a%3C0", ann)
        assert (told.status, "accepts nothing of what" in told.json["detail"]) == (403, True)
        for wrong in ({}, {"Authorization": "Bearer another"}, {"Authorization": "what"}):
            told = await gate.post(b'{"a": 6}', JSON, **wrong)
            assert told.status == 401
            assert told.headers["www-authenticate"].startswith("Basic")
        assert any(name.startswith("ann/http/") for name in gate.broker.connections.clients)
        # Who is in the file no more is no longer known, although a session of it was open.
        path.write_text(FEED)
        gate.broker.reload()
        assert (await gate.post(b'{"a": 6}', JSON, **ann)).status in (401, 503)
        assert (await gate.post(b'{"a": 6}', JSON, **ann)).status == 401
        path.write_text(ANN + QUOTA)
        gate.broker.reload()
        told = await gate.post(b'{"a": 6}\n' * 3, NDJSON, **ann)
        assert (told.status, told.json["accepted"]) == (207, 1)
        assert "publications_per_s" in told.json["refused"][0]["reason"]
        assert told.json["refused"][0]["status"] == 429
        assert told.headers["retry-after"] == "1"


async def test_what_is_beyond_a_quota_says_when_to_come_again(tmp_path: Path) -> None:
    slow = '[[quota]]\nto = ["ann"]\npublications_per_s = 0.01\nsubscriptions = 0\n'
    async with gated(identities=identities(tmp_path, ANN, slow)) as gate:
        ann = {"Authorization": "Basic YW5uOnNlY3JldA=="}
        assert (await gate.post(b'{"a": 6}', JSON, **ann)).status == 200
        told = await gate.post(b'{"a": 6}', JSON, **ann)
        assert (told.status, told.headers["content-type"]) == (429, PROBLEM)
        assert 90 < int(told.headers["retry-after"]) <= 100
        assert "the quota publications_per_s" in told.json["detail"]
        told = await gate.post(b'{"a": 6}\n{"a": 7}', NDJSON, **ann)
        assert (told.status, told.json["accepted"]) == (429, 0)
        assert int(told.headers["retry-after"]) > 90
        told = await gate.ask("GET", "/subscribe?filter=a%3E0", ann)
        assert (told.status, "retry-after" in told.headers) == (429, False), "no time helps"
        assert "the quota subscriptions" in told.json["detail"]
        async with connected(gate, user="ann", password="secret") as client:
            client.say(type="subscribe", id="s", filter="a > 0")
            told_so = await client.hear()
            assert (told_so["status"], "retry_after" in told_so) == (429, False)
            client.say(type="publish", attributes={"a": 6})
            told_so = await client.hear()
            assert (told_so["status"], 90 < told_so["retry_after"] <= 100) == (429, True)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_time_to_live_and_a_span_travel_with_what_is_published() -> None:
    async with gated() as gate, sapwood.connect(str(gate.broker.address)) as client:
        wanted = await client.subscribe("exists a")
        documents = await client.subscribe(sapwood.parse_xpath("//b"))
        span = {"traceparent": TRACE, "tracestate": "a=1"}
        await gate.post(b'{"a": 1}', JSON, TTL="60", **span)
        await gate.post(b'{"a": 2}', JSON, "?ttl=2.5&id=p2", traceparent="what", tracestate="a=1")
        await gate.post(b"<b/>", XML, "?ttl=3600")
        line = {"id": "p4", "attributes": {"a": 4}, "ttl": 7}
        body = json.dumps(line).encode() + b'\n{"id": "p5", "attributes": {"a": 5}}'
        await gate.post(body, NDJSON, "?lines=publication&ttl=60", **span)
        await gate.post(b'{"a": 6, "n": "p6"}', NDJSON, "?id_member=n&ttl=60")
        found = [await soon(anext(wanted)) for _ in range(5)]
        assert [(one.ttl, one.traceparent, one.tracestate) for one in found] == [
            (60.0, TRACE, "a=1"),
            (2.5, None, None),
            (7.0, TRACE, "a=1"),
            (60.0, TRACE, "a=1"),
            (60.0, None, None),
        ]
        assert [one.id for one in found[1:]] == ["p2", "p4", "p5", "p6"]
        assert (await soon(anext(documents))).ttl == 3600.0
        cases: tuple[tuple[dict[str, str], str, str], ...] = (
            ({}, "?ttl=0", "TTL_MS_MAX"),
            ({}, "?ttl=-1", "number of seconds"),
            ({}, "?ttl=1e3", "number of seconds"),
            ({"TTL": "soon"}, "", "number of seconds"),
            ({"TTL": "2"}, "?ttl=3", "say it once"),
        )
        for headers, query, words in cases:
            told = await gate.post(b'{"a": 1}', JSON, query, **headers)
            assert (told.status, words in told.json["detail"]) == (400, True), told


async def test_what_has_no_time_left_is_not_delivered_by_http(tmp_path: Path) -> None:
    clock = Shifted()
    async with gated(connection=clock.settings()) as gate, gate.stream("filter=true") as web:
        await gate.post(b'{"a": 0}', JSON, "?ttl=3600")
        assert (await web.delivery())["attributes"] == {"a": 0}
        async with sapwood.connect(str(gate.broker.address)) as client:
            await client.publish({"a": 1})  # the first stamp of this connection
            assert (await web.delivery())["attributes"] == {"a": 1}
            clock.by_ns = 2 * HOUR_NS  # what arrives seems to have been under way for as long
            await client.publish({"a": 2}, ttl=3600)
            await client.publish({"a": 3})
            assert (await web.delivery())["attributes"] == {"a": 3}
        assert gate.broker.counters.expired == 1


async def test_an_id_is_published_once_where_there_is_a_journal(tmp_path: Path) -> None:
    key = {"Idempotency-Key": '"order 17"'}
    async with gated(data=tmp_path) as gate, gate.stream("filter=true") as web:
        for _ in range(2):
            told = await gate.post(b'{"a": 1}', JSON, **key)
            assert (told.status, told.json) == (200, {"id": "order 17"})
        assert (await gate.post(b'{"a": 1}', JSON, "?id=order%2017")).status == 200
        assert (await gate.post(b'{"a": 2, "n": "order 17"}', NDJSON, "?id_member=n")).status == 200
        async with connected(gate) as client:  # another session, and the same publisher
            client.say(type="publish", id="order 17", attributes={"a": 3})
            assert (await client.hear())["type"] == "confirmed"
        assert (await gate.post(b'{"a": 4}', JSON)).status == 200
        found = [await web.delivery() for _ in range(2)]
        assert [one["attributes"]["a"] for one in found] == [1, 4]
        assert found[0]["id"] == "order 17"
    async with gated(data=tmp_path) as gate, gate.stream("filter=true&since=all") as web:
        assert (await gate.post(b'{"a": 5}', JSON, **key)).status == 200  # started again
        assert (await gate.post(b'{"a": 6}', JSON, **{"Idempotency-Key": "bare"})).status == 200
        assert [(await web.delivery())["attributes"]["a"] for _ in range(3)] == [1, 4, 6]
        cases = (
            (JSON, "?id=p", key, 400, "is the publication's id"),
            (JSON, "", {"Idempotency-Key": '""'}, 400, "'empty'"),
            (NDJSON, "", key, 400, "for one publication"),
        )
        for kind, query, headers, status, words in cases:
            told = await gate.post(b'{"a": 7}', kind, query, **headers)
            assert (told.status, words in told.json["detail"]) == (status, True), told
    async with gated() as gate:
        told = await gate.post(b'{"a": 1}', JSON, **key)
        assert (told.status, "keeps no journal" in told.json["detail"]) == (422, True)


async def test_requests_of_one_identity_share_a_session_that_ends_when_it_is_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with gated() as gate:
        for _ in range(3):
            assert (await gate.post(b'{"a": 1}', JSON)).status == 200
        assert len(gate.broker.connections.clients) == 1
        gateway = gate.broker._doors[0]._gateway  # type: ignore[attr-defined]
        monkeypatch.setattr("sapwood.broker.http.publishers.GATEWAY_PUBLISHER_IDLE_S", 0.0)
        gateway._publishers._let_go()
        await soon(gate.broker.connections.until(lambda: not gate.broker.connections.clients))
        assert (await gate.post(b'{"a": 1}', JSON)).status == 200


async def test_only_so_many_publish_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.http.publishers.GATEWAY_PUBLISHERS_MAX", 1)
    async with gated() as gate:
        web = await gate.connect()
        web.say("POST", "/publish", {"Content-Type": JSON, "Content-Length": "8"}, None)
        await soon(gate.broker.connections.until(lambda: bool(gate.broker.connections.clients)))
        told = await gate.post(b'{"a": 1}', JSON, Authorization="Bearer x")
        assert (told.status, "retry-after" in told.headers) == (503, True)
        web.writer.write(b'{"a": 1}')
        assert (await web.answer()).status == 200
        assert (await gate.post(b'{"a": 1}', JSON, Authorization="Bearer x")).status == 200
        await web.close()


async def test_a_broker_that_stops_answers_those_who_wait() -> None:
    async with gated() as gate:
        web = await gate.connect()
        web.say("POST", "/publish", {"Content-Type": NDJSON, "Content-Length": "99"}, b"")
        web.writer.write(b'{"a": 1}\n')
        await soon(gate.broker.connections.until(lambda: bool(gate.broker.connections.clients)))
    assert await soon(web.reader.read()) is not None
    await web.close()


DOCUMENTED = {200, 207, 400, 413, 415, 422}


_BODIES = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from([b'{"a":1}', b'{"a"', b"\n", b"\\u", b'"', b"[" * 999, b"1e999", b"<a>"])
    ).map(b"".join),
)
_KINDS = st.sampled_from([JSON, NDJSON, XML, "text/xml;a=b;charset=utf-16", "a/b+xml", "", ";"])
_QUERIES = st.sampled_from(["", "?lines=publication", "?id_member=a", "?id=%00", "?id=%ff", "?="])


@given(st.lists(st.tuples(_BODIES, _KINDS, _QUERIES), min_size=20, max_size=30))
@settings(max_examples=examples(20, fuzzed=500), deadline=None)
def test_any_body_gets_a_documented_answer(
    requests: list[tuple[bytes, str, str]],
) -> None:
    async def ask() -> None:
        async with gated() as gate:
            for body, kind, query in requests:
                told = await gate.post(body, kind, query)
                assert told.status in DOCUMENTED, told
                is_told = "detail" in told.json or "refused" in told.json
                assert told.json.keys() == {"id"} if not is_told else told.json
            assert gate.broker.failure is None

    asyncio.run(ask())
