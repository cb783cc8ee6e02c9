"""Notes between routers for the sake of detours."""

from __future__ import annotations

import pytest

from sapwood.limits.recover import DETOUR_HOPS_MAX
from sapwood.routing.messages import Stamped, Unsubscribe, UpkeepNote
from sapwood.routing.upkeep.detour.notes import (
    NOTHING,
    Links,
    Numbered,
    Packet,
    links_in,
    note_of,
    packet_in,
    stamped,
)
from sapwood.routing.upkeep.recover import notes as recover_notes

ROUTE = ("a", "c", "b")


def test_links_and_packets_come_as_they_went() -> None:
    links = Links("a", Numbered(3, 4), {"b": 1})
    assert links_in(note_of(links)) == links
    packet = Packet(ROUTE, 1, Numbered(0, 4), 7)
    message = stamped(packet, Unsubscribe("k"))
    assert packet_in(message) == packet
    assert message.message == Unsubscribe("k")


@pytest.mark.parametrize(
    "message",
    [
        NOTHING,
        UpkeepNote(b"\x00"),
        recover_notes.note_of(recover_notes.Taken(1, 2)),
        Stamped(b"\x00", Unsubscribe("k")),
        stamped(Packet(("a",), 0, Numbered(0, 0), 0), Unsubscribe("k")),
        stamped(Packet(("a",) * (DETOUR_HOPS_MAX + 2), 0, Numbered(0, 0), 0), Unsubscribe("k")),
        stamped(Packet(ROUTE, -1, Numbered(0, 0), 0), Unsubscribe("k")),
    ],
)
def test_what_others_say_is_left_to_them(message: UpkeepNote | Stamped) -> None:
    assert links_in(message) is None
    assert packet_in(message) is None
