"""One connection of a client."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.client import wire as wire_module
from sapwood.client.wire import ClientWire
from sapwood.session.client_session import ClientEvent, ClientSession
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.codec import append_message, greeting_frame
from sapwood.wire.greetings import RefusalCode, Welcome
from sapwood.wire.messages import Goodbye, GoodbyeCode, Ping
from tests.broker.helpers import soon
from tests.client.helpers import serving

WELCOME = greeting_frame(Welcome(name="r1", session="b", frame_bytes_max=1_048_576))


def message(one: Goodbye | Ping) -> bytes:
    buffer = bytearray()
    append_message(buffer, one)
    return bytes(buffer)


async def drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(WELCOME)
    await reader.read()


async def connected(
    session: ClientSession, address: object, events: list[ClientEvent]
) -> ClientWire:
    wire = ClientWire(session, events.append, lambda: None)
    host, port = str(address).split(":")
    await asyncio.get_running_loop().create_connection(lambda: wire, host, int(port))
    return wire


async def test_a_wire_greets_and_passes_on_what_the_broker_says() -> None:
    session = ClientSession("c", "s", ConnectionSettings())
    events: list[ClientEvent] = []

    async def farewell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(WELCOME + message(Goodbye(GoodbyeCode.SHUTDOWN, "bye")))
        await reader.read()

    async with serving(farewell) as address:
        wire = await connected(session, address, events)
        await soon(wire.run())
    assert [type(event) for event in events] == [Welcome]
    assert session.ending is not None
    assert (session.ending.code, session.ending.reason) == (GoodbyeCode.SHUTDOWN, "bye")
    assert session.connection is None


async def test_a_wire_gives_up_a_broker_that_does_not_greet() -> None:
    session = ClientSession("c", "s", ConnectionSettings(greeting_s=0.02))

    async def silent(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent) as address:
        wire = await connected(session, address, [])
        await soon(wire.run())
    assert session.ending is not None
    assert session.ending.code is RefusalCode.LATE


async def test_a_wire_pings_as_soon_as_that_is_due() -> None:
    settings = ConnectionSettings(greeting_s=3600.0, keepalive_idle_s=0.02, keepalive_missed_max=1)
    session = ClientSession("c", "s", settings)
    async with serving(drain) as address:
        wire = await connected(session, address, [])
        await soon(wire.run())
    assert session.ending is not None
    assert session.ending.code is GoodbyeCode.SILENT


async def test_a_wire_does_not_wait_for_ever_for_the_broker_to_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire_module, "GOODBYE_S", 0.02)
    session = ClientSession("c", "s", ConnectionSettings())
    release = asyncio.Event()

    async def stubborn(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(WELCOME)
        await release.wait()

    events: list[ClientEvent] = []
    async with serving(stubborn) as address:
        wire = await connected(session, address, events)
        while not events:
            await asyncio.sleep(0)
        session.say_goodbye("done")
        wire.flush()
        wire.flush()
        await soon(wire.run())
        release.set()


async def test_a_wire_that_is_cancelled_drops_its_connection() -> None:
    session = ClientSession("c", "s", ConnectionSettings())
    async with serving(drain) as address:
        wire = await connected(session, address, [])
        running = asyncio.create_task(wire.run())
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait((running,))
    assert session.connection is None


def test_a_wire_without_a_connection_sends_nothing() -> None:
    async def flush() -> None:
        session = ClientSession("c", "s", ConnectionSettings())
        ClientWire(session, print, print).flush()

    asyncio.run(flush())
