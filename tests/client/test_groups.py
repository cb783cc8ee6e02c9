"""Many subscriptions of a client, requested, iterated and withdrawn together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.client import connect, requests
from sapwood.client.blocking import connect as blocking
from sapwood.client.groups import Wanted, texts
from sapwood.client.requests import SLICE_S
from sapwood.errors import ConnectionLostError, DuplicateIdError, InputError, LimitError
from sapwood.language.written import Written
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.session import bulk_requests
from sapwood.wire.interests import XPathText
from tests.broker.helpers import Raw, broker_in_a_thread, line, running, settings, soon


async def test_a_group_is_in_force_but_for_what_the_broker_refuses() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(
            {"low": "a < 5", "bad": "a <", "five": "a = 5", "all": parse_filter("exists a")}
        )
        assert list(group.ids) == ["low", "five", "all"]
        assert group.refused.keys() == {"bad"}
        with pytest.raises(InputError) as alone:
            await client.subscribe("a <", "bad")
        assert group.refused["bad"].splitlines()[0] in str(alone.value)
        await client.publish({"a": 5}, "p1")
        await client.publish({"a": 3}, "p2")
        found = [await soon(anext(group)) for _ in range(2)]
        assert [(one.id, one.subscriptions) for one in found] == [
            ("p1", ("all", "five")),
            ("p2", ("all", "low")),
        ], "each publication once"
        assert repr(group) == "SubscriptionGroup(3 subscriptions)"


async def test_a_group_that_is_withdrawn_ends_and_frees_its_ids() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(["a = 1", "a = 2", "a = 3"])
        member = next(iter(group.ids))
        await client.unsubscribe(member)
        assert member not in group.ids
        await client.unsubscribe(group)
        assert not group.ids
        assert await soon(group.take(1)) == []
        assert broker.router.table_sizes()["local"] == 0
        await client.unsubscribe(group)
        again = await client.subscribe_many([(member, "a = 1")])
        assert list(again.ids) == [member]


async def test_an_empty_group_is_answered_at_once() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many([])
        assert not group.ids
        assert not group.refused


async def test_an_id_that_is_taken_stops_a_group_before_anything_is_requested() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await client.subscribe("a = 1", "s")
        with pytest.raises(DuplicateIdError):
            await client.subscribe_many({"r": "a = 2", "s": "a = 3"})
        with pytest.raises(DuplicateIdError):
            await client.subscribe_many([("r", "a = 2"), ("r", "a = 3")])
        assert broker.router.table_sizes()["local"] == 1


async def test_a_group_whose_caller_gave_up_is_withdrawn() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        subscribing = asyncio.create_task(client.subscribe_many(["a = 1", "a = 2"]))
        await neighbor.next()
        subscribing.cancel()
        await asyncio.wait((subscribing,))
        await client.publish({"a": 1})
        assert broker.router.table_sizes()["local"] == 0
        await neighbor.close()


async def test_a_group_whose_queue_is_full_is_withdrawn_as_a_whole() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(["a = 1", "a > 0"], waiting_max=2)
        for _ in range(3):
            await client.publish({"a": 1})
        assert len(await soon(group.take(2))) == 2
        with pytest.raises(LimitError):
            await soon(anext(group))
        await client.publish({"a": 1})
        assert broker.router.table_sizes()["local"] == 0


async def test_a_client_that_comes_back_requests_its_group_again() -> None:
    async with running() as first:
        address, again = first.address, settings(listen=first.address)
        client = await connect(str(address)).__aenter__()
        group = await client.subscribe_many({f"s{n}": f"a = {n}" for n in range(600)})
    async with running(again) as broker:
        async with connect(str(broker.address)) as publisher:
            while broker.router.table_sizes()["local"] < 600:
                await asyncio.sleep(0.01)
            await publisher.publish({"a": 599}, "p")
            assert (await soon(anext(group))).subscriptions == ("s599",)
        assert client.reconnections == 1
        await client.close()


async def test_a_link_that_comes_up_is_told_of_more_than_goes_at_once() -> None:
    async with (
        running(settings("r1")) as first,
        connect(str(first.address)) as client,
        running(settings("r2")) as second,
        connect(str(second.address)) as publisher,
    ):
        group = await client.subscribe_many({f"s{n}": f"a = {n}" for n in range(1000)})
        second.keep_link(first.address)
        await soon(second.until_linked("r1"))
        while second.router.table_sizes()["received"] < 1000:
            await publisher.publish({"b": 1})
        await publisher.publish({"a": 999}, "p")
        assert (await soon(anext(group))).subscriptions == ("s999",)


async def test_a_group_spreads_over_brokers_and_is_confirmed_by_all() -> None:
    async with line("r1", "r2", "r3") as brokers:
        near, far = str(brokers["r1"].address), str(brokers["r3"].address)
        async with connect(near) as client, connect(far) as publisher:
            group = await client.subscribe_many({f"s{n}": f"a >= {n}" for n in range(60)})
            await publisher.publish({"a": 2}, "p")
            assert (await soon(anext(group))).subscriptions == ("s0", "s1", "s2")
            await client.unsubscribe(group)

            async def withdrawn_everywhere() -> None:
                # The client's answer does not wait for brokers farther away.
                while brokers["r3"].router.table_sizes()["received"]:
                    await asyncio.sleep(0)

            await soon(withdrawn_everywhere())


def test_the_blocking_client_does_the_same() -> None:
    with broker_in_a_thread() as address, blocking(address) as client:
        group = client.subscribe_many({"one": "a = 1", "bad": "a ="})
        assert list(group.ids) == ["one"]
        assert group.refused.keys() == {"bad"}
        client.publish({"a": 1}, "p")
        assert next(group).id == "p"
        client.unsubscribe(group)
        assert group.take(1) == []


def test_texts_travel_as_they_are_and_filters_as_their_normal_form() -> None:
    long = "x" * (FILTER_TEXT_CHARS_MAX + 1)
    numbers = iter(range(9))
    given: list[Wanted] = ["a  =  1", parse_filter("b  = 2"), parse_xpath("//c")]
    given.append(Written("filter", "no filter"))
    found = dict(texts(given, lambda: f"s{next(numbers)}"))
    assert found == {"s0": "a  =  1", "s1": "b = 2", "s2": XPathText("//c"), "s3": "no filter"}
    assert list(texts([("x", Written("xpath", "//d"))], str)) == [("x", XPathText("//d"))]
    with pytest.raises(LimitError):
        list(texts([long], str))
    with pytest.raises(LimitError):
        list(texts([("x", Written("xpath", long))], str))
    with pytest.raises(InputError, match="an id and a filter"):
        list(texts([("a", "b", "c")], str))  # type: ignore[arg-type]  # on purpose


class Items:
    """Filters that take the client as long to read as a slice, each."""

    def __init__(self, count: int, clock: Callable[[], float]) -> None:
        self.read = 0
        self._count, self._clock = count, clock

    def __iter__(self) -> Iterator[str]:
        for number in range(self._count):
            until = self._clock() + SLICE_S
            while self._clock() < until:
                pass
            self.read += 1
            yield f"a = {number}"


async def test_the_loop_is_free_while_items_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "SLICE_LEAST", 4)
    async with running() as broker, connect(str(broker.address)) as client:
        items = Items(20, asyncio.get_running_loop().time)
        seen: list[int] = []
        subscribing = asyncio.create_task(client.subscribe_many(items))
        while not subscribing.done():
            seen.append(items.read)
            await asyncio.sleep(0)
        assert {0, 5, 9, 13, 17} <= set(seen) <= {0, 1, 5, 9, 13, 17, 20}
        assert len((await subscribing).ids) == 20


async def test_progress_is_how_many_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_requests, "SUBSCRIPTIONS_WANTED_AT_ONCE_MAX", 40)
    monkeypatch.setattr(bulk_requests, "SUBSCRIPTIONS_UNANSWERED_MAX", 80)
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = {f"s{n}": "a =" if n == 7 else f"a = {n}" for n in range(300)}
        progress: list[int] = []
        group = await client.subscribe_many(wanted, progress=progress.append)
        assert progress == sorted(progress)
        assert progress[-1] == 300
        assert len(progress) >= 4, "80 at most are under way"
        assert (len(group.ids), list(group.refused)) == (299, ["s7"])
        assert client._session.outgoing_bytes == 0
        await client.unsubscribe(group)
        assert broker.router.table_sizes()["local"] == 0
        assert not len(client._subscriptions)


@pytest.mark.parametrize("where", ["items", "progress"])
async def test_what_the_application_raises_leaves_nothing_behind(where: str) -> None:
    def failing() -> Iterator[tuple[str, str]]:
        for number in range(200):
            if where == "items" and number == 150:
                raise ZeroDivisionError
            yield f"s{number}", "a = 1"

    def progress(count: int) -> None:
        if where == "progress" and count:
            raise ZeroDivisionError

    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(ZeroDivisionError):
            await client.subscribe_many(failing(), progress=progress)
        assert broker.router.table_sizes()["local"] == 0
        group = await client.subscribe_many({"s0": "a = 1"})
        assert list(group.ids) == ["s0"]


async def test_an_id_that_is_being_read_is_taken() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        loop = asyncio.get_running_loop()
        pairs = ((f"s{n}", one) for n, one in enumerate(Items(40, loop.time)))
        subscribing = asyncio.create_task(client.subscribe_many(pairs))
        await asyncio.sleep(0)
        with pytest.raises(DuplicateIdError):
            await client.subscribe("a = 1", "s0")
        await client.unsubscribe("s0")
        group = await subscribing
        assert len(group.ids) == 39
        assert broker.router.table_sizes()["local"] == 39


async def test_a_client_that_is_gone_says_so_to_who_waits_for_a_group() -> None:
    async with running() as broker:
        client = await connect(str(broker.address)).__aenter__()
        items = Items(40, asyncio.get_running_loop().time)
        subscribing = asyncio.create_task(client.subscribe_many(items))
        await asyncio.sleep(0)
        await client.close()
        with pytest.raises(ConnectionLostError):
            await subscribing
