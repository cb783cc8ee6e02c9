"""Subscriptions and advertisements from their statement to their withdrawal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from sapwood.client import connect
from sapwood.client.requests import Request, Requesting, Requests, finish
from sapwood.errors import (
    ConnectionLostError,
    DuplicateIdError,
    InputError,
    UnknownIdError,
)
from sapwood.routing.messages import Advertise, Unadvertise
from sapwood.session.client_entries import (
    SUBSCRIPTION,
    ClientEntries,
    Entry,
    EntryConfirmed,
    EntryEvent,
    EntryRefused,
    EntryWithdrawn,
)
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Welcome
from sapwood.wire.interests import InterestText
from sapwood.wire.messages import (
    AdvertisementRefused,
    AdvertiseRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribeRequest,
)
from tests.broker.helpers import Raw, running, settings, soon
from tests.client.helpers import serving


async def test_ids_of_subscriptions_are_made_where_none_is_given() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        taken = await client.subscribe("a = 1", "s2")
        ids = {taken.id, *[(await client.subscribe("a = 1")).id for _ in range(3)]}
        assert len(ids) == 4


async def test_a_subscription_whose_caller_gave_up_is_withdrawn() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        subscribing = asyncio.create_task(client.subscribe("a = 1", "s"))
        await neighbor.next()
        subscribing.cancel()
        await asyncio.wait((subscribing,))
        await client.publish({"a": 1})
        assert broker.router.table_sizes()["local"] == 0
        await neighbor.close()


async def test_a_subscription_that_is_withdrawn_before_it_is_in_force_says_so() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")
        subscribing = asyncio.create_task(client.subscribe("a = 1", "s"))
        await neighbor.next()
        await client.unsubscribe("s")
        with pytest.raises(InputError, match="withdrawn before it was in force"):
            await subscribing
        await neighbor.close()


async def test_a_subscription_that_the_broker_refuses_is_told_with_its_reason() -> None:
    async def refusing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = Decoder(None)
        buffer = bytearray(
            greeting_frame(Welcome(name="r1", session="b", frame_bytes_max=1_048_576))
        )
        while data := await reader.read(1000):
            for message in decoder.feed(data):
                if isinstance(message, SubscribeRequest):
                    append_message(buffer, SubscriptionRefused(message.id, "no room"))
            writer.write(bytes(buffer))
            buffer.clear()

    async with serving(refusing) as address, connect(str(address)) as client:
        for _ in range(2):
            with pytest.raises(InputError, match="subscription 's' was refused: no room"):
                await soon(client.subscribe("a = 1", "s"))


async def test_a_withdrawal_is_done_when_its_connection_is_lost() -> None:
    async def cutting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = Decoder(None)
        writer.write(greeting_frame(Welcome(name="r1", session="b", frame_bytes_max=1_048_576)))
        while data := await reader.read(1000):
            for message in decoder.feed(data):
                if isinstance(message, SubscribeRequest):
                    reply = bytearray()
                    append_message(reply, SubscribedReply(message.id))
                    writer.write(bytes(reply))
                if isinstance(message, SubscribeManyRequest):
                    reply = bytearray()
                    append_message(reply, SubscribedManyReply(message.ids))
                    writer.write(bytes(reply))
                if isinstance(message, UnsubscribeRequest):
                    return

    async with serving(cutting) as address, connect(str(address)) as client:
        wanted = await soon(client.subscribe("a = 1", "s"))
        await soon(client.unsubscribe("s"))
        assert [one async for one in wanted] == []
        # While it is away, nobody has to be asked.
        await soon(client.subscribe("a = 1", "t"))
        await soon(client.unsubscribe("t"))


async def test_an_advertisement_whose_caller_gave_up_is_withdrawn() -> None:
    async with (
        running(settings(protocol="advertisement")) as broker,
        connect(str(broker.address)) as client,
    ):
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.advertise("a = 1", "a"), 0.001)
        assert isinstance(await neighbor.next(), Advertise)
        assert isinstance(await neighbor.next(), Unadvertise)
        await neighbor.close()


async def test_an_advertisement_that_the_broker_refuses_is_not_there() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = Decoder(None)
        buffer = bytearray()
        while data := await reader.read(1000):
            for message in decoder.feed(data):
                if isinstance(message, AdvertiseRequest):
                    append_message(buffer, AdvertisementRefused(message.id, "not here"))
                else:
                    buffer += greeting_frame(
                        Welcome(name="b", session="s", frame_bytes_max=1_048_576)
                    )
            writer.write(bytes(buffer))
            buffer.clear()

    async with serving(refuse) as address, connect(str(address), reconnect=False) as client:
        for _ in range(2):
            with pytest.raises(InputError, match="advertisement 'a' was refused: not here"):
                await client.advertise("a = 1", "a")
        with pytest.raises(UnknownIdError):
            await client.unadvertise("a")


class Broker:
    """Hears what is requested, and answers withdrawals where it is told to."""

    def __init__(self, *, answers: bool = True) -> None:
        self.heard: list[str] = []
        self.ended: list[tuple[str, Exception | None]] = []
        self.entries: ClientEntries[InterestText, Request[str]] = ClientEntries(SUBSCRIPTION)
        self.requests = Requests(
            self.entries,
            Requesting(
                request=self.request,
                withdraw=self._withdraw,
                flush=lambda: None,
                ended=lambda value, error: self.ended.append((value, error)),
            ),
        )
        self._answers = answers

    def answer(self, kind: Callable[[Entry[Any, Any]], EntryEvent], id_: str) -> None:
        """Hand on the event that the session makes of an answer."""
        entry = self.entries.get(id_)
        assert entry is not None
        event = kind(entry)
        if not isinstance(event, EntryConfirmed):
            self.entries.remove(entry)
        self.requests.answered(event)

    async def in_force(self, id_: str, value: str) -> None:
        """Request something that is confirmed at once."""
        adding = asyncio.create_task(self.requests.add(id_, "x = 1", value))
        await asyncio.sleep(0)
        self.answer(EntryConfirmed, id_)
        await adding

    def request(self, id_: str, filter_: InterestText, request: Request[str]) -> None:
        self.entries.add(id_, filter_, request)
        self.heard.append(f"{id_}: {filter_}")

    def _withdraw(self, id_: str) -> bool:
        entry = self.entries.get(id_)
        assert entry is not None
        if not entry.is_leaving:
            self.heard.append(f"not {id_}")
        entry.is_leaving = True
        if not self._answers:
            self.entries.remove(entry)
        return self._answers


async def test_an_entry_is_there_until_it_is_withdrawn_once() -> None:
    broker = Broker()
    requests = broker.requests
    adding = asyncio.create_task(requests.add("a", "x = 1", "one"))
    await asyncio.sleep(0)
    with pytest.raises(DuplicateIdError):
        await requests.add("a", "x = 2", "other")
    assert not adding.done()
    for _ in range(2):  # again after the client has come back
        broker.answer(EntryConfirmed, "a")
    await adding
    assert ("a" in requests, requests.get("a"), list(requests)) == (True, "one", ["one"])
    leaving = [asyncio.create_task(requests.remove("a")) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in leaving)
    broker.answer(EntryWithdrawn, "a")
    await asyncio.gather(*leaving)
    assert broker.heard == ["a: x = 1", "not a"]
    assert broker.ended == [("one", None)]
    assert requests.get("a") is None
    with pytest.raises(UnknownIdError):
        await requests.remove("a")


async def test_a_withdrawal_that_nobody_answers_is_done_at_once() -> None:
    broker = Broker(answers=False)
    await broker.in_force("a", "one")
    await broker.requests.remove("a")
    assert broker.ended == [("one", None)]


async def test_a_withdrawal_can_be_waited_for_after_it_was_begun() -> None:
    broker = Broker()
    await broker.in_force("a", "one")
    broker.requests.withdraw("a")
    leaving = asyncio.create_task(broker.requests.remove("a"))
    await asyncio.sleep(0)
    broker.answer(EntryWithdrawn, "a")
    await leaving
    assert broker.heard == ["a: x = 1", "not a"]


async def test_what_is_refused_ends_with_the_reason() -> None:
    broker = Broker()
    adding = asyncio.create_task(broker.requests.add("a", "x = 1", "one"))
    await asyncio.sleep(0)
    broker.answer(partial(EntryRefused, reason="no room"), "a")
    with pytest.raises(InputError, match="subscription 'a' was refused: no room") as refused:
        await adding
    assert broker.ended == [("one", refused.value)]


async def test_a_withdrawal_that_is_refused_is_over() -> None:
    broker = Broker()
    await broker.in_force("a", "one")
    leaving = asyncio.create_task(broker.requests.remove("a"))
    await asyncio.sleep(0)
    broker.answer(partial(EntryRefused, reason="unknown"), "a")
    await leaving


async def test_what_is_withdrawn_before_it_is_in_force_says_so() -> None:
    broker = Broker()
    adding = asyncio.create_task(broker.requests.add("a", "x = 1", "one"))
    await asyncio.sleep(0)
    broker.requests.withdraw("a")
    broker.answer(EntryWithdrawn, "a")
    with pytest.raises(InputError, match="subscription 'a' was withdrawn before it was in force"):
        await adding
    assert broker.ended == [("one", None)]


async def test_who_gives_up_withdraws_its_own_request_and_not_the_next_of_that_id() -> None:
    broker = Broker()
    adding = asyncio.create_task(broker.requests.add("a", "x = 1", "one"))
    await asyncio.sleep(0)
    broker.answer(EntryWithdrawn, "a")
    confirmed = asyncio.get_running_loop().create_future()
    broker.request("a", "x = 2", Request("other", confirmed))
    adding.cancel()
    await asyncio.wait((adding,))
    assert adding.cancelled()
    assert broker.heard == ["a: x = 1", "a: x = 2"]


async def test_all_hear_of_the_end() -> None:
    broker = Broker()
    await broker.in_force("a", "one")
    leaving = asyncio.create_task(broker.requests.remove("a"))
    adding = asyncio.create_task(broker.requests.add("b", "x = 1", "other"))
    await asyncio.sleep(0)
    broker.requests.fail(ConnectionLostError("gone"))
    with pytest.raises(ConnectionLostError):
        await adding
    await leaving


async def test_finish_leaves_alone_what_is_finished() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    finish(None, None)
    finish(future, None)
    finish(future, InputError("late"))
    assert future.exception() is None
