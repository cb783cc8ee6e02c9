"""Ages of publications over real sockets, brokers with bent clocks, and links that hold them up.

All runs in one process, so that one clock knows how old a publication really is. No bound may be
below that, without a tolerance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from sapwood.client import connect
from sapwood.errors import InputError
from sapwood_lab.timing.clocks import NotingClock, truth
from sapwood_lab.timing.proxies import StreamProxy
from tests.broker.helpers import running, settings, soon

pytestmark = pytest.mark.network


async def measured(publications: int, delay_s: Callable[[], float]) -> list[tuple[int, float]]:
    """Publications over two brokers and a link that holds them up: true ages and bounds."""
    clock = NotingClock(500, 0, 9)
    async with (
        running(settings("a", connection=NotingClock(-500, 10**15, 7).settings())) as a,
        StreamProxy(a.address, delay_s) as proxy,
        running(
            settings("b", proxy.address, connection=NotingClock(500, -(10**15), 8).settings())
        ) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with (
            connect(str(b.address), settings=clock.settings()) as publisher,
            connect(str(a.address), settings=NotingClock(-500, 5, 10).settings()) as subscriber,
        ):
            wanted = await subscriber.subscribe("true")
            found: list[tuple[int, float]] = []
            for number in range(publications):
                clock.expect(number)
                if number % 5:
                    await publisher.publish({"number": number})
                else:
                    await publisher.publish_many([{"number": number}] * 20)
                for _ in range(1 if number % 5 else 20):
                    delivery = await soon(anext(wanted))
                    age = truth() - clock.made[delivery.attributes["number"]]
                    bound = delivery.age_bound
                    assert bound is not None, "the greetings were stamped"
                    if number % 5:  # only the first one of a batch is noted
                        found.append((age, bound))
            return found


async def test_no_publication_is_older_than_its_bound() -> None:
    generator = Random(1)
    for age_ns, bound in await measured(40, lambda: generator.expovariate(500)):
        assert age_ns <= bound * 1e9


async def test_what_is_late_is_marked_or_dropped() -> None:
    async with (
        running(settings("a")) as a,
        StreamProxy(a.address, lambda: 0.02) as proxy,
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
    clock = NotingClock(0, 0, 1)
    async with (
        running(settings("a")) as a,
        connect(str(a.address), settings=clock.settings()) as publisher,
        connect(str(a.address)) as subscriber,
    ):
        publisher._session.window.publications_max = 3

        async def publish(number: int) -> None:
            clock.expect(number)
            await publisher.publish({"number": number})

        wanted = await subscriber.subscribe("true")
        await asyncio.gather(*map(publish, range(50)))
        for _ in range(50):
            delivery = await soon(anext(wanted))
            age = truth() - clock.made[delivery.attributes["number"]]
            bound = delivery.age_bound
            assert bound is not None
            assert bound * 1e9 >= age
