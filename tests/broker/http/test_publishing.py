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
from tests.broker.http.helpers import JSON, NDJSON, XML, gated
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
            {"line": 2, "reason": 'the record has no "n", which is to be its id'}
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
            assert (told.status, words in told.json["error"]) == (status, True), told
        told = await gate.post(b"", JSON, **{"Content-Encoding": "gzip"})
        assert (told.status, "gzip" in told.json["error"]) == (415, True)
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
        assert (told.status, "524,288 bytes" in told.json["error"]) == (413, True)
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
        assert f"from line {GATEWAY_REFUSED_MAX + 1:d} on" in told.json["error"]


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
        assert (told.status, "may not publish that" in told.json["error"]) == (422, True)
        told = await gate.post(b'{"a": 5}\n{"a": 7}\n', NDJSON, **ann)
        assert (told.status, told.json["refused"][0]["line"]) == (207, 1)
        assert (await gate.post(b'{"a": 6}', JSON, **feed)).status == 422
        for wrong in ({}, {"Authorization": "Bearer another"}, {"Authorization": "what"}):
            told = await gate.post(b'{"a": 6}', JSON, **wrong)
            assert told.status == 401
            assert told.headers["www-authenticate"].startswith("Basic")
        assert any(name.startswith("ann/http-") for name in gate.broker.connections.clients)
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
                is_told = "error" in told.json or "refused" in told.json
                assert told.json.keys() == {"id"} if not is_told else told.json
            assert gate.broker.failure is None

    asyncio.run(ask())
