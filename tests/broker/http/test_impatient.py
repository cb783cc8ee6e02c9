"""The gateway's patience: a connection without a request is dropped, an answered one is not."""

from __future__ import annotations

import contextlib
import logging

import pytest

from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.http.helpers import JSON, gated

__all__ = ("nothing_is_left",)


async def test_who_sends_no_head_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.http.impatient.HTTP_HEAD_S", 0.02)
    async with gated() as gate:
        for begun in (b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET"):
            web = await gate.connect()
            web.writer.write(begun)
            if begun.endswith(b"GET"):
                assert (await web.answer()).status == 200
            with pytest.raises((ConnectionError, AssertionError)):
                assert await soon(web.reader.read())  # reset, or ended
            await web.close()


async def test_who_is_answered_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.http.impatient.HTTP_HEAD_S", 0.01)
    monkeypatch.setattr("sapwood.broker.http.streaming.GATEWAY_HEARTBEAT_S", 0.01)
    async with gated() as gate, gate.stream("filter=a%3E0") as web:
        for _ in range(9):  # signs of life, each later than a look
            await web.chunk()
        assert (await gate.post(b'{"a": 1}', JSON)).status == 200
        assert (await web.delivery())["attributes"] == {"a": 1}


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n",
        b"PUT // HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"POST /publish HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n\xc4\n",
    ],
)
async def test_a_request_that_goes_wrong_is_refused_once(
    begun: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Found by `make fuzz-bytes`: its own answer followed, and failed in the server."""
    async with gated() as gate:
        web = await gate.connect()
        web.writer.write(begun)
        assert (await web.answer()).status == 400
        await soon(web.reader.read())
        await web.close()
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


async def test_a_stream_whose_client_sends_no_http_ends(caplog: pytest.LogCaptureFixture) -> None:
    chunked = {"Transfer_Encoding": "chunked"}
    async with gated() as gate, gate.stream("filter=a%3E0", **chunked) as web:
        web.writer.write(b"no size of a chunk\r\n")
        with contextlib.suppress(ConnectionError):
            await soon(web.reader.read())
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]
