"""Connecting, and connecting again."""

from __future__ import annotations

import asyncio
import socket

import msgspec
import pytest

from sapwood.client import connect
from sapwood.errors import ConnectionLostError, FrameError, HandshakeError
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.codec import greeting_frame
from sapwood.wire.frames import frame
from sapwood.wire.greetings import Welcome
from tests.broker.helpers import running, settings, soon
from tests.client.helpers import Handler, free_address, serving


def answering(data: bytes) -> Handler:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        await reader.read()

    return answer


async def test_a_broker_that_is_not_there_is_named_with_the_remedy() -> None:
    address = free_address()
    with pytest.raises(ConnectionLostError) as refused:
        await connect(str(address)).__aenter__()
    assert str(refused.value).startswith(f"cannot connect to {address}: ")
    assert f"Start one with: sapwood broker --listen {address}" in str(refused.value)


@pytest.mark.parametrize("host", ["a..b", "x" * 100])
async def test_a_host_that_does_not_exist_is_named(host: str) -> None:
    with pytest.raises(ConnectionLostError, match=f"{host}:7411: the host is not known"):
        await connect(host).__aenter__()


async def test_a_host_that_nobody_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **more: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", unknown)
    with pytest.raises(ConnectionLostError, match="somewhere:7411: the host is not known"):
        await connect("somewhere").__aenter__()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "looks like an HTTP server"),
        (b"SSH-2.0-x\r\n", "looks like SSH"),
        (frame(msgspec.msgpack.encode(["sapwood", 1, "welcome"])), "the peer speaks version 1"),
        (frame(b"\xc0"), "no greeting of Sapwood"),
    ],
)
async def test_what_is_no_broker_of_ours_is_told(data: bytes, reason: str) -> None:
    async with serving(answering(data)) as address:
        with pytest.raises(HandshakeError, match=reason):
            await soon(connect(str(address)).__aenter__())


async def test_a_broker_that_does_not_answer_is_given_up() -> None:
    async with serving(answering(b"")) as address:
        client = connect(str(address), settings=ConnectionSettings(greeting_s=0.02))
        with pytest.raises(HandshakeError, match="not completed in time"):
            await soon(client.__aenter__())


async def test_a_broker_that_breaks_the_protocol_is_not_tried_again() -> None:
    welcome = greeting_frame(Welcome(name="r", session="s", frame_bytes_max=1_048_576))
    faulty = answering(welcome + frame(b"\xc1"))
    async with serving(faulty) as address, connect(str(address)) as client:
        with pytest.raises(FrameError, match="a frame holds no message"):
            await soon(client.publish({"a": 1}))


async def test_a_client_that_may_not_reconnect_ends_with_its_connection() -> None:
    async with (
        running() as broker,
        connect(str(broker.address), "c", reconnect=False) as client,
    ):
        wanted = await client.subscribe("a = 1")
        broker.connections.clients["c"].abort()
        with pytest.raises(ConnectionLostError, match="was lost"):
            await soon(anext(wanted))
        with pytest.raises(ConnectionLostError, match="was lost"):
            await client.publish({"a": 1})
        with pytest.raises(ConnectionLostError, match="was lost"):
            await client.subscribe("a = 2")


async def test_a_client_gives_up_after_the_time_it_was_given() -> None:
    async with running() as broker, connect(str(broker.address), reconnect_s=0.05) as client:
        await broker.stop()
        with pytest.raises(ConnectionLostError, match="cannot connect"):
            await soon(client.publish({"a": 1}))


async def test_a_client_comes_back_to_a_broker_that_was_started_again() -> None:
    async with running() as first, connect(str(first.address)) as client:
        wanted = await client.subscribe("a = 1")
        await first.stop()
        publishing = asyncio.create_task(client.publish({"a": 1}, "p1"))
        async with running(settings(listen=first.address)):
            assert await soon(publishing) == "p1"
            assert (await soon(anext(wanted))).id == "p1"
            assert client.reconnections == 1


async def test_a_client_whose_name_was_taken_meanwhile_is_told() -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        broker.connections.clients["c"].abort()
        await soon(broker.connections.until(lambda: not broker.connections.clients))
        async with connect(str(broker.address), "c"):
            with pytest.raises(HandshakeError, match="a client named c is connected already"):
                await soon(client.publish({"a": 1}))


async def test_closing_does_not_wait_for_the_next_attempt() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await broker.stop()
        while client._session.connection is not None:
            await asyncio.sleep(0.001)
