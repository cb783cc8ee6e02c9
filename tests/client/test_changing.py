"""Subscriptions whose filter is changed, of clients and a broker."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood.client import connect
from sapwood.client.subscription import Deliveries
from sapwood.errors import ConnectionLostError, FilterSyntaxError, InputError, UnknownIdError
from sapwood.language.written import Written
from sapwood.routing.messages import Confirm, Subscribe, Unsubscribe
from tests.broker.helpers import Raw, running, settings, soon

RECOVER = "recover+covering"


async def numbers(deliveries: Deliveries, last: int) -> list[int]:
    """The numbers that are delivered, up to the last one."""
    found: list[int] = []
    while last not in found:
        found.append((await soon(anext(deliveries))).attributes["n"])
    return found


async def test_what_both_filters_accept_arrives_once_while_they_are_exchanged() -> None:
    async with (
        running() as broker,
        connect(str(broker.address)) as client,
        connect(str(broker.address)) as publisher,
    ):
        wanted = await client.subscribe("n >= 0 and kind = 'a'")
        done = asyncio.Event()

        async def publish() -> int:
            number = 0
            while not done.is_set():
                records = [{"n": number + at, "kind": "a", "more": 1} for at in range(50)]
                await publisher.publish_many(records)
                number += 50
            return number

        publishing = asyncio.create_task(publish())
        for filter_ in ("more = 1", "kind in ('a', 'b')", "n >= 0 and more < 2", "exists n"):
            await soon(wanted.change(filter_))
        done.set()
        count = await soon(publishing)
        await publisher.publish({"n": count})
        assert await numbers(wanted, count) == list(range(count + 1))
        assert wanted.filter == parse_filter("exists n")
        assert broker.router.table_sizes()["local"] == 1


async def test_filters_of_dialects_are_subscribed_to_and_changed() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("NOT n BETWEEN 1 AND 5", dialect="jms")
        await client.publish_many([{"n": n} for n in range(7)])
        assert await numbers(wanted, 6) == [0, 6]
        await wanted.change('{"n": [7]}', dialect="sns")
        await client.publish_many([{"n": n} for n in range(8)])
        assert await numbers(wanted, 7) == [7]
        with pytest.raises(FilterSyntaxError, match="compares attributes with constants"):
            await client.subscribe("n = m", dialect="jms")
        group = await client.subscribe_many([Written("filter", "n > 2 * 4", dialect="jms")])
        await client.publish({"n": 9})
        assert (await soon(anext(group))).attributes["n"] == 9


async def test_a_change_is_in_force_when_the_whole_overlay_has_confirmed_it() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")
        subscribing = asyncio.create_task(client.subscribe("n < 10"))
        former = await neighbor.next()
        assert isinstance(former, Subscribe)
        neighbor.say(Confirm(former.key, former.sending))
        wanted = await soon(subscribing)
        changing = asyncio.create_task(wanted.change("n > 5"))
        later = await neighbor.next()
        assert isinstance(later, Subscribe)
        await client.publish_many([{"n": number} for number in (1, 7, 12)])
        assert not changing.done()
        assert wanted.filter == parse_filter("n < 10")
        neighbor.say(Confirm(later.key, later.sending))
        await soon(changing)
        assert await neighbor.next() == Unsubscribe(former.key)
        await client.publish_many([{"n": number} for number in (2, 8, 13)])
        assert await numbers(wanted, 13) == [1, 7, 12, 8, 13]
        await neighbor.close()


async def test_changes_follow_each_other_and_one_that_nobody_waits_for_is_made() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("n = 1")
        first, second = (asyncio.create_task(wanted.change(f"n = {n}")) for n in (2, 3))
        await asyncio.sleep(0)
        first.cancel()
        await soon(second)
        await client.publish_many([{"n": n} for n in (1, 2, 3)])
        assert await numbers(wanted, 3) == [3]


async def test_what_is_no_filter_is_refused_and_the_subscription_goes_on() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("n = 1")
        with pytest.raises(FilterSyntaxError):
            await wanted.change("n = = 1")
        await client.publish({"n": 1})
        assert await numbers(wanted, 1) == [1]


async def test_a_subscription_that_was_withdrawn_is_not_changed() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("n = 1", "s")
        await client.unsubscribe(wanted)
        with pytest.raises(UnknownIdError):
            await wanted.change("n = 2")
        await client.subscribe("n = 3", "s")  # which is another one
        with pytest.raises(UnknownIdError):
            await wanted.change("n = 2")
    with pytest.raises((ConnectionLostError, InputError)):
        await wanted.change("n = 2")


async def test_a_change_that_waits_ends_with_its_client() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")
        subscribing = asyncio.create_task(client.subscribe("n < 10"))
        asked = await neighbor.next()
        assert isinstance(asked, Subscribe)
        neighbor.say(Confirm(asked.key, asked.sending))
        wanted = await soon(subscribing)
        changing = asyncio.create_task(wanted.change("n > 5"))
        await neighbor.next()
        await client.close()
        with pytest.raises(ConnectionLostError):
            await soon(changing)
        await neighbor.close()


@pytest.mark.parametrize("protocol", ["recover+covering", "recover+mesh+covering"])
async def test_a_program_that_comes_back_with_another_filter_under_the_same_id_has_that(
    tmp_path: Path, protocol: str
) -> None:
    made = settings(data=tmp_path / "broker", protocol=protocol)
    state = tmp_path / "client"
    async with running(made) as broker, connect(str(broker.address), "c", state=state) as client:
        await client.subscribe("n < 10", "s")
        await broker.stop()
    async with running(made) as broker:
        assert broker.router.ids_of("c").subscriptions == ("s",)
        async with connect(str(broker.address), "c", state=state) as client:
            wanted = await client.subscribe("n > 5", "s")
            await client.publish_many([{"n": number} for number in (1, 7, 12)])
            assert await numbers(wanted, 12) == [7, 12]
            assert broker.router.ids_of("c").subscriptions == ("s",)


async def test_a_broker_that_is_started_again_during_a_change_makes_it(tmp_path: Path) -> None:
    async with running(settings(data=tmp_path / "first", protocol=RECOVER)) as first:
        made = settings("r2", first.address, data=tmp_path / "second", protocol=RECOVER)
        async with running(made) as broker:
            address = broker.address
            await soon(broker.until_linked("r1"))
            client = connect(str(address), "c")
            await client.__aenter__()
            wanted = await client.subscribe("n < 10 and n >= 0", "s")
            changing = asyncio.create_task(wanted.change("n >= 5"))
            await asyncio.sleep(0)
        made = settings(
            "r2", first.address, data=tmp_path / "second", protocol=RECOVER, listen=address
        )
        async with running(made) as broker, connect(str(first.address)) as publisher:
            await soon(changing)
            await publisher.publish_many([{"n": number} for number in (1, 7, 12)])
            assert await numbers(wanted, 12) == [7, 12]
            assert [one.filter for one in first.router.received()] == [parse_filter("n >= 5")]
            await client.close()
