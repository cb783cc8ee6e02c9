"""Quotas: a request beyond one is refused with its name, and nothing else of anybody suffers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import sapwood
from sapwood.broker.access import authentication
from sapwood.broker.access.authentication import Admitted, Authenticator
from sapwood.broker.access.identities import read_identities
from sapwood.broker.broker import Broker
from sapwood.errors import InputError
from sapwood.session.quotas import Account, Quota
from sapwood.wire.greetings import Credentials, Hello, Role
from tests.broker.access.test_doorkeeper import identities
from tests.broker.access.test_grants import identity
from tests.broker.helpers import running, settings, soon

WHO = (identity("ann"), identity("bob"))


def quota(to: str, **bounds: float) -> str:
    lines = [f"{name} = {value}" for name, value in bounds.items()]
    return "\n".join(("[[quota]]", f'to = ["{to}"]', *lines, ""))


@asynccontextmanager
async def hub(folder: Path, *quotas: str, data: Path | None = None) -> AsyncIterator[Broker]:
    path = identities(folder, *WHO, *quotas)
    async with running(settings("hub", identities=path, data=data)) as broker:
        yield broker


@pytest.mark.network
async def test_subscriptions_beyond_the_quota_are_refused_over_all_connections(
    tmp_path: Path,
) -> None:
    async with hub(tmp_path, quota("ann", subscriptions=3)) as broker:
        address = str(broker.address)
        one, two, bob = (sapwood.connect(address, token=who) for who in ("ann", "ann", "bob"))
        async with one, two, bob:
            first = await one.subscribe("a = 1")
            await two.subscribe("a = 2")
            group = await one.subscribe_many({"x": "a = 3", "y": "a = 4"})
            assert list(group.refused) == ["y"]
            assert "the quota subscriptions of this identity is 3" in group.refused["y"]
            with pytest.raises(InputError, match="quota subscriptions"):
                await two.subscribe("a = 5")
            await first.change("a = 6")  # another filter is not another subscription
            await bob.publish({"a": 6})
            assert (await soon(anext(first))).attributes == {"a": 6}
            await one.unsubscribe(first)
            await one.unsubscribe(group)
            await two.subscribe_many(["a = 5", "a = 7"])
            for number in range(5):
                await bob.subscribe(f"a = {number}")


@pytest.mark.network
async def test_conjunctions_are_counted_and_those_who_left_use_none(tmp_path: Path) -> None:
    async with hub(tmp_path, quota("*", conjunctions=3), data=tmp_path / "data") as broker:
        address = str(broker.address)
        async with sapwood.connect(address, token="ann") as ann:
            some = await ann.subscribe("a = 1 or b = 1")
            with pytest.raises(InputError, match="quota conjunctions of this identity is 3, of wh"):
                await ann.subscribe("c = 1 or d = 1")
            with pytest.raises(InputError, match="quota conjunctions"):
                await ann.subscribe("c = 1 or d = 1", durable="mine")
            with pytest.raises(InputError, match="quota conjunctions"):
                await some.change("a = 1 or b = 1 or c = 1 or d = 1")
            await some.change("a = 1")
            await ann.subscribe("c = 1 or d = 1", durable="mine")
            await ann.subscribe("c = 1 or d = 1")
        await soon(broker.connections.until(lambda: not broker.connections.clients))
        async with sapwood.connect(address, token="ann") as ann:
            await ann.subscribe("a = 1 or b = 1 or c = 1")


@pytest.mark.network
async def test_publications_beyond_the_rate_are_refused_one_by_one(tmp_path: Path) -> None:
    slow = quota("ann", publications_per_s=20)  # tokens come back while this test runs: few do
    async with hub(tmp_path, slow) as broker:
        address = str(broker.address)
        ann, bob = (sapwood.connect(address, token=who) for who in ("ann", "bob"))
        async with ann, bob:
            seen = await bob.subscribe("exists n")
            done = await ann.publish_many([{"n": n} for n in range(500)])
            assert 20 <= done.accepted < 500
            assert done.accepted + len(done.refused) == 500
            said = {one.reason for one in done.refused}
            (reason,) = said
            assert reason.startswith("the quota publications_per_s of this identity is 20: publish")
            got = [(await soon(anext(seen))).attributes["n"] for _ in range(done.accepted)]
            assert got[:20] == list(range(20))
            assert (await bob.publish_many([{"m": n} for n in range(500)])).accepted == 500


def admitted(authenticator: Authenticator, who: str) -> Admitted:
    hello = Hello(role=Role.CLIENT, name="c", session="s", credentials=Credentials("", who))
    found = authenticator.decide(hello, frozenset(), 0.0)
    assert isinstance(found, Admitted)
    return found


def test_quotas_are_read_again_and_count_for_who_is_connected(tmp_path: Path) -> None:
    read = read_identities(identities(tmp_path, *WHO, quota("ann", subscriptions=3)))
    authenticator = Authenticator(read)
    ann, bob = admitted(authenticator, "ann"), admitted(authenticator, "bob")
    assert bob.usage is None
    assert ann.usage is not None
    assert admitted(authenticator, "ann").usage is ann.usage
    authenticator.take(read_identities(identities(tmp_path, *WHO, quota("*", conjunctions=1))))
    assert ann.usage.quota == Quota(conjunctions=1)
    assert authenticator.holds(ann, 0.0)
    assert not authenticator.holds(bob, 0.0)  # of whom nothing was counted
    authenticator.take(read_identities(identities(tmp_path, *WHO)))
    assert ann.usage.quota == Quota()
    assert authenticator.holds(ann, 0.0)
    assert authenticator.holds(bob, 0.0)


def test_of_each_number_the_first_entry_counts(tmp_path: Path) -> None:
    read = read_identities(
        identities(
            tmp_path,
            *WHO,
            quota("ann", subscriptions=1),
            quota("a*", subscriptions=2, conjunctions=2),
            quota("*", subscriptions=3, conjunctions=3, bytes_per_s=3, publications_per_s=0.5),
        )
    )
    assert read.quota_of("ann") == Quota(1, 2, 0.5, 3.0)
    assert read.quota_of("bob") == Quota(3, 3, 0.5, 3.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (quota("ann"), "quota 1 (to ann): nothing is bounded: say subscriptions, conjunctions"),
        (quota("ann", subscriptions=-1), "quota 1 (to ann): subscriptions is -1; it takes 0 to"),
        ("[[quota]]\nto = []\nsubscriptions = 1", "to: nobody is named"),
        ("[[quota]]\nto = ['ann']\nsubscriptoins = 1", "subscriptoins"),
        ("[[quota]]\nto = ['ann']\nsubscriptions = 'x'", "Expected `int | null`, got `str`"),
    ],
)
def test_an_entry_that_cannot_be_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_identities(identities(tmp_path, *WHO, text))
    assert said in str(refused.value)


def test_what_those_use_who_are_not_connected_is_forgotten_at_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"c{number}" for number in range(6)]
    everybody = [identity(name) for name in names]
    read = read_identities(identities(tmp_path, *everybody, quota("*", subscriptions=1)))
    monkeypatch.setattr(authentication, "USAGES_MAX", 4)
    authenticator = Authenticator(read)
    first = admitted(authenticator, "c0").usage
    assert first is not None
    Account(first)
    others = [admitted(authenticator, name).usage for name in names[1:]]
    assert admitted(authenticator, "c0").usage is first
    assert admitted(authenticator, "c5").usage is others[-1]
    assert admitted(authenticator, "c1").usage is not others[0]


@pytest.mark.network
async def test_filters_that_cost_more_than_is_left_are_refused(tmp_path: Path) -> None:
    async with (
        hub(tmp_path, quota("ann", cost=4_000.0)) as broker,
        sapwood.connect(str(broker.address), token="ann") as ann,
    ):
        first = await ann.subscribe("name not like '%ab%'")
        await ann.subscribe("a = 1")
        with pytest.raises(InputError, match=r"quota cost .* most of it is name not like '%ab%'"):
            await ann.subscribe("name not like '%ab%' or name not like '%cd%'")
        group = await ann.subscribe_many(["b = 1", "name not like '%e%' or name not like '%f%'"])
        (why,) = group.refused.values()
        assert why.startswith("the quota cost of this identity is 4,000 ns")
        await ann.unsubscribe(first)
        await ann.subscribe("name not like '%ef%'")


@pytest.mark.network
async def test_no_filter_may_cost_more_than_the_broker_lets_any(tmp_path: Path) -> None:
    more = {"identities": identities(tmp_path, *WHO), "filter_cost_max": 100.0}
    async with (
        running(settings("hub", data=tmp_path / "data", **more)) as broker,
        sapwood.connect(str(broker.address), token="ann") as ann,
    ):
        said = "--filter-cost-max is 100 ns: most of it is name not like '%ab%', tried on each text"
        with pytest.raises(InputError, match=said):
            await ann.subscribe("name not like '%ab%'")
        with pytest.raises(InputError, match=said):
            await ann.subscribe("name not like '%ab%'", durable="mine")
        await ann.subscribe("name not like '%ab%' and a = 1")
        broker.handshake.take(None, settings("hub", filter_cost_max=1.0))
        with pytest.raises(InputError, match=r"-max is 1 ns: most of it is b > 1"):
            await ann.subscribe("b > 1")


@pytest.mark.network
async def test_durable_subscriptions_and_what_is_set_aside_for_them_are_bounded(
    tmp_path: Path,
) -> None:
    bounds = quota("ann", durables=2, durable_bytes=1_000_000)
    async with hub(tmp_path, bounds, data=tmp_path / "data") as broker:
        address = str(broker.address)
        async with sapwood.connect(address, token="ann") as ann:
            await ann.subscribe("a = 1", durable="one", max_bytes=300_000)
            with pytest.raises(InputError, match=r"quota durable_bytes .* is 1,000,000, of which"):
                await ann.subscribe("a = 2", durable="two", max_bytes=800_000)
            await ann.subscribe("a = 2", durable="two")
            (_, two) = await ann.durables()
            assert two.policy.bytes_max == 700_000
            with pytest.raises(InputError, match=r"quota durables .* is 2, of which 2 are in use"):
                await ann.subscribe("a = 3", durable="three")
            await ann.subscribe("a = 3", since="all")  # ends with the connection: on no quota
        async with sapwood.connect(address, token="bob") as bob:
            await bob.subscribe("a = 3", durable="bobs")
            await bob.remove_durable("one")
    async with (
        hub(tmp_path, bounds, data=tmp_path / "data") as broker,
        sapwood.connect(str(broker.address), token="ann") as ann,
    ):
        with pytest.raises(InputError, match="quota durable_bytes"):
            await ann.subscribe("a = 2", durable="two", max_bytes=1_000_001)
        await ann.subscribe("a = 2", durable="two", max_bytes=900_000)
        await ann.subscribe("a = 3", durable="three", max_bytes=100_000)
        with pytest.raises(InputError, match="quota durables"):
            await ann.subscribe("a = 4", durable="four")
