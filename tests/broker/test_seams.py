"""The router's seams carry over sockets: a timer, a digest, and no store."""

from __future__ import annotations

import pytest

from sapwood.client import connect
from sapwood.errors import InputError, InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.effects import Persist
from sapwood.routing.inputs import Note, Tick
from sapwood.routing.messages import UpkeepNote
from tests.broker.helpers import Raw, line, running, settings, soon
from tests.routing.seams import beats
from tests.routing.seams.catalogue import CATALOGUES
from tests.routing.seams.keys import Keys
from tests.routing.wiring import core_of

BEATING = CATALOGUES.protocol("covering+beats")
NOBODY = UpkeepNote((0).to_bytes(4), periodic=True)
SOMEBODY = UpkeepNote((1).to_bytes(4), periodic=True)


async def test_a_broker_calls_its_router_when_that_wants_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(beats, "PERIOD_S", 0.01)
    async with running(settings(protocol=BEATING)) as broker:
        raw = await Raw.neighbor(broker)
        assert [await raw.next() for _ in range(3)] == [NOBODY] * 3
        raw.say(SOMEBODY, SOMEBODY)
        while (said := await raw.next()) == NOBODY:
            pass
        assert said == beats.AGAIN
        raw.say(beats.AFRESH)
        assert await raw.next() == NOBODY
        await raw.close()


async def test_brokers_with_heartbeats_deliver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beats, "PERIOD_S", 0.01)
    async with (
        line("r1", "r2", "r3", protocol=BEATING) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a > 1")
        for number in range(4):
            await publisher.publish(Publication(f"p{number}", {"a": number}))
        assert [(await soon(anext(wanted))).id for _ in range(2)] == ["p2", "p3"]


async def test_a_digest_crosses_brokers_and_saves_them_the_match() -> None:
    keys = CATALOGUES.protocol("simple+keys")
    async with (
        line("r1", "r2", "r3", protocol=keys) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a > 1")
        for number in range(4):
            await publisher.publish(Publication(f"p{number}", {"a": number}))
        assert [(await soon(anext(wanted))).id for _ in range(2)] == ["p2", "p3"]
        for name, counts in (("r1", (4, 0)), ("r2", (0, 2)), ("r3", (0, 2))):
            forwarding = core_of(brokers[name].router).forwarding
            assert isinstance(forwarding, Keys)
            assert (forwarding.matches, forwarding.lookups) == counts


def test_a_broker_without_a_store_refuses_a_protocol_that_needs_one() -> None:
    with pytest.raises(InputError, match="logged routers keep what survives a crash, and this"):
        settings(protocol=CATALOGUES.protocol("covering+logged"))


async def test_a_broker_that_is_to_keep_something_after_all_has_a_defect() -> None:
    async with running() as broker:
        with pytest.raises(InvariantError, match="is to keep what survives a crash"):
            broker.effect_runner.run([Persist(Note("n", b""))], Tick())
