"""The blocking client, and the same things again."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator

import pytest

from sapwood.client import Client, Delivery, Published
from sapwood.client.blocking import BlockingClient, connect
from sapwood.errors import (
    ConnectionLostError,
    FilterSyntaxError,
    InputError,
    UnknownIdError,
)
from tests.broker.helpers import broker_in_a_thread
from tests.client.helpers import free_address


@pytest.fixture
def address() -> Iterator[str]:
    with broker_in_a_thread() as address:
        yield address


def test_a_blocking_client_publishes_and_receives(address: str) -> None:
    with connect(address, "pub") as publisher, connect(address, "sub") as subscriber:
        wanted = subscriber.subscribe("a > 1", "s1")
        assert (wanted.id, str(wanted.filter)) == ("s1", "a > 1")
        assert publisher.publish({"a": 1}, "p1") == "p1"
        assert publisher.publish_many({"a": n} for n in range(2000)) == Published(2000, ())
        publisher.flush()
        received = [next(wanted).attributes["a"] for _ in range(1998)]
        assert received == list(range(2, 2000))
        assert publisher.name == "pub"
        assert publisher.reconnections == 0


def test_a_blocking_client_advertises(address: str) -> None:
    with connect(address) as client:
        advertised = client.advertise("a > 1")
        client.publish({"a": 2})
        with pytest.raises(InputError, match="none of the client's advertisements"):
            client.publish({"a": 1})
        client.unadvertise(advertised)
        client.publish({"a": 1})


def test_taking_gives_what_waits_or_times_out(address: str) -> None:
    with connect(address) as client:
        wanted = client.subscribe("exists a")
        with pytest.raises(TimeoutError):
            wanted.take(1, timeout_s=0.01)
        client.publish_many({"a": n} for n in range(3))
        assert next(wanted).attributes == {"a": 0}
        rest: list[Delivery] = []
        while len(rest) < 2:
            rest += wanted.take(1, timeout_s=30.0)
        assert [one.attributes["a"] for one in rest] == [1, 2]


def test_one_iterator_for_all_subscriptions(address: str) -> None:
    with connect(address) as client:
        merged = client.deliveries()
        client.subscribe("a = 1", "x")
        client.subscribe("a = 1", "y")
        client.publish({"a": 1}, "p1")
        assert next(merged) == Delivery("p1", {"a": 1}, ("x", "y"))


def test_an_iterator_ends_when_its_subscription_is_withdrawn(address: str) -> None:
    with connect(address) as client:
        by_handle = client.subscribe("exists a", "x")
        by_id = client.subscribe("exists a", "y")
        client.publish({"a": 1})
        client.unsubscribe(by_handle)
        client.unsubscribe("y")
        assert [len(list(by_handle)), len(list(by_id))] == [1, 1]
        with pytest.raises(UnknownIdError):
            client.unsubscribe("x")


def test_errors_come_where_they_belong(address: str) -> None:
    with connect(address) as client, pytest.raises(FilterSyntaxError):
        client.subscribe("a =")


def test_a_broker_that_is_not_there_leaves_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ConnectionLostError, match="Start one with"):
        connect(str(free_address())).__enter__()
    assert threading.active_count() == before


def test_a_closed_client_says_so_and_has_no_thread(address: str) -> None:
    before = threading.active_count()
    with connect(address) as client:
        assert threading.active_count() == before + 1
        with pytest.raises(InputError, match="entered once"):
            client.__enter__()
    client.close()
    with pytest.raises(InputError, match="entered once"):
        client.__enter__()
    assert threading.active_count() == before
    with pytest.raises(ConnectionLostError, match="use it inside `with`"):
        client.publish({"a": 1})


def test_the_two_clients_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(BlockingClient) - {"name", "wait"} == public(Client) - {"batch"}
    for name in sorted(public(Client) - {"batch", "name", "published", "reconnections"}):
        blocking = inspect.signature(getattr(BlockingClient, name)).parameters
        asynchronous = inspect.signature(getattr(Client, name)).parameters
        assert list(blocking) == list(asynchronous)
