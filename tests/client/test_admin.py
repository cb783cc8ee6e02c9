"""Administration from Python: what a broker says of itself, and of who subscribes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import sapwood
from sapwood.client.admin import Admin, Explained
from sapwood.errors import ConnectionLostError, InputError
from sapwood.model.publication import Publication
from tests.broker.conftest import nothing_is_left
from tests.broker.helpers import running, settings, soon

__all__ = ("nothing_is_left",)

pytestmark = pytest.mark.network


def only(explained: Explained) -> dict[str, Any]:
    subscriptions = cast("Sequence[dict[str, Any]]", explained.members["subscriptions"])
    (one,) = subscriptions
    return one


async def test_an_admin_reads_compares_and_explains() -> None:
    async with (
        running(settings("hub")) as hub,
        running(settings("rim", hub.address)) as rim,
        sapwood.connect(str(hub.address), name="desk") as client,
    ):
        await soon(rim.until_linked("hub"))
        await client.subscribe("price > 10")
        admin = Admin(str(hub.address))
        status = await asyncio.to_thread(admin.status)
        assert (status.broker, [link.name for link in status.links]) == ("hub", ["rim"])
        compared = await asyncio.to_thread(admin.check)
        assert compared.agrees
        assert {(edge.sender, edge.holder) for edge in compared.edges} == {
            ("hub", "rim"),
            ("rim", "hub"),
        }
        told = await asyncio.to_thread(
            admin.explain, "price > 10", {"price": 5}, others=[str(rim.address)], source="rim"
        )
        assert "price" in str(told)
        one = only(told)
        assert one["client"] == "desk"
        assert one["match"]["matches"] is False
        by_client = await asyncio.to_thread(
            admin.explain, None, Publication("p", {"price": 11}), client="desk"
        )
        assert only(by_client)["match"]["matches"] is True
        covering = await asyncio.to_thread(admin.covering, "price > 20")
        assert [str(found.filter) for found in covering] == ["price > 10"]


async def test_an_admin_lists_and_removes_durable_subscriptions(tmp_path: Path) -> None:
    async with (
        running(settings("hub", data=tmp_path)) as hub,
        sapwood.connect(str(hub.address)) as client,
    ):
        await client.subscribe("a > 1", durable="work")
        admin = Admin(str(hub.address))
        assert [one.name for one in await asyncio.to_thread(admin.durables)] == ["work"]
        assert (await asyncio.to_thread(admin.durable, "work")).waiting == 0
        await asyncio.to_thread(admin.remove_durable, "work")
        assert await asyncio.to_thread(admin.durables) == []


async def test_what_cannot_be_asked_says_why() -> None:
    async with running(settings("hub", protocol="mesh+covering")) as hub:
        admin = Admin(str(hub.address))
        with pytest.raises(InputError, match="one tree"):
            await asyncio.to_thread(admin.check)
        with pytest.raises(InputError, match="such a subscription"):
            await asyncio.to_thread(admin.explain, "a > 1", {"a": 1})
        with pytest.raises(InputError, match="not list"):
            await asyncio.to_thread(admin.explain, "a > 1", [1])  # type: ignore[arg-type]
    with pytest.raises(ConnectionLostError, match="no broker"):
        await asyncio.to_thread(admin.status)
