"""Durable subscriptions whose filter is changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sapwood.errors import FilterSyntaxError, InputError
from tests.broker.helpers import running, settings, soon
from tests.client.test_durable import client_of, keeping, publish, take, values


async def test_what_both_filters_accept_is_put_once_and_what_waits_stays(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        wanted = await client.subscribe("x >= 0", durable="d")
        await publish(broker, 1)
        publishing = asyncio.create_task(publish(broker, *range(2, 400)))
        for filter_ in ("x >= 1", "x > 0 and x < 1000", "x >= 2", "x < 1000 or y = 1"):
            await soon(wanted.change(filter_))
        await soon(publishing)
        await publish(broker, 1000, 400)
        taken = await take(wanted, 400)
        assert values(taken) == list(range(1, 401))
        assert [one.number for one in taken] == list(range(1, 401))
        assert str(wanted.filter) == wanted.filter_text
        assert (await client.durable("d")).filter == wanted.filter_text


async def test_the_new_filter_is_that_of_all_consumers_and_of_a_broker_that_starts_again(
    tmp_path: Path,
) -> None:
    made = settings(data=tmp_path, protocol="recover+covering")
    async with running(made) as broker:
        address = broker.address
        first, second = client_of(broker, "a"), client_of(broker, "b")
        one, other = await first.__aenter__(), await second.__aenter__()
        wanted = await one.subscribe("x = 1", durable="d")
        beside = await other.subscribe("x = 1", durable="d")
        await soon(wanted.change("x = 2"))
        while beside.filter_text != "x = 2":
            await asyncio.sleep(0.01)
        assert str(beside.filter) == "x = 2"
    async with running(settings(data=tmp_path, protocol="recover+covering", listen=address)) as hub:
        async with client_of(hub) as watcher:
            while len((await watcher.durable("d")).consumers) < 2:
                await asyncio.sleep(0.01)
        await publish(hub, 1, 2)
        arrived = {asyncio.create_task(take(each, 1)) for each in (wanted, beside)}
        done, left = await asyncio.wait(arrived, return_when="FIRST_COMPLETED")
        assert [values(task.result()) for task in done] == [[2]]
        for task in left:
            task.cancel()
        await first.__aexit__(None, None, None)
        await second.__aexit__(None, None, None)


async def test_a_change_is_made_when_the_broker_is_back(tmp_path: Path) -> None:
    made = settings(data=tmp_path, protocol="recover+covering")
    async with running(made) as broker:
        address = broker.address
        coming = client_of(broker, "a")
        client = await coming.__aenter__()
        wanted = await client.subscribe("x = 1", durable="d")
        await publish(broker, 1)
    changing = asyncio.create_task(wanted.change("x > 1"))
    async with running(settings(data=tmp_path, protocol="recover+covering", listen=address)) as hub:
        await soon(changing)
        await publish(hub, 1, 2)
        taken = await take(wanted, 2)
        assert values(taken) == [1, 2]
        assert taken[0].number == 1
        await coming.__aexit__(None, None, None)


async def test_changes_of_several_consumers_follow_each_other(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as a, client_of(broker) as b:
        ends = [await each.subscribe("x = 1", durable="d") for each in (a, b)]
        await soon(asyncio.gather(*(end.change(f"x = {n}") for n, end in enumerate(ends, 2))))
        state = await a.durable("d")
        assert state.filter in ("x = 2", "x = 3")
        assert state.state == "in force"
        await soon(ends[0].change(state.filter))  # the same again is answered, too


async def test_what_is_no_filter_leaves_a_durable_subscription_as_it_is(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        wanted = await client.subscribe("x = 1", durable="d")
        with pytest.raises(FilterSyntaxError):
            await wanted.change("x = = 1")
        with pytest.raises(InputError, match="another filter"):
            await client.subscribe("x = 2", durable="d")
        assert (await client.durable("d")).filter == "x = 1"


async def test_one_that_begins_in_the_journal_is_changed_as_well(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        await publish(broker, 1, 2, 3)
        wanted = await client.subscribe("x >= 2", since="all")
        assert values(await take(wanted, 2)) == [2, 3]
        await soon(wanted.change("x >= 3"))
        await publish(broker, 2, 3, 4)
        assert values(await take(wanted, 2)) == [3, 4]
