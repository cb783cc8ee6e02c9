"""Bounds of ages over real sockets, against the truth: `python -m sapwood_lab.timing.real`.

Two brokers, a publisher at one and a subscriber at the other, and between the brokers a proxy that
holds up what passes, in one process: so one counter knows how old a publication really is when its
bound is computed. The clocks of the four ends are bent apart by 500 ppm, and begin anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from statistics import median
from typing import Final

from sapwood.broker.broker import Broker
from sapwood.broker.logs import make_log
from sapwood.broker.settings import BrokerSettings
from sapwood.client import Client, connect
from sapwood.wire.address import Address
from sapwood_lab.timing.clocks import NotingClock, truth
from sapwood_lab.timing.proxies import DatagramProxy, Fate, StreamProxy

PUBLICATIONS: Final = 2_000
DELAY_S: Final = 0.005
LOSS: Final = 0.1
REPEATED: Final = 0.2
"""Shares of datagrams, where they are lost and repeated; what overtakes follows from delays."""

ANY_PORT: Final = Address("127.0.0.1", 0)


def settings(name: str, ppm: int, epoch: int, *peers: Address, udp: bool) -> BrokerSettings:
    """A broker's, with a bent clock."""
    return BrokerSettings(
        name=name,
        listen=ANY_PORT,
        peers=peers,
        protocol="flooding",
        connection=NotingClock(ppm, epoch * 10**15, epoch).settings(),
        listen_datagrams=Address("127.0.0.1", 0, is_datagram=True) if udp else None,
    )


async def measured(
    publications: int,
    delay_s: Callable[[], float],
    *,
    udp: bool,
    fate: Fate | None = None,
) -> list[tuple[int, float]]:
    """True ages and bounds, in nanoseconds, of what arrived.

    Over UDP a `fate` of datagrams takes the place of `delay_s`.
    """
    log = make_log("error")
    a = Broker(settings("a", -500, 1, udp=udp), log)
    await a.start()
    target = a.datagrams if udp else a.address
    assert target is not None
    times = fate.times if fate is not None else lambda: (delay_s(),)
    held_up = DatagramProxy(target, times) if udp else StreamProxy(target, delay_s)
    clock = NotingClock(500, 0, 3)
    try:
        async with held_up as proxy:
            b = Broker(settings("b", 500, 2, proxy.address, udp=udp), log)
            await b.start()
            try:
                await a.until_linked("b")
                await b.until_linked("a")
                async with (
                    connect(str(b.address), settings=clock.settings()) as publisher,
                    connect(
                        str(a.address), settings=NotingClock(-500, 5, 4).settings()
                    ) as subscriber,
                ):
                    return await _exchange(publications, publisher, subscriber, clock)
            finally:
                await b.stop()
    finally:
        await a.stop()


async def _exchange(
    publications: int, publisher: Client, subscriber: Client, clock: NotingClock
) -> list[tuple[int, float]]:
    wanted = await subscriber.subscribe("true")
    found: list[tuple[int, float]] = []

    async def read() -> None:
        async for delivery in wanted:
            age = truth() - clock.made[delivery.attributes["number"]]
            bound = delivery.age_bound
            if bound is not None:
                found.append((age, bound * 1e9))

    reading = asyncio.create_task(read())
    for number in range(publications):
        clock.expect(number)
        await publisher.publish({"number": number})
    await asyncio.sleep(1.0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return found


def main() -> None:
    """Print how bounds compare with the truth: over TCP, UDP, and UDP that loses and repeats."""
    for name, udp, is_rough in (
        ("TCP", False, False), ("UDP", True, False), ("UDP, lossy", True, True),
    ):  # fmt: skip
        generator = Random(1)  # noqa: S311 - reproducible on purpose
        fate = Fate(LOSS, REPEATED, 2 * DELAY_S, generator) if is_rough else None
        delay_s = partial(_held_up_s, generator)
        found = asyncio.run(measured(PUBLICATIONS, delay_s, udp=udp, fate=fate))
        wrong = sum(bound < age for age, bound in found)
        errors = [(bound - age) / 1e6 for age, bound in found]
        ages = [age / 1e6 for age, _ in found]
        print(  # noqa: T201
            f"{name}: {len(found):,} of {PUBLICATIONS:,} with a bound, {wrong} wrong; age "
            f"{median(ages):.2f} ms, error {median(errors):.2f} ms (most {max(errors):.2f}), held "
            f"up for {1e3 * DELAY_S:.1f} ms each way on average"
        )


def _held_up_s(generator: Random) -> float:
    return DELAY_S * (0.5 + generator.random())


if __name__ == "__main__":
    main()
