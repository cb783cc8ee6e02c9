"""Brokers whose link is cut go round it, and back: over real connections, with their stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.helpers import running, settings, soon

from sapwood.client import connect
from sapwood.model.publication import Publication
from sapwood.routing.upkeep.detour import detour
from sapwood.wire.address import Address
from sapwood_lab.chaos.proxy import Proxy

PROTOCOL = "recover+mesh+covering"


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def test_a_link_that_is_cut_is_gone_round_and_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detour, "DETOUR_S", 0.2)
    proxy = Proxy()
    await proxy.start()
    try:
        a_settings = settings("a", protocol=PROTOCOL, data=tmp_path / "a")
        async with running(a_settings) as a:
            proxy.target = (a.address.host, a.address.port)
            through = Address("127.0.0.1", proxy.port)
            b_settings = settings("b", through, protocol=PROTOCOL, data=tmp_path / "b")
            async with running(b_settings) as b:
                peers = a.address, b.address
                c_settings = settings("c", *peers, protocol=PROTOCOL, data=tmp_path / "c")
                async with (
                    running(c_settings) as c,
                    connect(str(a.address)) as publisher,
                    connect(str(b.address)) as subscriber,
                ):
                    brokers = (a, b, c)
                    await soon(until(lambda: all(len(o.connections.links) == 2 for o in brokers)))
                    wanted = await subscriber.subscribe("x >= 0")

                    async def pass_on(first: int) -> None:
                        for number in range(first, first + 20):
                            await publisher.publish(Publication(f"p{number}", {"x": number}))
                        got = [(await soon(anext(wanted))).id for _ in range(20)]
                        assert got == [f"p{number}" for number in range(first, first + 20)]

                    await pass_on(0)
                    proxy.cut()
                    await soon(until(lambda: "b" not in a.connections.links))
                    await pass_on(20)
                    assert a.router.table_sizes()["detours"] == 1
                    proxy.mend()
                    await soon(until(lambda: "b" in a.connections.links))
                    await pass_on(40)
                    assert a.router.table_sizes()["detours"] == 0
    finally:
        await proxy.stop()
