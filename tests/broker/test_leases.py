"""Leases on real brokers over TCP: what is renewed stays, and what is lost comes back."""

from __future__ import annotations

import asyncio

from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Unsubscribe
from tests.broker.helpers import line, soon
from tests.routing.wiring import core_of

INTERVAL_S = 0.3


async def renewed(broker: Broker, count: int) -> None:
    """Return when a broker has had so many renewals more than now."""
    goal = broker.router.counters()["leases_renewed"] + count
    while broker.router.counters()["leases_renewed"] < goal:
        await asyncio.sleep(0.01)


async def test_subscriptions_stay_as_long_as_they_are_renewed_and_come_back_when_lost() -> None:
    chosen = f"covering+leases:{INTERVAL_S}"
    async with line("r1", "r2", "r3", protocol=chosen) as brokers:
        r2, r3 = brokers["r2"].router, brokers["r3"]
        async with (
            connect(str(brokers["r1"].address)) as subscriber,
            connect(str(r3.address)) as publisher,
        ):
            wanted = await subscriber.subscribe("x > 0")
            await soon(renewed(r3, 6))  # two intervals
            await publisher.publish({"x": 1}, "p1")
            assert (await soon(anext(wanted))).id == "p1"
            neighbor, key, *_ = next(iter(r2.received()))
            core_of(r2).apply(Receive(neighbor, Unsubscribe(key)))
            await soon(renewed(r3, 3))
            assert r2.counters()["leases_missed"] == 1
            await publisher.publish({"x": 2}, "p2")
            assert (await soon(anext(wanted))).id == "p2"
