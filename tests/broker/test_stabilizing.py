"""Brokers under `stabilize`: tables that are damaged become right over TCP, and `check` says so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.broker.broker import Broker
from sapwood.cli.main import main
from sapwood.client import admin, connect
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Unsubscribe
from sapwood.routing.protocols import protocol
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from tests.broker.helpers import line, running, settings, soon
from tests.routing.wiring import core_of

QUICK = protocol("covering+stabilize:0.05")
SLOW = protocol("covering+stabilize:3600")


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


def damage(broker: Broker, neighbor: str) -> None:
    """Let a broker have lost what a neighbor told it."""
    core = core_of(broker.router)
    for key in list(core.subscriptions.entries.received[neighbor]):
        core.apply(Receive(neighbor, Unsubscribe(key)))


async def checked(*arguments: str) -> Result:
    return await asyncio.to_thread(partial(CliRunner().invoke, main, ["check", *arguments]))


async def test_damaged_tables_become_right_again_over_tcp() -> None:
    async with (
        line("r1", "r2", "r3", protocol=QUICK) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a > 1")
        damage(brokers["r2"], "r3")
        damage(brokers["r1"], "r2")
        held = [
            core_of(brokers[name].router).subscriptions.entries.received for name in ("r1", "r2")
        ]
        await soon(until(lambda: held[0]["r2"] and held[1]["r3"]))
        await publisher.publish({"a": 2}, id="p")
        assert (await soon(anext(wanted))).id == "p"


async def test_check_says_which_edge_is_wrong_and_by_how_much() -> None:
    async with (
        line("r1", "r2", "r3", protocol=SLOW) as brokers,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        for least in range(3):
            await subscriber.subscribe(f"a{least} > 1")
        address = str(brokers["r2"].address)
        fine = await checked(address)
        assert (fine.exit_code, fine.stderr) == (0, "all tables agree\n")
        damage(brokers["r2"], "r3")
        found = await checked(address, "--json")
        assert found.exit_code == 1
        told = {(e["sender"], e["holder"]): e for e in json.loads(found.stdout)["edges"]}
        assert told["r3", "r2"] == {"sender": "r3", "holder": "r2", "entries": 3, "wrong": 3}
        assert len(told) == 4
        assert (await checked(address)).exit_code == 0, "what was wrong has been corrected"


async def test_check_says_who_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "PAUSE_S", 0.01)
    async with line("r1", "r2", protocol=SLOW) as brokers:
        router = brokers["r2"].router
        monkeypatch.setattr(router, "upkeep", type("Deaf", (), {})(), raising=False)
        monkeypatch.setattr(router, "handle", lambda *_: [])
        found = await checked(str(brokers["r1"].address), "--within", "0.1")
        assert found.exit_code == 1
        assert "r1 -> r2: no answer within 0.1 s" in found.stderr


@pytest.mark.parametrize("name", ["covering", "covering+recover"])
async def test_check_finds_what_is_wrong_where_nobody_corrects_it(
    name: str, tmp_path: Path
) -> None:
    stored = {"data": tmp_path} if "recover" in name else {}
    async with (
        line("r1", "r2", "r3", protocol=protocol(name), **stored) as brokers,
        connect(str(brokers["r3"].address)) as subscriber,
        connect(str(brokers["r1"].address)) as publisher,
    ):
        for least in range(3):
            wanted = await subscriber.subscribe(f"a{least} > 1")
        address = str(brokers["r2"].address)
        fine = await checked(address)
        assert (fine.exit_code, fine.stderr) == (0, "all tables agree\n")
        await publisher.publish({"a2": 2}, id="p")
        assert (await soon(anext(wanted))).id == "p", "nothing stops"
        damage(brokers["r2"], "r3")
        for _ in range(2):
            found = await checked(address, "--json")
            assert found.exit_code == 1
            told = {(e["sender"], e["holder"]): e for e in json.loads(found.stdout)["edges"]}
            assert told["r3", "r2"]["wrong"] == 3


async def test_check_is_refused_where_tables_cannot_be_compared() -> None:
    async with running(settings(protocol=protocol("mesh+covering"))) as broker:
        found = await checked(str(broker.address))
        assert found.exit_code == 2
        assert "many trees" in found.stderr


async def test_a_broker_that_waits_keeps_what_came_over_a_link_that_has_failed() -> None:
    waiting = protocol("covering+stabilize:3600:adaptive:inf")
    async with (
        line("r1", "r2", "r3", protocol=waiting) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a > 1")
        r2 = brokers["r2"]
        held = core_of(r2.router).subscriptions.entries.received["r3"]
        kept = dict(held)
        for _ in range(2):
            r2.connections.links["r3"].abort()
            await soon(until(lambda: "r3" not in r2.connections.links))
            assert core_of(r2.router).subscriptions.entries.received["r3"] == kept
            await soon(until(lambda: "r3" in r2.connections.links))
        second = await soon(subscriber.subscribe("a > 0"))
        await publisher.publish({"a": 2}, id="p")
        assert (await soon(anext(wanted))).id == "p"
        assert (await soon(anext(second))).id == "p"
        upkeep = brokers["r3"].router.upkeep
        assert isinstance(upkeep, Stabilize)
        assert upkeep.corrected == 0, "nothing had to be said again"
