"""The last value of each key from the journal, and then what comes: brokers, clients, command."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.client import Client, blocking, connect
from sapwood.client.subscription import Deliveries
from sapwood.errors import InputError
from tests.broker.helpers import broker_in_a_thread, running, settings, soon

pytestmark = pytest.mark.network

RECOVER = "recover+covering"


async def taken(deliveries: Deliveries, count: int) -> list[dict[str, Any]]:
    """The attributes of the next deliveries."""
    return [dict((await soon(anext(deliveries))).attributes) for _ in range(count)]


async def publish(client: Client, *records: dict[str, Any]) -> None:
    for record in records:
        await client.publish(record)


SAP, IBM, OLD = {"s": "SAP", "n": 3}, {"s": "IBM", "n": 2}, {"s": "SAP", "n": 1}


async def test_the_last_value_of_each_key_comes_first_and_then_what_comes(tmp_path: Path) -> None:
    keeping = settings(data=tmp_path, protocol=RECOVER)
    async with running(keeping) as broker, connect(str(broker.address)) as client:
        await publish(client, OLD, IBM, {"n": 9}, SAP, {"s": "HP", "other": True})
        last = await client.subscribe("exists n", replay="last", by="s")
        assert await taken(last, 2) == [IBM, SAP]
        await publish(client, {"n": 10}, OLD)
        assert await taken(last, 2) == [{"n": 10}, OLD], "what has no key comes live"
        both = await client.subscribe("exists n", replay="last", by=("s", "n"))
        assert await taken(both, 3) == [IBM, SAP, OLD]
        await client.publish(IBM | {"n": 7}, ttl=0.001)
        gone = await client.subscribe("exists n", replay="last", by="s")
        assert await taken(gone, 1) == [OLD], "what has expired takes the place of those before"


async def test_values_of_publishers_elsewhere_are_there_too(tmp_path: Path) -> None:
    async with (
        running(settings("a", data=tmp_path / "a", protocol=RECOVER)) as a,
        running(settings("b", a.address, data=tmp_path / "b", protocol=RECOVER)) as b,
    ):
        await soon(a.until_linked("b"))
        await soon(b.until_linked("a"))
        async with connect(str(a.address)) as publisher, connect(str(b.address)) as subscriber:
            seen = await subscriber.subscribe("exists n")  # so that b has them
            await publish(publisher, OLD, IBM, SAP)
            await taken(seen, 3)
            last = await subscriber.subscribe("exists n", replay="last", by="s")
            assert await taken(last, 2) == [IBM, SAP]
            await publish(publisher, OLD)
            assert await taken(last, 1) == [OLD]


async def test_nothing_is_missing_and_nothing_comes_twice_while_it_is_published(
    tmp_path: Path,
) -> None:
    keeping = settings(data=tmp_path, protocol=RECOVER)
    async with (
        running(keeping) as broker,
        connect(str(broker.address)) as client,
        connect(str(broker.address)) as publisher,
    ):
        done = asyncio.Event()

        async def publishing() -> int:
            number = 0
            while not done.is_set():
                records = [{"key": n % 7, "n": n} for n in range(number, number + 10)]
                await publisher.publish_many(records)
                number += 10
            return number

        work = asyncio.create_task(publishing())
        found: list[list[int]] = []
        subscriptions = []
        for _ in range(2):
            one = await client.subscribe("exists n", replay="last", by="key")
            subscriptions.append(one)
            await taken(one, 20)
            await client.publish({"other": 1})
        done.set()
        count = await soon(work)
        await publisher.publish({"key": 0, "n": count})
        for one in subscriptions:
            numbers: list[int] = []
            while not numbers or numbers[-1] != count:
                numbers += [record["n"] for record in await taken(one, 1)]
            found.append(numbers)
        for numbers in found:
            assert numbers == list(range(numbers[0], count + 1))


async def test_a_subscription_that_comes_back_gets_the_last_of_what_it_missed(
    tmp_path: Path,
) -> None:
    keeping = settings(data=tmp_path, protocol=RECOVER)
    async with (
        running(keeping) as broker,
        connect(str(broker.address), "away") as client,
        connect(str(broker.address)) as publisher,
    ):
        await publish(publisher, OLD, IBM)
        last = await client.subscribe("exists n", replay="last", by="s")
        assert await taken(last, 2) == [OLD, IBM]
        for tcp in broker.connections.all:
            if tcp.client is not None and tcp.client.name == "away":
                tcp.abort()
        await publish(publisher, {"s": "HP", "n": 1}, {"s": "HP", "n": 2})
        while (record := (await taken(last, 1))[0]) != {"s": "HP", "n": 2}:
            assert record == {"s": "HP", "n": 1}, "it had come back before the second one"
        assert client.reconnections == 1


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"replay": "last"}, "give `by` an attribute"),
        ({"replay": "all", "by": "s"}, "what can be replayed is 'last'"),
        ({"by": "s", "since": "all"}, "what can be replayed is 'last'"),
        ({"replay": "last", "by": [""]}, "give `by`"),
        ({"replay": "last", "by": ["s"] * 17}, "or 1 to 16"),
        ({"replay": "last", "by": "s", "durable": "d"}, "without a durable name"),
        ({"replay": "last", "by": "s", "max_age": 3.0}, "journal"),
        ({"replay": "last", "by": "s", "late": "drop"}, "max_age"),
    ],
)
async def test_what_cannot_be_replayed_is_refused(wanted: dict[str, Any], reason: str) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InputError, match=reason):
            await client.subscribe("exists n", **wanted)
        with pytest.raises(InputError, match="keeps nothing"):
            await client.subscribe("exists n", replay="last", by="s")


def test_the_command_and_blocking_clients_have_it(tmp_path: Path) -> None:
    with broker_in_a_thread(data=tmp_path, protocol=RECOVER) as address:
        with blocking.connect(address) as client:
            client.publish_many([OLD, IBM, SAP])
            last = client.subscribe("exists n", replay="last", by="s")
            assert [next(last).attributes for _ in range(2)] == [IBM, SAP]
        arguments = ("exists n", "--last-by", "s", "--broker", address, "--json", "--count", "2")
        ended = CliRunner().invoke(main, ["subscribe", *arguments])
    assert ended.exit_code == 0
    printed = [json.loads(line)["attributes"] for line in ended.stdout.splitlines()]
    assert printed == [IBM, SAP]


def test_last_values_are_for_one_filter() -> None:
    ended = CliRunner().invoke(main, ["subscribe", "--file", "-", "--last-by", "s"], input="")
    assert ended.exit_code == 2
    assert "--last-by is for one FILTER" in ended.stderr
