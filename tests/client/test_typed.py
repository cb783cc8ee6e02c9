"""Typed subscriptions: classes of the application as schemas, and records as their objects."""

from __future__ import annotations

import enum
import warnings
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import msgspec
import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.client import TypedSubscription, blocking, connect
from sapwood.client.typed import RecordType
from sapwood.errors import FilterTypeWarning, InputError, UnfitDeliveryError
from tests.broker.helpers import broker_in_a_thread, running, settings, soon


class State(enum.Enum):
    UP = "up"
    DOWN = "down"


@dataclass
class Place:
    city: str
    height: float | None = None


@dataclass
class Flight:
    carrier: str
    dep_delay: float
    origin: Place
    state: State = State.UP
    via: Place | None = None
    stops: list[str] = field(default_factory=list)
    kind: Literal["cargo", "people", None] = None
    at: datetime | None = None
    extra: dict[str, Any] = field(default_factory=dict)


class Quote(msgspec.Struct, rename="camel", tag="quote", tag_field="sort"):
    symbol: str
    last_price: float
    next: Quote | None = None


class Reading(TypedDict):
    value: int


FLIGHT = {"carrier": "AA", "dep_delay": 3, "origin": {"city": "NYC"}}


@pytest.mark.parametrize(
    ("kind", "filter_"),
    [
        (Flight, "carrier = 'AA' and dep_delay > 1 and origin.city like 'N%'"),
        (Flight, "origin.height is null and state = 'down' and kind is null"),
        (Flight, "via.city = 'LA' or via.city is null"),
        (Flight, "at > '2026' and extra.whatever = 3 and stops is null"),
        (Quote, "sort = 'quote' and lastPrice > 1 and next.next.symbol = 'x'"),
        (Reading, "value = 1"),
    ],
)
def test_a_filter_that_fits_a_class_is_not_doubted(kind: type[Any], filter_: str) -> None:
    assert RecordType(kind).schema.doubts(parse_filter(filter_)) == ()


@pytest.mark.parametrize(
    ("kind", "filter_", "doubt"),
    [
        (Flight, "origin.town = 'x'", "no attribute 'origin.town'"),
        (Flight, "origin = 'x'", "no attribute 'origin'"),
        (Flight, "origin.city > 3", "'origin.city' of Flight is a text"),
        (Flight, "origin.city is null", "is always there"),
        (Flight, "state = 'left'", "state in ('down', 'up')"),
        (Flight, "kind = 'mail'", "no Flight meets kind = 'mail'"),
        (Quote, "last_price > 1", "did you mean 'lastPrice'"),
        (Quote, "sort = 'trade'", "no Quote meets"),
        (Reading, "value", "is a number, and is compared with a boolean"),
    ],
)
def test_a_filter_that_does_not_fit_is_doubted(kind: type[Any], filter_: str, doubt: str) -> None:
    (found,) = RecordType(kind).schema.doubts(parse_filter(filter_))
    assert doubt in found


@pytest.mark.parametrize("kind", [int, list[int], tuple[int, str], "Flight"])
def test_what_has_no_named_fields_is_no_type_of_records(kind: Any) -> None:
    with pytest.raises(InputError, match="cannot be the type of records"):
        RecordType(kind)


async def test_deliveries_have_values_and_one_that_does_not_fit_leaves_the_rest_alone() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        flights: TypedSubscription[Flight] = await client.subscribe("dep_delay > 1", type=Flight)
        await client.publish(FLIGHT, "p1")
        await client.publish({**FLIGHT, "origin": {"city": 3}}, "p2")
        await client.publish({**FLIGHT, "dep_delay": 2.5, "state": "down"}, "p3")
        first = await soon(anext(flights))
        assert first.value == Flight("AA", 3.0, Place("NYC"))
        assert first.value is first.value
        second, third = await soon(flights.take(1)), await soon(anext(flights))
        with pytest.raises(UnfitDeliveryError, match=r"'p2' is no Flight: .*`\$\.origin\.city`"):
            _ = second[0].value
        assert second[0].attributes["origin"] == {"city": 3}
        assert (third.id, third.value.state) == ("p3", State.DOWN)


async def test_several_subscriptions_read_one_publication_each_in_its_way() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        readings = await client.subscribe("value = 1", type=Reading, max_age=60)
        plain = await client.subscribe("value = 1")
        await client.publish({"value": 1})
        assert (await soon(anext(readings))).value == {"value": 1}
        with pytest.raises(InputError, match="given a type"):
            _ = (await soon(anext(plain))).value


async def test_what_does_not_fit_is_warned_of_when_subscribing_and_when_changing() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.warns(FilterTypeWarning, match="did you mean 'dep_delay'") as caught:
            flights = await client.subscribe("dep_dely > 1", type=Flight)
        assert caught[0].filename == __file__
        with pytest.warns(FilterTypeWarning, match="'carrier' of Flight is a text"):
            await flights.change("carrier = 1")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await flights.change("dep_delay > 1")
        with pytest.raises(InputError, match="filter of documents"):
            await client.subscribe(parse_xpath("/a"), type=Flight)
        await client.unsubscribe(flights)


async def test_a_delivery_without_a_record_does_not_fit() -> None:
    with pytest.raises(UnfitDeliveryError, match="carries no record"):
        RecordType(Reading).read("p", None)


async def test_durable_deliveries_have_values_and_are_acknowledged(tmp_path: Path) -> None:
    keeping = settings(data=tmp_path, protocol="recover+covering")
    async with running(keeping) as broker, connect(str(broker.address)) as client:
        readings = await client.subscribe("exists value", durable="d", type=Reading)
        await client.publish_many([{"value": 1}, {"value": "two"}])
        first, second = await soon(anext(readings)), await soon(anext(readings))
        assert first.value["value"] == 1
        with pytest.raises(UnfitDeliveryError):
            _ = second.value
        first.acknowledge()
        second.acknowledge()
        await soon(readings.settled())
        again = await client.subscribe("exists value", since="all", type=Reading)
        assert (await soon(anext(again))).value == {"value": 1}


def test_a_blocking_subscription_has_a_type() -> None:
    with broker_in_a_thread() as address, blocking.connect(address) as client:
        readings = client.subscribe("value > 0", type=Reading)
        client.publish_many([{"value": 1}, {"value": 1.5}, {"value": 3}])
        found: list[int] = []
        unfit = 0
        for _ in range(3):
            try:
                found.append(next(readings).value["value"])
            except UnfitDeliveryError:
                unfit += 1
        assert (found, unfit) == ([1, 3], 1)
        with pytest.warns(FilterTypeWarning):
            readings.change("valu > 0")
