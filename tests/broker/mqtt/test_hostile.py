"""Whatever bytes come, the answer is a reason code or a closed connection, and others go on."""

from __future__ import annotations

import random

import pytest

from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import soon
from tests.broker.mqtt.helpers import (
    CONNACK,
    DISCONNECT,
    PUBLISH,
    Client,
    Listening,
    connect,
    frame,
    listening,
    publish,
    subscribe,
    variable,
)
from tests.broker.mqtt.test_reading import MALFORMED, SEEDS, WRONG
from tests.examples import examples

__all__ = ("nothing_is_left",)

DOCUMENTED = {
    0x81,
    0x82,
    0x83,
    0x84,
    0x86,
    0x8C,
    0x8E,
    0x90,
    0x93,
    0x94,
    0x95,
    0x97,
    0x99,
    0x9A,
    0x9B,
}


async def answered(host: Listening, data: bytes) -> set[int]:
    """The codes with which a connection ends that sends this, and then no more."""
    async with host.raw() as client:
        client.say(data)
        client.writer.write_eof()
        codes: set[int] = set()
        while (packet := await client.hear()) is not None:
            if packet.kind in (CONNACK, DISCONNECT):
                codes.update(packet.codes)
        return codes


async def goes_on(well: Client, number: int) -> None:
    assert await well.published("well", b"%d" % number) == 0


async def test_changed_bytes_end_in_documented_codes() -> None:
    draw = random.Random(7)
    async with listening(greeting_s=5) as host, host.client("well") as well:
        for number in range(examples(400)):
            data = bytearray(draw.choice(SEEDS))
            for _ in range(draw.randint(1, 4)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            assert await answered(host, bytes(data)) <= DOCUMENTED | {0}
            if not number % 10:
                await goes_on(well, number)
        assert not host.broker.failure


@pytest.mark.parametrize("names", [list(MALFORMED), list(WRONG)], ids=["malformed", "wrong"])
async def test_what_is_malformed_ends_its_own_connection(names: list[str]) -> None:
    async with listening() as host, host.client("well") as well:
        for number, name in enumerate(names):
            code = 0x81 if name in MALFORMED else 0x82
            assert await answered(host, connect() + (MALFORMED | WRONG)[name]) == {0, code}
            await goes_on(well, number)


async def test_floods_and_bombs_are_bounded() -> None:
    bombs = [
        b"\x10\xfb\xff\x0f",
        b"\x10\xff\xff\xff\x7f",
        connect() + frame(0xC0, b"") * 5000,
        connect() + b"\x30" + variable(2_097_148) + b"x",
        connect() + b"\x30" + variable(2_097_149) + b"x",
        connect() + subscribe(1, *["/" * 127] * 256),
        connect() + subscribe(1, *[f"{one}/+/#/" for one in range(256)]),
        connect() + b"".join(subscribe(1, *map(str, range(256))) for _ in range(8)),
        connect() + b"".join(publish("a", b"", qos=1, id=one + 1) for one in range(3000)),
        connect() + publish("a", b'{"a":' * 5000 + b"1" + b"}" * 5000, (3, "application/json")),
        connect() + publish("a", b"[" * 90_000, (3, "application/json")),
        connect() + publish("a", b"{" + b'"x":1,' * 9000 + b'"y":1}', (3, "application/json")),
        connect() + publish("a", b"<a>" * 9000, (3, "text/xml"), qos=1),
        connect() + publish("a", b"", (8, "x/+")),
        connect() + subscribe(1, "#", pairs=[(38, ("filter", "(" * 30_000))]),
        connect() + subscribe(1, "#", pairs=[(38, ("filter", "a = 1 or " * 7000 + "a = 2"))]),
        connect(will=("w", b"x" * 60_000), will_pairs=[(38, ("k", "v"))] * 256),
        connect("c" * 65_535, user="u" * 60_000, password=b"p" * 60_000),
    ]
    async with listening() as host, host.client("well") as well, host.client("watch") as watch:
        assert await watch.subscribed("well") == (0,)
        for number, data in enumerate(bombs):
            assert await answered(host, data) <= DOCUMENTED | {0}, number
            await goes_on(well, number)
            assert (await watch.heard(PUBLISH)).payload == b"%d" % number
        await soon(host.broker.connections.until(lambda: len(host.broker.connections.clients) == 2))
        assert not host.broker.failure
