"""What survives a crash in the simulator."""

from __future__ import annotations

from sapwood.language import parse_filter
from sapwood.routing.inputs import (
    AttachClient,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
    Note,
)
from sapwood.simulation.stored import Stored, Wishes

ONE, TWO = parse_filter("x > 1"), parse_filter("x > 2")


def test_records_are_kept_in_order_and_the_last_note_of_a_name_stands_for_all() -> None:
    stored = Stored()
    for record in (Note("n", b"1"), AttachClient("c"), Note("m", b"1"), Note("n", b"2")):
        stored.keep("r1", record)
    stored.keep("r2", AttachClient("d"))
    assert stored.of("r1") == (AttachClient("c"), Note("m", b"1"), Note("n", b"2"))
    stored.forget("r1")
    assert stored.of("r1") == ()
    assert stored.of("r2") == (AttachClient("d"),)


def test_clients_take_back_what_they_no_longer_want() -> None:
    stored, wishes = Stored(), {"c": Wishes({"s": ONE, "t": ONE, "u": ONE}, {"a": ONE, "b": ONE}),
                                "d": Wishes()}  # fmt: skip
    stored.stop("r1", wishes)
    del wishes["d"], wishes["c"].subscriptions["t"], wishes["c"].advertisements["a"]
    wishes["c"].subscriptions["u"] = TWO
    assert list(stored.stale("r1", wishes)) == [
        ClientUnsubscribe("c", "t"),
        ClientUnsubscribe("c", "u"),
        ClientUnadvertise("c", "a"),
        DetachClient("d"),
    ]
    assert list(stored.stale("r2", wishes)) == []
    stored.forget("r1")
    assert list(stored.stale("r1", wishes)) == []
