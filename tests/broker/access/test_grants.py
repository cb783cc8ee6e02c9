"""Grants at brokers: nothing beyond them reaches an identity, however it asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

import sapwood
from sapwood.asking.status import StatusReader
from sapwood.broker.access.identities import read_identities, token_digest
from sapwood.broker.broker import Broker
from sapwood.client.replaying import JournalReader
from sapwood.errors import ConnectionLostError, InputError, SapwoodError
from sapwood.session.settings import ConnectionSettings, with_access
from sapwood.wire.greetings import Credentials
from sapwood.wire.messages import SubscribedReply, SubscribeRequest
from tests.broker.access.test_doorkeeper import identities
from tests.broker.helpers import Raw, running, settings, soon
from tests.broker.test_storing import stopped


def identity(name: str) -> str:
    return f'[[identity]]\nname = "{name}"\ntoken = "sha256:{token_digest(name).hex()}"\n'


EU = """
[[grant]]
to = ["ann"]
subscribe = "region = 'eu'"
subscribe_xpath = ["//order"]
publish = "desk = 'ann'"
durable = ["ann-*"]
"""
ALL = """
[[grant]]
to = ["feed"]
subscribe = "true"
subscribe_xpath = ["//*"]
publish = "true"
publish_xpath = ["//*"]
durable = ["*"]
operate = true
"""
WHO = (identity("ann"), identity("feed"), identity("else"))


@asynccontextmanager
async def hub(folder: Path, *grants: str, data: Path | None = None) -> AsyncIterator[Broker]:
    path = identities(folder, *WHO, *grants)
    protocol = "covering" if data is None else "recover+covering"
    async with running(settings("hub", identities=path, data=data, protocol=protocol)) as broker:
        yield broker


async def test_a_subscription_brings_what_is_granted_of_it(tmp_path: Path) -> None:
    async with hub(tmp_path, EU, ALL) as broker:
        address = str(broker.address)
        ann, feed = (sapwood.connect(address, token=who) for who in ("ann", "feed"))
        async with ann, feed:
            everything = await ann.subscribe("price > 0")
            orders = await ann.subscribe(sapwood.parse_xpath("//order[item]"))
            group = await ann.subscribe_many(["price > 1", "region = 'us'"])
            answers = list(group.refused.values())
            for number, region in enumerate(("us", "eu", "cn", "eu")):
                await feed.publish({"price": number + 1, "region": region})
            await feed.publish(b"<order><item/></order>")
            await feed.flush()
            found = [await soon(anext(everything)) for _ in range(2)]
            assert [one.attributes["price"] for one in found] == [2, 4]
            assert (await soon(anext(orders))).document == b"<order><item/></order>"
            assert any("region = 'eu'" in one for one in answers)
            for refused in ("region = 'us'", sapwood.parse_xpath("//*")):
                with pytest.raises(InputError, match="this identity"):
                    await ann.subscribe(refused)


async def test_publications_that_are_not_granted_are_refused_one_by_one(tmp_path: Path) -> None:
    async with hub(tmp_path, EU, ALL) as broker:
        address = str(broker.address)
        ann, feed = (sapwood.connect(address, token=who) for who in ("ann", "feed"))
        async with ann, feed:
            seen = await feed.subscribe("true")
            desks = [Random(7).choice(("ann", "bob")) for _ in range(300)]
            results = await ann.publish_many(
                [{"desk": desk, "n": n} for n, desk in enumerate(desks)]
            )
            await ann.flush()
            mine = [n for n, desk in enumerate(desks) if desk == "ann"]
            got = [(await soon(anext(seen))).attributes["n"] for _ in mine]
            assert got == mine
            assert results is not None


async def test_who_is_granted_nothing_may_do_nothing(tmp_path: Path) -> None:
    async with (
        hub(tmp_path, EU, ALL) as broker,
        sapwood.connect(str(broker.address), token="else") as client,
    ):
        with pytest.raises(InputError, match="no records"):
            await client.subscribe("a = 1")
        with pytest.raises(InputError, match="may not publish"):
            await client.publish({"a": 1})


async def test_questions_about_the_broker_are_for_those_who_operate_it(tmp_path: Path) -> None:
    async with hub(tmp_path, EU, ALL, data=tmp_path / "data") as broker:
        address = str(broker.address)

        def status(who: str) -> str:
            shown = with_access(ConnectionSettings(), token=who)
            with StatusReader(address, shown) as reader:
                return reader.status().broker

        def journal(who: str) -> list[bytes]:
            shown = with_access(ConnectionSettings(), token=who)
            with JournalReader(address, shown) as reader:
                return list(reader.read(*reader.bounds()))

        assert await asyncio.to_thread(status, "feed") == "hub"
        assert await asyncio.to_thread(journal, "feed") == []
        for ask in (status, journal):
            with pytest.raises((ConnectionLostError, SapwoodError), match="may not read"):
                await asyncio.to_thread(ask, "ann")


async def test_durable_subscriptions_have_granted_names_and_filters(tmp_path: Path) -> None:
    async with hub(tmp_path, EU, ALL, data=tmp_path / "data") as broker:
        address = str(broker.address)
        ann, feed = (sapwood.connect(address, token=who) for who in ("ann", "feed"))
        async with ann, feed:
            await feed.subscribe("price > 0", durable="ann-wide")
            await feed.subscribe("price > 0", durable="other")
            mine = await ann.subscribe("price > 0", durable="ann-mine", since="all")
            for name in ("other", "bob-1"):
                with pytest.raises(InputError, match="may be named"):
                    await ann.subscribe("region = 'eu'", durable=name)
            with pytest.raises(InputError, match="remove it"):
                await ann.subscribe(durable="ann-wide")
            with pytest.raises(InputError, match="may be named"):
                await ann.subscribe("price > 1", durable="ann-2", dead_letter="other")
            assert [one.name for one in await ann.durables()] == ["ann-mine", "ann-wide"]
            for ask in (ann.durable, ann.remove_durable):
                with pytest.raises(InputError, match="there is no durable"):
                    await ask("other")
            await feed.publish({"price": 1, "region": "us"})
            await feed.publish({"price": 2, "region": "eu"})
            assert (await soon(anext(mine))).attributes["price"] == 2


async def test_a_grant_that_shrinks_takes_effect_on_what_runs(tmp_path: Path) -> None:
    wide = EU.replace("region = 'eu'", "price > 0")
    async with hub(tmp_path, wide, ALL) as broker:
        address = str(broker.address)
        ann, feed = (sapwood.connect(address, token=who) for who in ("ann", "feed"))
        async with ann, feed:
            subscription = await ann.subscribe("price > 0")
            await feed.publish({"price": 1, "region": "us"})
            assert (await soon(anext(subscription))).attributes["price"] == 1
            identities(tmp_path, *WHO, EU, ALL)
            broker.reload()
            await soon(
                broker.connections.until(
                    lambda: f"ann/{ann.name}" not in broker.connections.clients
                )
            )
            await soon(
                broker.connections.until(lambda: f"ann/{ann.name}" in broker.connections.clients)
            )
            later = await ann.subscribe("price > 1")  # behind what was asked before
            await feed.publish({"price": 2, "region": "us"})
            await feed.publish({"price": 3, "region": "eu"})
            assert (await soon(anext(subscription))).attributes["price"] == 3
            assert (await soon(anext(later))).attributes["price"] == 3
            assert f"feed/{feed.name}" in broker.connections.clients


async def test_a_broker_that_starts_again_under_other_grants_forgets_the_wider_ones(
    tmp_path: Path,
) -> None:
    """Planted: without the tag of the grant the subscription of before is in force for a moment."""
    wide = EU.replace("region = 'eu'", "price > 0")
    data, name = tmp_path / "data", "ann/desk"
    async with hub(tmp_path, wide, ALL, data=data) as broker:
        ann = await Raw.client(broker.address, "desk", credentials=Credentials("", "ann"))
        ann.say(SubscribeRequest("s1", "price > 0"))
        assert await ann.next() == SubscribedReply("s1")
        assert broker.router.ids_of(name).subscriptions == ("s1",)
        await stopped(broker, ann)
    for grant, kept in ((wide, ("s1",)), (EU, ())):
        async with hub(tmp_path, grant, ALL, data=data) as broker:
            ann = await Raw.client(broker.address, "desk", credentials=Credentials("", "ann"))
            assert broker.router.ids_of(name).subscriptions == kept
            await stopped(broker, ann)


# The file --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        ('to = ["ann"]\nsubscribe = "a >"', "grant 1 (to ann)"),
        ('to = []\nsubscribe = "a > 1"', "nobody is named"),
        ('to = ["ann"]\nsubscribe_xpath = ["//"]', "grant 1"),
        ('to = ["ann"]\nsubscibe = "a > 1"', "subscibe"),
    ],
)
def test_a_grant_that_cannot_be_read_is_refused(tmp_path: Path, grant: str, said: str) -> None:
    path = identities(tmp_path, *WHO, f"[[grant]]\n{grant}\n")
    with pytest.raises(InputError) as raised:
        read_identities(path)
    assert said in str(raised.value)


def test_grants_to_patterns_add_up(tmp_path: Path) -> None:
    more = '[[grant]]\nto = ["a*", "feed"]\nsubscribe = "region = \'us\'"\n'
    found = read_identities(identities(tmp_path, *WHO, EU, more))
    ann, other = found.grant_of("ann"), found.grant_of("else")
    assert ann is not None
    assert str(ann.subscribe) == "region in ('eu', 'us')"
    assert other is not None
    assert not other.subscribe.conjunctions
    assert read_identities(identities(tmp_path, *WHO)).grant_of("ann") is None
