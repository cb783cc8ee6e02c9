"""Brokers under `prefix` over TCP, with an optimizer that is a client and a command."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from click.testing import CliRunner, Result

from sapwood.broker import answering
from sapwood.broker.broker import Broker
from sapwood.cli.main import main
from sapwood.client import connect
from sapwood.client.optimizing import FilterReader, keep_tree
from sapwood.language import parse_filter
from sapwood.routing.forwarding.prefix.optimizer import Optimizer, Update
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE
from sapwood.routing.protocols import protocol
from tests.broker.helpers import line, soon

PREFIX = protocol("simple+prefix")


def counted(brokers: dict[str, Broker], name: str) -> list[int]:
    return [broker.router.counters()[name] for broker in brokers.values()]


def heard(broker: Broker) -> list[str]:
    with FilterReader(str(broker.address)) as reader:
        return sorted(str(one) for one in reader.filters() if ATTRIBUTE not in one.attributes)


async def test_brokers_follow_the_tree_of_an_optimizer_and_do_without_when_it_goes() -> None:
    texts = ["a > 1", "a < 5 and b = 1", "b = 2", "s like '%x%'"]
    told: list[Update] = []
    async with (
        line("r1", "r2", "r3", protocol=PREFIX) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = {text: await subscriber.subscribe(text) for text in texts}
        optimizer = Optimizer(0.3)
        async with connect(str(brokers["r2"].address)) as client:
            address = str(brokers["r2"].address)
            state = partial(keep_tree, client, address, optimizer, every_s=0.01, told=told.append)
            await soon(state(rounds=2))
            assert [update.clock for update in told] == [1]
            for number in range(20):
                record = {"a": number % 7, "b": number % 3, "s": "axe"}
                await publisher.publish(record, id=f"p{number}")
            for text in texts:
                due = [
                    f"p{n}"
                    for n in range(20)
                    if parse_filter(text).matches({"a": n % 7, "b": n % 3, "s": "axe"})
                ]
                got = [(await soon(anext(wanted[text]))).id for _ in due]
                assert got == due
            assert counted(brokers, "trees_written") == [20, 0, 0]
            assert counted(brokers, "trees_followed") == [0, 20, 20]
            assert counted(brokers, "content_matches") == [0, 0, 0]
        await publisher.publish({"b": 2}, id="last")
        assert (await soon(anext(wanted["b = 2"]))).id == "last"


async def test_the_command_states_trees_and_says_so() -> None:
    async with (
        line("r1", "r2", protocol=PREFIX) as brokers,
        connect(str(brokers["r1"].address)) as subscriber,
    ):
        await subscriber.subscribe("a > 1")
        arguments = ["optimizer", str(brokers["r2"].address), "--rounds", "2", "--every", "0.05"]
        result: Result = await asyncio.to_thread(partial(CliRunner().invoke, main, arguments))
        assert result.exit_code == 0, result.output
        assert result.stderr.count("\n") == 1
        assert "2 nodes in 1 part" in result.stderr


async def test_filters_are_told_part_by_part_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a = 1", "a = 2", "s like '%x%'", "a = 3", "a = 4"]
    for bounds in ((2, 1 << 20), (100, 1), (100, 1 << 20)):
        monkeypatch.setattr(answering, "FILTERS_TOLD_MAX", bounds[0])
        monkeypatch.setattr(answering, "FILTERS_BYTES_MAX", bounds[1])
        async with (
            line("r1", "r2", protocol=PREFIX) as brokers,
            connect(str(brokers["r1"].address)) as one,
            connect(str(brokers["r2"].address)) as other,
        ):
            for text in texts:
                await one.subscribe(text)
            await other.subscribe("a = 1")
            for broker in brokers.values():
                assert await asyncio.to_thread(heard, broker) == sorted(texts)
