"""Ages of publications over real sockets, brokers with bent clocks, and links that hold them up.

All runs in one process, so that one clock knows how old a publication really is: it carries the
reading from before it was published. No bound may be below that, without a tolerance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from time import CLOCK_MONOTONIC_RAW, clock_gettime_ns

import pytest

from sapwood.client import connect
from sapwood.errors import InputError
from sapwood.session.settings import ConnectionSettings
from sapwood.timing.drift import Drift
from sapwood.timing.local import LocalClock
from tests.broker.delaying import DelayingProxy
from tests.broker.helpers import running, settings, soon

pytestmark = pytest.mark.network


def truth() -> int:
    return clock_gettime_ns(CLOCK_MONOTONIC_RAW)


def bent(ppm: int, begins: int, epoch: int) -> ConnectionSettings:
    """Of an end whose clock is off by so much and shows another time."""
    clock = LocalClock(lambda: begins + truth() * (10**6 + ppm) // 10**6, Drift(), epoch)
    return ConnectionSettings(clock=clock)


async def measured(publications: int, delay_s: Callable[[], float]) -> list[tuple[int, float]]:
    """Publications over two brokers and a link that holds them up: true ages and bounds."""
    async with (
        running(settings("a", connection=bent(-500, 10**15, 7))) as a,
        DelayingProxy(a.address, delay_s) as proxy,
        running(settings("b", proxy.address, connection=bent(500, -(10**15), 8))) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with (
            connect(str(b.address), settings=bent(500, 0, 9)) as publisher,
            connect(str(a.address), settings=bent(-500, 5, 10)) as subscriber,
        ):
            wanted = await subscriber.subscribe("true")
            found: list[tuple[int, float]] = []
            for number in range(publications):
                made = truth()
                if number % 5:
                    await publisher.publish({"made": made})
                else:
                    await publisher.publish_many([{"made": made}] * 20)
                for _ in range(1 if number % 5 else 20):
                    delivery = await soon(anext(wanted))
                    before = truth()
                    bound = delivery.age_bound
                    assert bound is not None, "the greetings were stamped"
                    found.append((before - delivery.attributes["made"], bound))
            return found


async def test_no_publication_is_older_than_its_bound() -> None:
    generator = Random(1)
    for age_ns, bound in await measured(40, lambda: generator.expovariate(500)):
        assert age_ns <= bound * 1e9


async def test_what_is_late_is_marked_or_dropped() -> None:
    async with (
        running(settings("a")) as a,
        DelayingProxy(a.address, lambda: 0.02) as proxy,
        running(settings("b", proxy.address)) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with connect(str(b.address)) as publisher, connect(str(a.address)) as subscriber:
            patient = await subscriber.subscribe("true", max_age=3600)
            marking = await subscriber.subscribe("true", max_age=0.02)
            dropping = await subscriber.subscribe("x < 3", max_age=0.02, late="drop")
            late_free = await subscriber.subscribe("true", max_age=3600, late="drop")
            for number in range(4):
                await publisher.publish({"x": number})
            for number in range(4):
                one, other, last = [await soon(anext(q)) for q in (patient, marking, late_free)]
                assert one.attributes == other.attributes == last.attributes == {"x": number}
                assert one.timely
                assert not other.timely, "it was held for that long"
                assert last.timely
            await subscriber.unsubscribe(dropping)
            assert [delivery async for delivery in dropping] == []
            assert dropping.late == 3


async def test_what_cannot_be_wanted_of_ages_is_refused() -> None:
    async with running(settings("a")) as a, connect(str(a.address)) as client:
        for wanted in ({"max_age": -1.0}, {"late": "drop"}, {"max_age": 1, "late": "never"}):
            with pytest.raises(InputError):
                await client.subscribe("true", **wanted)
        with pytest.raises(InputError, match="journal"):
            await client.subscribe("true", max_age=1.0, since="all")


async def test_a_publication_that_waits_at_its_publisher_ages_there() -> None:
    async with (
        running(settings("a")) as a,
        connect(str(a.address)) as publisher,
        connect(str(a.address)) as subscriber,
    ):
        publisher._session.window.publications_max = 3

        async def publish() -> None:
            await publisher.publish({"made": truth()})

        wanted = await subscriber.subscribe("true")
        await asyncio.gather(*(publish() for _ in range(50)))
        for _ in range(50):
            delivery = await soon(anext(wanted))
            age = truth() - delivery.attributes["made"]
            bound = delivery.age_bound
            assert bound is not None
            assert bound * 1e9 >= age
