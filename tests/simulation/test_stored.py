"""Stored records that survive a crash in the simulator."""

from __future__ import annotations

import msgspec

from sapwood.model.publication import Publication
from sapwood.routing.effects import Accepted, Deliver, Effect, Persist, Release
from sapwood.routing.inputs import (
    AttachClient,
    Checkpoint,
    ClientPublish,
    ClientPublishMany,
    Note,
    Record,
    Restored,
)
from sapwood.routing.upkeep.recover.checkpoint import Head
from sapwood.simulation.stored import Held, Stored, unit_of


def publication(id_: str) -> Publication:
    return Publication(id_, {"x": 1})


def kept(*records: Record) -> Stored:
    stored = Stored()
    stored.keep("r1", unit_of([Persist(record) for record in records], ()))
    return stored


def test_notes_come_first_and_once_then_the_rest_in_order() -> None:
    p = ClientPublish("c", publication("p"))
    stored = kept(Note("n", b"1"), AttachClient("c"), Note("m", b"1"), p, Note("n", b"2"))
    stored.keep("r2", unit_of([Persist(AttachClient("d"))], ()))
    records = (Note("n", b"2"), Note("m", b"1"), AttachClient("c"), p)
    assert stored.restored("r1") == Restored(records, 0)
    stored.forget("r1")
    assert stored.restored("r1") is None
    assert stored.restored("r2") == Restored((AttachClient("d"),), 0)


def test_what_is_released_is_gone_and_places_stay() -> None:
    many = ClientPublishMany("c", [publication(id_) for id_ in "qrs"])
    stored = kept(ClientPublish("c", publication("p")), AttachClient("d"), many)
    stored.release("r1", Release(2))
    rest = ClientPublishMany("c", [publication(id_) for id_ in "rs"])
    assert stored.restored("r1") == Restored((AttachClient("d"), rest), 2)
    assert list(stored.sizes()) == [("r1", 1, 2)]
    stored.release("r1", Release(4))
    assert stored.restored("r1") == Restored((AttachClient("d"),), 4)
    assert stored.has_accepted("r1", "q")
    assert not stored.has_accepted("r1", "t")


def standing(states: int) -> Checkpoint:
    """A checkpoint behind so many state records."""
    return Checkpoint([msgspec.msgpack.encode(Head(states, ()))])


def test_a_checkpoint_takes_the_place_of_changes_alone() -> None:
    p, checkpoint = ClientPublish("c", publication("p")), standing(1)
    stored = kept(Note("n", b"1"), AttachClient("c"), p, AttachClient("d"), checkpoint)
    records = (Note("n", b"1"), checkpoint, p, AttachClient("d"))
    assert stored.restored("r1") == Restored(records, 0)


def test_every_second_time_the_last_checkpoint_is_damaged_and_the_one_before_takes_its_place() -> (
    None
):
    changes = [AttachClient(name) for name in "abc"]
    stored = kept(*changes, standing(1))
    stored.restored("r1")
    assert stored.restored("r1") == Restored(tuple(changes), 0)
    stored = kept(*changes, standing(1), standing(2), standing(3))
    assert stored.restored("r1") == Restored((standing(3),), 0)
    assert stored.restored("r1") == Restored((standing(2), changes[2]), 0)


def test_a_torn_piece_is_set_aside() -> None:
    stored = kept(AttachClient("c"))
    stored.tear("r1")
    assert stored.restored("r1") == Restored((AttachClient("c"),), 0)


def test_what_is_delivered_is_written_with_its_input() -> None:
    delivery = Deliver("c", ("s",), publication("p"))
    effects: list[Effect] = [Persist(AttachClient("c")), delivery, Accepted("c", "p")]
    unit = unit_of(effects, (Held(one, 1.5) for one in effects))
    assert (unit.records, unit.deliveries) == ((AttachClient("c"),), (delivery,))
    assert unit.waiting == [Held(Accepted("c", "p"), 1.5)]
