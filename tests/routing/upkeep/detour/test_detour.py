"""Detours of one router, message by message."""

from __future__ import annotations

from sapwood.limits.recover import DETOUR_S
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input, LinkDown, LinkUp, Receive, Tick
from sapwood.routing.messages import Stamped, Unsubscribe
from sapwood.routing.router import Router
from sapwood.routing.upkeep.detour.notes import (
    NOTHING,
    Links,
    Numbered,
    Packet,
    note_of,
    packet_in,
    stamped,
)

NAME = "mesh+covering+recover"


def packets(effects: list[Effect]) -> list[tuple[str, Packet]]:
    found = []
    for one in effects:
        if isinstance(one, Send) and isinstance(one.message, Stamped):
            packet = packet_in(one.message)
            assert packet is not None
            found.append((one.neighbor, packet))
    return found


def give(router: Router, *inputs: Input, now: float = 0.0) -> list[Effect]:
    effects: list[Effect] = []
    for one in inputs:
        effects = router.handle(one, now)
        router.validate()
    return effects


def links(name: str, *neighbors: str, number: int = 1) -> Receive:
    said = Links(name, Numbered(0, number), dict.fromkeys(neighbors, 1))
    return Receive("c", note_of(said))


def cut() -> Router:
    """The router a, whose link to b is down, where c is linked to both."""
    router = Router("a", NAME)
    give(router, LinkUp("b"), LinkUp("c"), links("c", "a", "b"), links("b", "c"), LinkDown("b"))
    return router


def test_a_detour_is_opened_when_patience_ends() -> None:
    router = cut()
    assert router.next_deadline() == DETOUR_S
    opened = packets(give(router, Tick(), now=DETOUR_S))
    assert [(to, one.route, one.at, one.number) for to, one in opened] == [
        ("c", ("a", "c", "b"), 1, 0)
    ]
    assert router.table_sizes()["detours"] == 0  # b has not answered
    assert router.next_deadline() is None


def test_it_is_opened_when_the_other_end_knows_that_the_link_is_down() -> None:
    router = cut()
    give(router, links("b", "c", "a", number=2))
    assert packets(give(router, Tick(), now=DETOUR_S)) == []
    assert len(packets(give(router, links("b", "c", number=3), now=DETOUR_S))) == 1


def test_it_is_opened_by_one_end_only() -> None:
    router = Router("b", NAME)
    give(router, LinkUp("a"), LinkUp("c"), links("c", "a", "b"), links("a", "c"), LinkDown("a"))
    assert router.next_deadline() is None
    first = Packet(("a", "c", "b"), 2, Numbered(0, 9), 0)
    answered = packets(give(router, Receive("c", stamped(first, NOTHING))))
    assert [(to, one.route, one.id, one.number) for to, one in answered] == [
        ("c", ("b", "c", "a"), first.id, 0)
    ]
    ((_, broken),) = packets(give(router, Receive("c", stamped(first, NOTHING))))
    assert broken.number == 2  # a packet came twice: the other end is to miss one


def test_packets_are_passed_on_over_links_that_are_up_and_from_whom_they_should_come() -> None:
    router = Router("c", NAME)
    give(router, LinkUp("a"), LinkUp("b"))
    packet = Packet(("a", "c", "b"), 1, Numbered(0, 9), 4)
    message = stamped(packet, Unsubscribe("k"))
    on = Packet(packet.route, 2, packet.id, packet.number)
    assert give(router, Receive("a", message)) == [Send("b", stamped(on, Unsubscribe("k")))]
    assert give(router, Receive("b", message)) == []
    far = stamped(Packet(packet.route, 9, packet.id, 4), Unsubscribe("k"))
    assert give(router, Receive("a", far)) == []
    give(router, LinkDown("b"))
    assert give(router, Receive("a", message)) == []


def test_a_link_that_is_up_takes_no_packets() -> None:
    router = Router("b", NAME)
    give(router, LinkUp("a"), LinkUp("c"))
    first = Packet(("a", "c", "b"), 2, Numbered(0, 9), 0)
    assert give(router, Receive("c", stamped(first, NOTHING))) == []


def test_who_never_was_a_neighbor_opens_nothing() -> None:
    router = Router("b", NAME)
    give(router, LinkUp("c"))
    first = Packet(("a", "c", "b"), 2, Numbered(0, 9), 0)
    assert give(router, Receive("c", stamped(first, NOTHING))) == []
    assert router.table_sizes()["detours"] == 0
