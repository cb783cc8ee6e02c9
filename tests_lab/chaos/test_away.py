"""A neighbor that is away for long: what is owed to it is in the journal, and comes from there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.helpers import running, settings, soon

from sapwood.client import connect
from sapwood.model.publication import Publication
from sapwood.routing.upkeep.recover import owed as owed_module
from sapwood.routing.upkeep.recover import recover as recover_module
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.wire.address import Address
from sapwood_lab.chaos.proxy import Proxy

PROTOCOL = "recover+covering"
COUNT = 600


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def test_what_is_let_go_is_read_from_the_journal_when_the_neighbor_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owed_module, "OWED_BYTES_MAX", 1000)
    monkeypatch.setattr(recover_module, "RECALLED_MAX", 50)
    proxy = Proxy()
    await proxy.start()
    try:
        async with running(settings("a", protocol=PROTOCOL, data=tmp_path / "a")) as a:
            proxy.target = (a.address.host, a.address.port)
            through = Address("127.0.0.1", proxy.port)
            b_settings = settings("b", through, protocol=PROTOCOL, data=tmp_path / "b")
            async with (
                running(b_settings) as b,
                connect(str(a.address)) as publisher,
                connect(str(b.address)) as subscriber,
            ):
                await soon(a.until_linked("b"))
                await soon(b.until_linked("a"))
                wanted = await subscriber.subscribe("x >= 0")
                proxy.cut()
                await soon(until(lambda: "b" not in a.connections.links))
                batch = [Publication(f"p{number}", {"x": number}) for number in range(COUNT)]
                await publisher.publish_many(batch[: COUNT // 2])
                for one in batch[COUNT // 2 : COUNT // 2 + 20]:
                    await publisher.publish(one)
                await publisher.publish_many(batch[COUNT // 2 + 20 :])
                upkeep = a.router.upkeep
                assert isinstance(upkeep, Recover)
                owed = upkeep._links["b"].owed
                await soon(until(lambda: len(owed) >= COUNT))
                assert owed.bytes < 1000 + 300 * 100  # one batch more than there is room for
                proxy.mend()
                got = [(await soon(anext(wanted))).id for _ in range(COUNT)]
                assert got == [f"p{number}" for number in range(COUNT)]
    finally:
        await proxy.stop()
