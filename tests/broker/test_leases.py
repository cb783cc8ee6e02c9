"""Leases on real brokers: what is renewed stays, and what is lost comes back, also over UDP."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Unsubscribe
from sapwood.wire.address import Address
from sapwood_lab.timing.proxies import DatagramProxy, Fate
from tests.broker.helpers import line, running, settings, soon
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


@pytest.mark.network
async def test_over_udp_tables_become_right_and_nothing_comes_twice_or_out_of_order() -> None:
    udp = {"protocol": "covering+leases:1"}
    here = Address("127.0.0.1", 0, is_datagram=True)
    async with running(settings("a", listen_datagrams=here, **udp)) as a:
        assert a.datagrams is not None
        async with (
            DatagramProxy(a.datagrams, Fate(0.2, 0.2, 0.02, Random(3)).times) as proxy,
            running(settings("b", proxy.address, **udp)) as b,
        ):
            await soon(a.until_linked("b"))
            await soon(b.until_linked("a"))
            async with connect(str(b.address)) as one, connect(str(a.address)) as other:
                wanted = await soon(other.subscribe("n >= 0"))
                found: list[int] = []
                number = 0
                while len(found) < 40 or not a.router.counters()["leases_overtaken"]:
                    await one.publish({"n": number})
                    number += 1
                    while len(wanted):
                        found.append((await anext(wanted)).attributes["n"])
                assert found == sorted(set(found))
                assert proxy.lost
