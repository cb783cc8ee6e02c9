from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.messages import Confirm, Message, Publish
from sapwood.simulation.clock import Agenda
from sapwood.simulation.network import (
    NOMINAL,
    REMOVED,
    Arrival,
    Network,
    Notice,
    Occurrence,
    Timing,
    is_periodic,
)

PAIR = Topology(("a", "b"), (Link("a", "b", 1.0),))
LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 2.0)))


class Wire:
    """A network, and what came out of it: (time, what) of messages and of notices."""

    def __init__(
        self,
        topology: Topology,
        timing: Timing = NOMINAL,
        draw: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.agenda: Agenda[Occurrence] = Agenda()
        self.network = Network(topology, self.agenda, draw, timing)
        self.received: list[tuple[float, str, Message]] = []
        self.told: list[tuple[float, str, str, bool]] = []
        self.log: list[str] = []

    def run(self) -> None:
        while self.agenda.next_due is not None:
            occurrence = self.agenda.pop()
            now = self.agenda.now
            match occurrence:
                case Arrival(source, target, message):
                    if self.network.arrive(occurrence):
                        self.received.append((now, target, message))
                        self.log.append(f"message {source}>{target}")
                case Notice(router, neighbor, session):
                    if self.network.heed(occurrence):
                        self.told.append((now, router, neighbor, session is not None))
                        self.log.append(f"{router} told")


def test_send_takes_the_latency_of_the_link() -> None:
    wire = Wire(LINE)
    wire.network.send("a", "b", Confirm("1", 1))
    wire.network.send("c", "b", Confirm("2", 1))
    wire.run()
    assert wire.received == [(1.0, "b", Confirm("1", 1)), (2.0, "b", Confirm("2", 1))]


@given(st.integers(), st.lists(st.floats(0, 0.5), min_size=2, max_size=20))
def test_messages_of_a_link_never_overtake_each_other(seed: int, pauses: list[float]) -> None:
    wire = Wire(PAIR, Timing(jitter=5.0), Random(seed).random)
    for number, pause in enumerate(pauses):
        wire.network.send("a", "b", Confirm(str(number), 1))
        due = wire.agenda.next_due
        wire.agenda.advance(min(wire.agenda.now + pause, due or 0.0))
    wire.run()
    assert [message for _, _, message in wire.received] == [
        Confirm(str(number), 1) for number in range(len(pauses))
    ]
    assert all(time <= wire.network.delay_max_s(PAIR.links[0]) + 10 for time, _, _ in wire.received)


def test_delay_max_is_never_exceeded_when_times_jitter() -> None:
    wire = Wire(PAIR, Timing(jitter=0.5), Random(1).random)
    for _ in range(200):
        wire.network.send("a", "b", Confirm("1", 1))
    wire.run()
    longest = wire.network.delay_max_s(PAIR.links[0])
    assert longest == 1.5
    assert all(1.0 <= time <= longest for time, _, _ in wire.received)
    assert len({time for time, _, _ in wire.received}) > 1


def test_directions_of_a_link_do_not_wait_for_each_other() -> None:
    wire = Wire(PAIR, Timing(jitter=1.0), iter((1.0, 0.0)).__next__)
    wire.network.send("a", "b", Confirm("slow", 1))
    wire.network.send("b", "a", Confirm("fast", 1))
    wire.run()
    assert [message for _, _, message in wire.received] == [Confirm("fast", 1), Confirm("slow", 1)]


def test_messages_on_a_link_are_gone_when_it_goes_down() -> None:
    wire = Wire(LINE)
    wire.network.send("a", "b", Confirm("1", 1))
    wire.network.send("b", "c", Confirm("2", 1))
    assert wire.network.take_down("b", "a", "failed")
    assert wire.network.bring_up("a", "b", "failed")
    wire.run()
    assert wire.received == [(2.0, "c", Confirm("2", 1))]
    assert wire.network.messages_lost == 1


def test_both_ends_are_told_when_a_link_goes_down_and_comes_up() -> None:
    wire = Wire(PAIR)
    wire.network.take_down("a", "b", "failed")
    wire.run()
    assert wire.told == [(0.0, "a", "b", False), (0.0, "b", "a", False)]
    assert not wire.network.is_up("a", "b")
    wire.network.bring_up("a", "b", "failed")
    assert wire.network.is_up("b", "a")
    assert not wire.network.is_joined("a", "b")
    wire.run()
    assert wire.told[2:] == [(0.0, "a", "b", True), (0.0, "b", "a", True)]
    assert wire.network.is_joined("a", "b")


def test_a_link_comes_up_only_when_no_reason_is_left() -> None:
    wire = Wire(PAIR)
    assert wire.network.take_down("a", "b", "failed")
    assert not wire.network.take_down("a", "b", "a is down")
    assert not wire.network.bring_up("a", "b", "failed")
    assert not wire.network.bring_up("a", "b", "failed")
    assert wire.network.bring_up("a", "b", "a is down")


def test_sending_is_in_vain_between_the_end_of_a_link_and_its_news() -> None:
    wire = Wire(PAIR, Timing(notice_s=1.0), iter((0.25, 0.75)).__next__)
    wire.network.take_down("a", "b", "failed")
    wire.network.send("b", "a", Confirm("1", 1))
    assert wire.network.messages_lost == 1
    wire.run()
    assert wire.told == [(0.25, "a", "b", False), (0.75, "b", "a", False)]
    with pytest.raises(InvariantError, match="b sent to a though it knew"):
        wire.network.send("b", "a", Confirm("2", 1))


def test_sending_is_in_vain_when_the_link_has_been_down_without_the_sender_knowing() -> None:
    wire = Wire(PAIR, Timing(notice_s=1.0), iter((0.5, 0.5, 0.5, 0.5)).__next__)
    wire.network.take_down("a", "b", "failed")
    wire.network.bring_up("a", "b", "failed")
    wire.network.send("a", "b", Confirm("of the old life", 1))
    wire.run()
    assert wire.received == []
    assert [up for _, _, _, up in wire.told] == [False, False, True, True]
    wire.network.send("a", "b", Confirm("of the new life", 1))
    wire.run()
    assert [message for _, _, message in wire.received] == [Confirm("of the new life", 1)]


def test_an_end_learns_of_a_link_before_it_sees_what_comes_over_it() -> None:
    topology = Topology(("a", "b"), (Link("a", "b", 0.0),))
    wire = Wire(topology, Timing(notice_s=9.0), iter((0.0, 0.0, 0.0, 1.0)).__next__)
    wire.network.take_down("a", "b", "failed")
    wire.run()
    wire.network.bring_up("a", "b", "failed")
    wire.log.clear()
    first = wire.agenda.pop()
    assert isinstance(first, Notice)
    assert wire.network.heed(first)
    wire.network.send("a", "b", Confirm("1", 1))
    wire.run()
    assert wire.log == ["b told", "message a>b"]


def test_news_of_a_link_arrive_in_the_order_in_which_they_happened() -> None:
    draws = Random(5)
    wire = Wire(PAIR, Timing(notice_s=1.0), draws.random)
    for _ in range(20):
        wire.network.take_down("a", "b", "failed")
        wire.network.bring_up("a", "b", "failed")
    wire.run()
    for router in ("a", "b"):
        assert [up for _, r, _, up in wire.told if r == router] == [False, True] * 20


def test_forget_voids_what_an_earlier_life_was_to_be_told() -> None:
    wire = Wire(PAIR)
    wire.network.take_down("a", "b", "a is down")
    wire.network.forget("a")
    wire.run()
    assert wire.told == [(0.0, "b", "a", False)]
    with pytest.raises(InvariantError, match="a sent to b"):
        wire.network.send("a", "b", Confirm("1", 1))
    wire.network.bring_up("a", "b", "a is down")
    wire.run()
    assert wire.network.is_joined("a", "b")


def test_close_takes_a_link_down_for_good_and_tells_the_other_end() -> None:
    wire = Wire(PAIR)
    wire.network.send("b", "a", Confirm("1", 1))
    assert wire.network.close("a", "b")
    wire.run()
    assert wire.told == [(0.0, "b", "a", False)]
    assert wire.received == []
    wire.network.take_down("a", "b", "failed")
    assert not wire.network.bring_up("a", "b", "failed")
    assert not wire.network.close("a", "b")


def test_control_pending_counts_what_can_still_change_tables() -> None:
    wire = Wire(PAIR)
    wire.network.send("a", "b", Publish("a", 1, Publication("p", {})))
    assert wire.network.control_pending == 0
    wire.network.send("a", "b", Confirm("1", 1))
    wire.network.take_down("a", "b", "failed")
    assert wire.network.control_pending == 3
    wire.run()
    assert wire.network.control_pending == 0
    assert wire.network.messages_lost == 2


def test_send_refuses_a_link_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        Wire(LINE).network.send("a", "c", Confirm("1", 1))


class Beat(Confirm, frozen=True):
    """A message that never ends."""

    periodic: ClassVar[bool] = True


def test_what_is_periodic_is_counted_apart_from_what_can_change_tables() -> None:
    wire = Wire(PAIR)
    for message in (Beat("", 0), Confirm("k", 1), Publish("a", 1, Publication("p", {}))):
        assert is_periodic(message) == isinstance(message, Beat)
        wire.network.send("a", "b", message)
    assert (wire.network.periodic_pending, wire.network.control_pending) == (1, 1)
    wire.run()
    assert (wire.network.periodic_pending, wire.network.control_pending) == (0, 0)


def test_a_link_that_is_added_is_down_until_it_is_brought_up() -> None:
    wire = Wire(PAIR)
    wire.network.add_router("c")
    wire.network.add_link(Link("b", "c", 3.0))
    assert not wire.network.is_up("c", "b")
    assert wire.network.bring_up("b", "c", REMOVED)
    assert not wire.network.is_joined("b", "c")
    wire.run()
    assert wire.network.is_joined("b", "c")
    wire.network.send("c", "b", Confirm("k", 1))
    wire.run()
    assert [(at, target) for at, target, _ in wire.received] == [(3.0, "b")]


def test_a_link_that_is_added_again_forgets_what_was_against_it() -> None:
    wire = Wire(PAIR)
    wire.network.take_down("a", "b", "failed")
    wire.network.take_down("a", "b", REMOVED)
    wire.run()
    wire.network.add_link(Link("b", "a", 7.0))
    assert wire.network.bring_up("a", "b", REMOVED)
    wire.run()
    wire.network.send("a", "b", Confirm("k", 1))
    wire.run()
    assert [at for at, *_ in wire.received] == [7.0]
