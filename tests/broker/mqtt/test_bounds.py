"""Bounds of all connections together: packets whose end does not come, and what nobody reads."""

from __future__ import annotations

import asyncio
import gc
import types
from functools import partial

import pytest

from sapwood.broker.mqtt.listener import MqttListener
from sapwood.broker.unread import Unread
from sapwood.limits.mqtt import MQTT_GREETING_READ_BYTES
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.mqtt.helpers import (
    CONNACK,
    DISCONNECT,
    PUBACK,
    PUBLISH,
    Listening,
    connect,
    listening,
    publish,
    text,
    variable,
)

__all__ = ("nothing_is_left",)

BUSY = 0x89
READ_BYTES = 65_536


def half(first: int, size: int, sent: int, begins: bytes = b"") -> bytes:
    """So much of a packet of that size."""
    return bytes([first]) + variable(size) + begins + bytes(sent - len(begins))


def half_connect(sent: int) -> bytes:
    return half(0x10, 200_000, sent, text("MQTT") + b"\5\2\0\0\0")


def listener(hub: Listening) -> MqttListener:
    """The only door of a broker."""
    (door,) = hub.broker._doors
    assert isinstance(door, MqttListener)
    return door


async def until_held(room_left: int, hub: Listening) -> None:
    """Return when `room_left` bytes of the room for CONNECTs are left."""
    connects = listener(hub).connects
    while connects.left_bytes != room_left:
        await asyncio.sleep(0)


async def test_connects_without_an_end_have_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.listener.MQTT_CONNECTS_BYTES_MAX", 10_000)
    async with listening() as hub:
        async with hub.raw() as first:
            first.say(half_connect(MQTT_GREETING_READ_BYTES + 9000))
            head = len(half_connect(20)) - 20
            await soon(until_held(10_000 - 9000 - head, hub))
            async with hub.raw() as second:
                second.say(half_connect(MQTT_GREETING_READ_BYTES + 9000))
                refused = await second.heard(CONNACK)
                assert refused.codes == (BUSY,)
                assert "MQTT_CONNECTS_BYTES_MAX" in refused.reason
                assert await second.hear() is None
            async with hub.client("short") as third:  # needs none of that room
                assert await third.published("a", b"x") == 0
        await soon(until_held(10_000, hub))
        async with hub.raw() as again:
            again.say(connect("long", will=("w", b"x" * (MQTT_GREETING_READ_BYTES + 5000))))
            assert (await again.heard(CONNACK)).codes == (0,)


async def test_packets_without_an_end_have_one_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.listener.MQTT_UNFINISHED_BYTES_MAX", 100_000)
    async with listening() as hub, hub.client("a") as first, hub.client("b") as second:
        room = listener(hub).packets
        first.say(half(0x30, 1_000_000, READ_BYTES + 90_000, text("a") + b"\0"))
        while room.left_bytes > 20_000:
            await asyncio.sleep(0)
        second.say(half(0x30, 1_000_000, READ_BYTES + 90_000, text("a") + b"\0"))
        refused = await second.heard(DISCONNECT)
        assert refused.codes == (BUSY,)
        assert "MQTT_UNFINISHED_BYTES_MAX" in refused.reason
        async with hub.client("c") as third:
            for _ in range(3):
                assert await third.published("a", b"x" * (READ_BYTES - 100)) == 0
        await first.close()
        while room.left_bytes != 100_000:
            await asyncio.sleep(0)
        async with hub.client("d") as fourth:
            for _ in range(3):  # room is given back with each
                assert await fourth.published("a", b"x" * 150_000) == 0


async def test_refused_packets_are_let_go_of_at_once() -> None:
    """Planted: a task keeps its error, whose frames keep the task and the packet."""
    async with listening() as hub:
        gc.collect()
        gc.disable()
        try:
            json = (3, "application/json")
            bad = b'{"a": ' + b"[" * 200_000
            async with hub.client("a") as client:
                assert await client.published("t", bad, json) == 0x99
            async with hub.client("b") as client:
                client.say(publish("t", bad, json, qos=2))
                assert (await client.heard(DISCONNECT)).codes == (0x9B,)
            async with hub.raw() as client:
                client.say(b"\x10\x05" + bytes(5))
                await client.hear()
            await soon(hub.broker.connections.until(lambda: not hub.broker.connections.all))
            door = listener(hub)
            while door._tasks:
                await asyncio.sleep(0)
            frames = [one for one in gc.get_objects() if isinstance(one, types.FrameType)]
            kept = {one.f_code.co_qualname for one in frames}
            assert not {one for one in kept if one.startswith(("MqttConnection", "beside"))}
        finally:
            gc.enable()


async def test_who_never_reads_does_not_keep_others_from_what_they_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.broker.mqtt.listener.Unread", partial(Unread, bytes_max=1000))
    async with listening() as hub, hub.client("deaf") as deaf, hub.client("reads") as reads:
        for one in (deaf, reads):
            await one.subscribed("a")
        async with hub.client("p") as publisher:
            for number in range(20):
                publisher.say(publish("a", b"%d" % number + bytes(1_000_000), qos=1, id=number + 1))
                assert (await publisher.heard(PUBACK)).codes == (0,)
                told = await reads.heard(PUBLISH)
                assert told.payload[:2].rstrip(b"\0") == b"%d" % number
        assert hub.broker.counters.slow_consumers == 1
