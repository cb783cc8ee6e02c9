"""Broker processes in an overlay."""

from __future__ import annotations

import pytest

from sapwood.client.blocking import connect
from sapwood.errors import EnvironmentMissingError, InputError, UnknownNameError
from sapwood.testing.overlay import BrokerProcesses
from tests.forked import forked_brokers

__all__ = ("forked_brokers",)


@pytest.mark.parametrize(
    ("names", "edges"),
    [
        ((), ()),
        (("a", "a"), ()),
        (("a", "b"), ()),
        (("a", "b"), (("a", "b"), ("b", "a"))),
        (("a", "b", "c"), (("a", "b"), ("a", "b"))),
        (("a", "b", "c", "d"), (("a", "b"), ("b", "c"), ("c", "a"))),
    ],
)
def test_links_that_are_no_tree_are_refused(
    names: tuple[str, ...], edges: tuple[tuple[str, str], ...]
) -> None:
    with pytest.raises(InputError):
        BrokerProcesses(names, edges)


def test_a_link_to_nobody_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no broker is called 'c'"):
        BrokerProcesses(("a", "b"), (("a", "c"),))


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_processes_form_a_tree_that_delivers_and_survives_a_restart() -> None:
    edges = (("hub", "left"), ("hub", "leaf"))
    with BrokerProcesses(("left", "hub", "leaf"), edges) as overlay:
        addresses = overlay.addresses
        assert len(set(addresses.values())) == 3
        with connect(addresses["left"], "pub") as pub, connect(addresses["leaf"], "sub") as sub:
            wanted = sub.subscribe("a > 1")
            pub.publish_many([{"a": 1}, {"a": 2}])
            assert wanted.take(2)[0].attributes == {"a": 2}
            assert overlay.stop("hub", kill=True) != 0
            overlay.restart("hub")
            assert overlay.addresses == addresses
            # An answer from the far end comes after all that the far end has told again.
            pub.subscribe("a = 0")
            pub.publish_many([{"a": 1}, {"a": 3}])
            assert wanted.take(2)[0].attributes == {"a": 3}
        assert [overlay.stop(name) for name in ("leaf", "hub", "left")] == [0] * 3


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_a_process_that_does_not_start_is_reported_with_its_log() -> None:
    with (
        pytest.raises(EnvironmentMissingError) as failed,
        BrokerProcesses(("a",), (), options=("--connections-max", "0")),
    ):
        pytest.fail("it started")
    assert "broker a was not listening before it ended" in str(failed.value)
    assert "--connections-max is 0" in str(failed.value)


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_a_broker_that_is_not_there_cannot_be_stopped() -> None:
    with BrokerProcesses(("a",), ()) as overlay, pytest.raises(UnknownNameError):
        overlay.stop("b")


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_a_link_that_does_not_come_is_reported() -> None:
    with BrokerProcesses(("a", "b"), (("a", "b"),)) as overlay:
        overlay.stop("b")
        overlay.wait_unlinked("a", "b")
        with pytest.raises(EnvironmentMissingError, match=r"not linked with b within 0\.01 s"):
            overlay.wait_linked(timeout_s=0.01)


def test_links_may_form_circles_where_the_protocol_routes_on_many_trees() -> None:
    circle = (("a", "b"), ("b", "c"), ("c", "a"))
    BrokerProcesses(("a", "b", "c"), circle, protocol="mesh+covering")
    with pytest.raises(InputError, match="3 links do not join 3 brokers to one tree"):
        BrokerProcesses(("a", "b", "c"), circle)
    with pytest.raises(InputError, match="joins two brokers, once"):
        BrokerProcesses(("a", "b"), (("a", "b"), ("b", "a")), protocol="mesh+covering")
