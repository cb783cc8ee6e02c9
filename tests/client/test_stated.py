"""Subscriptions and advertisements from their statement to their withdrawal."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.client import connect
from sapwood.client.stated import Saying, Stated
from sapwood.errors import (
    DuplicateIdError,
    InputError,
    UnknownIdError,
)
from sapwood.routing.messages import Advertise, Unadvertise
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Welcome
from sapwood.wire.messages import (
    AdvertisementRefused,
    AdvertiseRequest,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribeRequest,
)
from tests.client.helpers import serving
from tests.server.helpers import Raw, running, settings, soon


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
    """Hears what is stated, and answers withdrawals where it is told to."""

    def __init__(self, *, answers: bool = True) -> None:
        self.said: list[str] = []
        self.ended: list[tuple[str, Exception | None]] = []
        self._answers = answers

    def stated(self) -> Stated[str]:
        return Stated(
            Saying(
                noun="promise",
                state=lambda id_, one: self.said.append(f"{id_}: {one}"),
                withdraw=self._withdraw,
                flush=lambda: None,
                end=lambda one, error: self.ended.append((one, error)),
            )
        )

    def _withdraw(self, id_: str) -> bool:
        self.said.append(f"not {id_}")
        return self._answers


async def test_what_is_stated_is_held_until_it_is_withdrawn_once() -> None:
    broker = Broker()
    stated = broker.stated()
    stating = asyncio.create_task(stated.add("a", "one"))
    await asyncio.sleep(0)
    with pytest.raises(DuplicateIdError):
        await stated.add("a", "other")
    stated.in_force("a")
    await stating
    assert ("a" in stated, stated.get("a"), list(stated)) == (True, "one", ["one"])
    leaving = [asyncio.create_task(stated.remove("a")) for _ in range(2)]
    await asyncio.sleep(0)
    stated.withdrawn("a")
    await asyncio.gather(*leaving)
    assert broker.said == ["a: one", "not a"]
    assert broker.ended == [("one", None)]
    with pytest.raises(UnknownIdError):
        await stated.remove("a")


async def test_a_withdrawal_that_nobody_answers_is_done_at_once() -> None:
    broker = Broker(answers=False)
    stated = broker.stated()
    stating = asyncio.create_task(stated.add("a", "one"))
    await asyncio.sleep(0)
    stated.in_force("a")
    await stating
    await stated.remove("a")
    assert broker.ended == [("one", None)]


async def test_what_is_refused_ends_with_the_reason() -> None:
    broker = Broker()
    stated = broker.stated()
    stating = asyncio.create_task(stated.add("a", "one"))
    await asyncio.sleep(0)
    stated.refused("a", "no room")
    stated.refused("b", "never heard of it")
    with pytest.raises(InputError, match="promise 'a' was refused: no room") as refused:
        await stating
    assert broker.ended == [("one", refused.value)]
