"""The asyncio client and a broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import sapwood
from sapwood import parse_filter, parse_xpath
from sapwood.client import Delivery, Published, RefusedPublication, connect
from sapwood.errors import (
    ConnectionLostError,
    DuplicateIdError,
    FilterSyntaxError,
    HandshakeError,
    InputError,
    InvalidValueError,
    LimitError,
    UnknownIdError,
)
from sapwood.limits import FILTER_TEXT_CHARS_MAX, FRAME_BYTES_FLOOR, UNACKNOWLEDGED_MAX
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Welcome
from sapwood.wire.messages import (
    AdvertisementRefused,
    AdvertiseRequest,
    LinkAdvertise,
    LinkConfirm,
    LinkConfirmAdvertisement,
    LinkSubscribe,
    LinkUnadvertise,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnsubscribeRequest,
)
from tests.client.helpers import serving
from tests.server.helpers import Raw, line, running, settings, soon


async def test_the_package_connects() -> None:
    async with running() as broker, sapwood.connect(str(broker.address)) as client:
        wanted = await client.subscribe("price > 10")
        await client.publish({"price": 5})
        assert await client.publish({"price": 12, "note": None, "tags": [1]}, "p1") == "p1"
        delivered = await soon(anext(wanted))
    assert delivered == Delivery("p1", {"price": 12, "note": None, "tags": [1]}, (wanted.id,))
    assert delivered.publication() == Publication("p1", {"price": 12, "note": None, "tags": [1]})
    assert [one async for one in wanted] == []


async def test_a_subscription_is_confirmed_by_the_whole_overlay() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")
        subscribing = asyncio.create_task(client.subscribe("a = 1"))
        asked = await neighbor.next()
        assert isinstance(asked, LinkSubscribe)
        # A publication is answered after the subscription could have been.
        await client.publish({"b": 1})
        assert not subscribing.done()
        neighbor.say(LinkConfirm(asked.key, asked.sending))
        assert (await soon(subscribing)).filter == parse_filter("a = 1")
        await neighbor.close()


async def test_each_subscription_gets_its_own() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        low = await client.subscribe("a < 5", "low")
        all_ = await client.subscribe(parse_filter("exists a"), "all")
        await client.publish_many({"a": n} for n in (1, 9))
        assert [(await soon(anext(all_))).subscriptions for _ in range(2)] == [
            ("all", "low"),
            ("all",),
        ]
        assert (await soon(anext(low))).attributes == {"a": 1}
        assert len(low) == 0


async def test_documents_reach_those_who_asked_for_them() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe(parse_xpath("//p:b[@k = 1]", {"p": "urn:x"}), "docs")
        records = await client.subscribe("x is null", "records")
        document = b"<a xmlns='urn:x'><b k='1'/></a>"
        await client.publish_many([document, {"y": 1}, b"<a><b k='1'/></a>"])
        await client.publish(Publication("both", {"y": 2}, document))
        first, second = await soon(anext(wanted)), await soon(anext(wanted))
        assert (first.attributes, first.has_record, first.document) == ({}, False, document)
        assert second.publication() == Publication("both", {"y": 2}, document)
        assert second.subscriptions == ("docs", "records")
        assert [(await soon(anext(records))).attributes["y"] for _ in range(2)] == [1, 2]


async def test_a_document_that_is_none_is_refused_and_nobody_else_is_disturbed() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe(parse_xpath("/*"))
        done = await client.publish_many([b"<a>", b"<!DOCTYPE a><a/>", b"<a/>"])
        assert done.accepted == 1
        assert ["column" in one.reason for one in done.refused] == [True, True]
        with pytest.raises(InputError, match="DOCTYPE"):
            await client.publish(b"<!DOCTYPE a><a/>")
        assert (await soon(anext(wanted))).document == b"<a/>"


async def test_documents_are_published_as_their_paths_were_advertised() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe(parse_xpath("//b"))
        await client.advertise(sapwood.parse_advertisement("/a(/b)+"))
        await client.publish(b"<a><b><b/></b></a>", "p1")
        with pytest.raises(InputError, match="none of the client's advertisements"):
            await client.publish(b"<a><c/></a>")
        assert (await soon(anext(wanted))).id == "p1"


async def test_one_iterator_for_all_subscriptions_has_each_publication_once() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        merged = client.deliveries()
        low = await client.subscribe("a < 5", "low")
        await client.subscribe("exists a", "all")
        await client.publish_many({"a": n} for n in (1, 9))
        assert [(await soon(anext(merged))).attributes["a"] for _ in range(2)] == [1, 9]
        assert len(low) == len(merged) == 0
        assert client.deliveries() is merged


async def test_ids_of_subscriptions_are_made_where_none_is_given() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        taken = await client.subscribe("a = 1", "s2")
        ids = {taken.id, *[(await client.subscribe("a = 1")).id for _ in range(3)]}
        assert len(ids) == 4


async def test_unsubscribing_ends_the_iterator_and_frees_the_id() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("a = 1", "s")
        await client.publish({"a": 1}, "p1")
        both = (client.unsubscribe(wanted), client.unsubscribe("s"))
        await soon(asyncio.gather(*both))
        await client.publish({"a": 1}, "p2")
        assert [one.id async for one in wanted] == ["p1"]
        with pytest.raises(UnknownIdError):
            await client.unsubscribe("s")
        await client.subscribe("a = 2", "s")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("a =",), FilterSyntaxError),
        (("a = 1", ""), InputError),
        (("a = 1", "x" * 1000), LimitError),
        (("a = 1", "taken"), DuplicateIdError),
    ],
)
async def test_what_cannot_be_subscribed_is_told_at_once(
    given: tuple[str, ...], error: type[Exception]
) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await client.subscribe("a = 1", "taken")
        with pytest.raises(error):
            await client.subscribe(*given)


async def test_a_filter_without_a_readable_text_is_refused() -> None:
    wide = " or ".join(f"a = '{'x' * 500}{n}'" for n in range(100))
    halves = (parse_filter(wide), parse_filter(wide.replace("a =", "b =")))
    huge = Filter.from_conjunctions(one for half in halves for one in half.conjunctions)
    assert len(str(huge)) > FILTER_TEXT_CHARS_MAX
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
            await client.subscribe(huge)


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


async def test_an_application_that_does_not_take_its_deliveries_is_told() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        slow = await client.subscribe("exists a", "slow", waiting_max=3)
        other = await client.subscribe("exists a", "other")
        await client.publish_many({"a": n} for n in range(10))
        assert [(await soon(anext(slow))).attributes["a"] for _ in range(3)] == [0, 1, 2]
        with pytest.raises(LimitError, match="DELIVERIES_WAITING_MAX is 3"):
            await soon(anext(slow))
        assert [(await soon(anext(other))).attributes["a"] for _ in range(10)] == list(range(10))
        await client.publish({"a": 10})
        assert (await soon(anext(other))).subscriptions == ("other",)


async def test_a_merged_iterator_that_is_too_slow_can_be_had_anew() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        merged = client.deliveries(waiting_max=1)
        await client.subscribe("exists a")
        await client.publish_many({"a": n} for n in range(3))
        assert (await soon(anext(merged))).attributes == {"a": 0}
        with pytest.raises(LimitError):
            await soon(anext(merged))
        again = client.deliveries()
        await client.publish({"a": 3})
        assert (await soon(anext(again))).attributes == {"a": 3}


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


# Publishing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "error"),
    [({"a": float("nan")}, InvalidValueError), ({"a": "x" * 3_000_000}, LimitError)],
)
async def test_what_cannot_be_published_is_told_at_once(
    attributes: dict[str, Any], error: type[Exception]
) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(error):
            await client.publish(attributes)
        await client.publish({"a": 1})
        assert broker.counters.publications == 1


async def test_the_broker_s_bound_is_the_client_s() -> None:
    small = settings(frame_bytes_max=FRAME_BYTES_FLOOR)
    async with running(small) as broker, connect(str(broker.address)) as client:
        with pytest.raises(LimitError, match="FRAME_BYTES_MAX"):
            await client.publish({"a": "x" * FRAME_BYTES_FLOOR})


async def test_a_publication_keeps_or_gets_its_id() -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        assert await client.publish(Publication("p1", {"a": 1})) == "p1"
        assert await client.publish(Publication("p1", {"a": 1}), "p2") == "p2"
        made = [await client.publish({"a": 1}) for _ in range(2)]
        assert made[0] != made[1]
        assert all(id_.startswith("c.") for id_ in made)


async def test_many_publications_pass_a_window_smaller_than_them() -> None:
    count = UNACKNOWLEDGED_MAX * 2 + 5
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("exists a")
        publishing = asyncio.create_task(client.publish_many({"a": n} for n in range(count)))
        received = [(await soon(anext(wanted))).attributes["a"] for _ in range(count)]
        assert received == list(range(count))
        assert await soon(publishing) == Published(count, ())


async def test_publications_may_come_asynchronously() -> None:
    async def source() -> AsyncIterator[dict[str, int]]:
        for n in range(3):
            await asyncio.sleep(0)
            yield {"a": n}

    async with running() as broker, connect(str(broker.address)) as client:
        assert (await soon(client.publish_many(source()))).accepted == 3


async def test_a_slow_source_is_published_as_it_comes() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("exists a")

        async def source() -> AsyncIterator[dict[str, int]]:
            for n in range(3):
                yield {"a": n}
                # The next comes only when this one has been delivered.
                assert (await soon(anext(wanted))).attributes == {"a": n}

        assert (await soon(client.publish_many(source()))).accepted == 3


async def test_publications_before_a_bad_one_are_published() -> None:
    def source() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        yield {"a": float("nan")}

    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InvalidValueError):
            await client.publish_many(source())
        await client.flush()
        assert broker.counters.publications == 1


async def test_what_the_broker_refuses_is_told_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    # A client of another release, which does not check what it sends.
    from msgspec import Raw as Bytes

    from sapwood.client import client as module

    def unchecked(publication: Publication, _bound: int) -> Bytes:
        return Bytes(b"\xc0" if publication.id == "bad" else b"\x92\xa1p\x80")

    monkeypatch.setattr(module, "encode_publication", unchecked)
    async with running() as broker, connect(str(broker.address)) as client:
        published = await client.publish_many([Publication(name, {}) for name in ("p", "bad", "q")])
        assert published.accepted == 2
        (refused,) = published.refused
        assert isinstance(refused, RefusedPublication)
        assert refused.id == "bad"
        with pytest.raises(InputError, match="publication 'bad' was refused: "):
            await client.publish(Publication("bad", {}))


async def test_connections_that_break_lose_and_repeat_no_publication() -> None:
    count = 3000
    async with line("r1", "r2") as brokers:
        home, far = brokers["r1"], brokers["r2"]
        async with (
            connect(str(home.address), "pub") as publisher,
            connect(str(far.address), "sub") as subscriber,
        ):
            wanted = await subscriber.subscribe("exists a")
            publishing = asyncio.create_task(publisher.publish_many({"a": n} for n in range(count)))
            received = []
            for n in range(count):
                received.append((await soon(anext(wanted))).attributes["a"])
                if n % 500 == 100:
                    peer = home.roster.clients.get("pub")
                    if peer is not None:
                        peer.abort()
            assert received == list(range(count))
            assert (await soon(publishing)).accepted == count
            await publisher.publish({"a": "last"})
            assert (await soon(anext(wanted))).attributes == {"a": "last"}
            assert publisher.reconnections > 0


async def test_a_client_that_comes_back_is_subscribed_again() -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        kept = await client.subscribe("a = 1", "kept")
        dropped = await client.subscribe("a = 1", "dropped")
        await client.unsubscribe(dropped)
        broker.roster.clients["c"].abort()
        await soon(broker.roster.until(lambda: not broker.roster.clients))
        await soon(client.publish({"a": 1}, "p1"))
        delivered = await soon(anext(kept))
        assert (delivered.id, delivered.subscriptions) == ("p1", ("kept",))
        assert client.reconnections == 1


# Life --------------------------------------------------------------------------------------------


async def test_a_client_that_is_not_entered_or_closed_says_so() -> None:
    async with running() as broker:
        client = connect(str(broker.address))
        with pytest.raises(ConnectionLostError, match="use it inside `async with`"):
            await client.publish({"a": 1})
        await client.close()
        async with client:
            pass
        with pytest.raises(ConnectionLostError, match="use it inside `async with`"):
            await client.subscribe("a = 1")
        with pytest.raises(InputError, match="can be entered once"):
            await client.__aenter__()


async def test_closing_ends_all_who_wait() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        wanted = client.deliveries()
        waiting = asyncio.create_task(wanted.take(1))
        subscribing = asyncio.create_task(client.subscribe("a = 1"))
        await neighbor.next()
        await client.close()
        assert await waiting == []
        with pytest.raises(ConnectionLostError, match="was closed"):
            await subscribing
        await neighbor.close()


async def test_a_name_that_is_in_use_is_refused() -> None:
    async with running() as broker, connect(str(broker.address), "c"):
        with pytest.raises(HandshakeError, match="a client named c is connected already"):
            await soon(connect(str(broker.address), "c").__aenter__())


@pytest.mark.parametrize(("address", "name"), [("host:0", None), ("host:1", "two words")])
def test_an_address_or_name_that_cannot_be_is_refused(address: str, name: str | None) -> None:
    with pytest.raises(InputError):
        connect(address, name)


async def test_an_advertisement_is_in_force_when_the_whole_overlay_knows_it() -> None:
    async with (
        running(settings(protocol="advertisement")) as broker,
        connect(str(broker.address)) as client,
    ):
        with pytest.raises(InputError, match="advertise a filter that accepts"):
            await client.publish({"a": 1})
        neighbor = await Raw.neighbor(broker, "n")
        advertising = asyncio.create_task(client.advertise("a = 1"))
        asked = await neighbor.next()
        assert isinstance(asked, LinkAdvertise)
        with pytest.raises(InputError, match="is not in force yet"):
            await client.publish({"a": 1})
        assert not advertising.done()
        neighbor.say(LinkConfirmAdvertisement(asked.key, asked.sending))
        promise = await soon(advertising)
        await client.publish({"a": 1})
        with pytest.raises(InputError, match="none of the client's advertisements"):
            await client.publish({"a": 2})
        await client.unadvertise(promise)
        assert isinstance(await neighbor.next(), LinkUnadvertise)
        await neighbor.close()


async def test_advertisements_bind_a_client_under_every_protocol() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await client.publish({"a": 1})
        await client.advertise("a = 1", "a")
        with pytest.raises(DuplicateIdError):
            await client.advertise("a = 1", "a")
        with pytest.raises(FilterSyntaxError):
            await client.advertise("a =")
        assert {await client.advertise("a = 3"), await client.advertise("a = 4")}.isdisjoint("a")
        with pytest.raises(InputError):
            await client.publish({"a": 2})
        await soon(asyncio.gather(client.unadvertise("a"), client.unadvertise("a")))
        with pytest.raises(UnknownIdError):
            await client.unadvertise("a")
        with pytest.raises(InputError):
            await client.publish({"a": 1})


async def test_an_advertisement_whose_caller_gave_up_is_withdrawn() -> None:
    async with (
        running(settings(protocol="advertisement")) as broker,
        connect(str(broker.address)) as client,
    ):
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.advertise("a = 1", "a"), 0.001)
        assert isinstance(await neighbor.next(), LinkAdvertise)
        assert isinstance(await neighbor.next(), LinkUnadvertise)
        await neighbor.close()


async def test_a_client_that_comes_back_advertises_before_it_publishes_again() -> None:
    async with (
        running(settings(protocol="advertisement")) as broker,
        connect(str(broker.address), "c") as client,
    ):
        await client.advertise("a > 0")
        wanted = await client.subscribe("a > 1")
        await client.publish({"a": 2}, "p1")
        (peer,) = broker.roster.clients.values()
        peer.abort()
        result = await soon(client.publish_many({"a": n} for n in range(2, 50)))
        assert client.reconnections == 1
        assert result.accepted == 48
        assert result.refused == ()
        for _ in range(1 + 48):
            await soon(anext(wanted))


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
