"""Brokers that recover make checkpoints and start from them, whatever stands around `recover`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from sapwood.broker import storing
from sapwood.matching.readiness import RECORDS
from sapwood.routing import router
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.upkeep.recover.checkpoint import refill
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.store import writer
from sapwood.store.compacting import compact
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    PublishRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
)
from tests.broker.helpers import Raw, body, running, settings, soon
from tests.broker.test_storing import stopped

PROTOCOLS = (
    "recover+covering",
    "recover+xroute",
    "failover:5+recover+covering",
    "mesh+recover+covering",
)
MANY = 12


class Here:
    """Makes checkpoints where a process would, as `Compaction` is asked to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states: int | None = None

    @property
    def is_under_way(self) -> bool:
        return self._states is not None

    def begin(self) -> None:
        self._states = compact(self._folder, engines_from=1)

    def made(self) -> int | None:
        made, self._states = self._states, None
        return made

    def close(self) -> None:
        self._states = None


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints of a few records, with engines, and soon."""
    RECORDS.load()
    defaults = Recover.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "mark_every", MANY)
    monkeypatch.setattr(writer, "CHECKPOINT_BYTES_MIN", 1)
    monkeypatch.setattr(writer, "CHECKPOINT_POLL_S", 0.0)
    monkeypatch.setattr(writer, "STORE_APPLY_S", 0.0)
    monkeypatch.setattr(storing, "Compaction", Here)


async def _in_force(raw: Raw, ids: Iterable[str]) -> None:
    """Return when the broker has confirmed these, together or one by one."""
    left = set(ids)
    while left:
        heard = await raw.next()
        assert isinstance(heard, SubscribedReply | SubscribedManyReply)
        left.difference_update(heard.ids if isinstance(heard, SubscribedManyReply) else [heard.id])


async def _checkpoint(folder: Path, raw: Raw) -> None:
    """Return when there is a checkpoint; what comes meanwhile is not in it."""
    number = 0
    while not any(folder.glob("checkpoints/*.checkpoint")):
        raw.say(SubscribeRequest(f"later{number}", f"a = {1000 + number}"))
        assert await raw.until(SubscribedReply)
        number += 1
        await asyncio.sleep(0.01)


async def _is_delivered(raw: Raw, number: int, value: int, ids: set[str]) -> None:
    raw.say(PublishRequest(number, body(f"p{number}", a=value)))
    heard = await raw.until(AcceptedReply)
    assert [set(one.subscriptions) for one in heard if isinstance(one, Delivery)] == [ids]


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_broker_starts_from_its_checkpoint_and_its_engines_under_every_upkeep_that_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    refilled: list[int] = []

    def filling(membership: Membership, parts: list[bytes]) -> tuple[str, ...]:
        refilled.append(len(parts))
        return refill(membership, parts)

    monkeypatch.setattr(router, "refill", filling)
    keeping = settings(data=tmp_path, protocol=protocol)
    async with running(keeping) as broker:
        raw = await Raw.client(broker.address, "sub", "s")
        numbers = range(2 * MANY)
        ids = tuple(f"s{one}" for one in numbers)
        raw.say(SubscribeManyRequest(ids, tuple(f"a = {one}" for one in numbers)))
        await _in_force(raw, ids)
        await soon(_checkpoint(tmp_path, raw))
        raw.say(SubscribeRequest("last", "a = 3"))
        assert await raw.until(SubscribedReply)
        await stopped(broker, raw)
    monkeypatch.setattr(writer, "CHECKPOINT_BYTES_MIN", 1 << 40)  # none that would be read
    refilled.clear()
    async with running(keeping) as broker:
        assert len(refilled) == 1
        assert set(broker.router.absent) == {"sub"}
        assert broker.router.ready_made >= MANY
        broker.router.validate()
        raw = await Raw.client(broker.address, "sub", "s")
        for number, (value, accepted) in enumerate([(3, {"s3", "last"}), (20, {"s20"})], 1):
            await _is_delivered(raw, number, value, accepted)
        await raw.close()
