"""The asyncio client and a broker."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

import sapwood
from sapwood import parse_filter, parse_xpath
from sapwood.client import Delivery, connect
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
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    Subscribe,
    Unadvertise,
)
from tests.broker.helpers import Raw, running, settings, soon


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
        assert isinstance(asked, Subscribe)
        # A publication is answered after the subscription could have been.
        await client.publish({"b": 1})
        assert not subscribing.done()
        neighbor.say(Confirm(asked.key, asked.sending))
        assert (await soon(subscribing)).filter == parse_filter("a = 1")
        await neighbor.close()


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
        (("a = 1", 5), InputError),
        ((None,), InputError),
        ((5,), InputError),
        ((b"a = 1",), InputError),
        ((sapwood.parse_advertisement("/a"),), InputError),
        (("a = 1", "taken"), DuplicateIdError),
    ],
)
async def test_what_cannot_be_subscribed_is_told_at_once(
    given: tuple[Any, ...], error: type[Exception]
) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await client.subscribe("a = 1", "taken")
        with pytest.raises(error):
            await client.subscribe(*given)


async def test_what_is_no_filter_is_refused_with_what_is_one() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        for ask in (client.subscribe, client.advertise):
            with pytest.raises(InputError, match="or parse_xpath returns, not int"):
                await ask(5)  # type: ignore[arg-type, call-overload]  # what a caller may do all the same
        with pytest.raises(InputError, match="what subscribe returned, or its id, not int"):
            await client.unsubscribe(5)  # type: ignore[arg-type]


async def test_a_filter_without_a_readable_text_is_refused() -> None:
    wide = " or ".join(f"a = '{'x' * 500}{n}'" for n in range(100))
    halves = (parse_filter(wide), parse_filter(wide.replace("a =", "b =")))
    huge = Filter.from_conjunctions(one for half in halves for one in half.conjunctions)
    assert len(str(huge)) > FILTER_TEXT_CHARS_MAX
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
            await client.subscribe(huge)


# Publishing and coming back -----------------------------------------------------------------------


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


async def test_scalars_of_numpy_are_published_as_what_they_are() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        wanted = await client.subscribe("t = 1 and on = true")
        await client.publish({"t": np.int64(1), "on": np.bool_(True), "in": [np.float32(0.5)]})
        delivered = await soon(anext(wanted))
    assert delivered.attributes == {"t": 1, "on": True, "in": [0.5]}


async def test_a_client_that_comes_back_is_subscribed_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        kept = await client.subscribe("a = 1", "kept")
        dropped = await client.subscribe("a = 1", "dropped")
        await client.unsubscribe(dropped)
        broker.connections.clients["c"].abort()
        await soon(broker.connections.until(lambda: not broker.connections.clients))
        await soon(client.publish({"a": 1}, "p1"))
        delivered = await soon(anext(kept))
        assert (delivered.id, delivered.subscriptions) == ("p1", ("kept",))
        assert client.reconnections == 1
        lost, again = (record.getMessage() for record in caplog.records)
    assert lost.endswith("connecting again")
    assert f"connected to {broker.address} again" in again
    assert "(1) is in force again; what was published meanwhile was not delivered" in again


async def test_a_client_without_subscriptions_misses_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as broker, connect(str(broker.address), "c") as client:
        broker.connections.clients["c"].abort()
        await soon(broker.connections.until(lambda: not broker.connections.clients))
        await soon(client.publish({"a": 1}))
        again = caplog.records[-1].getMessage()
    assert again.endswith(f"connected to {broker.address} again")


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


@pytest.mark.parametrize(
    ("address", "name"), [("host:0", None), ("host:1", "two words"), (7411, None), ("host:1", 5)]
)
def test_an_address_or_name_that_cannot_be_is_refused(address: Any, name: Any) -> None:
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
        assert isinstance(asked, Advertise)
        with pytest.raises(InputError, match="is not in force yet"):
            await client.publish({"a": 1})
        assert not advertising.done()
        neighbor.say(ConfirmAdvertisement(asked.key, asked.sending))
        advertised = await soon(advertising)
        await client.publish({"a": 1})
        with pytest.raises(InputError, match="none of the client's advertisements"):
            await client.publish({"a": 2})
        await client.unadvertise(advertised)
        assert isinstance(await neighbor.next(), Unadvertise)
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


async def test_a_client_that_comes_back_advertises_before_it_publishes_again() -> None:
    async with (
        running(settings(protocol="advertisement")) as broker,
        connect(str(broker.address), "c") as client,
    ):
        await client.advertise("a > 0")
        wanted = await client.subscribe("a > 1")
        await client.publish({"a": 2}, "p1")
        (peer,) = broker.connections.clients.values()
        peer.abort()
        result = await soon(client.publish_many({"a": n} for n in range(2, 50)))
        assert client.reconnections == 1
        assert result.accepted == 48
        assert result.refused == ()
        for _ in range(1 + 48):
            await soon(anext(wanted))
