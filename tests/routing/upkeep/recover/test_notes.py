"""Notes between neighbors, beside the messages that they route."""

from __future__ import annotations

import msgspec
import pytest

from sapwood.limits import UPKEEP_NOTE_BYTES_MAX
from sapwood.routing.upkeep.recover.notes import (
    Back,
    ConversationId,
    From,
    Said,
    Taken,
    note_of,
    said_in,
)

LARGE = 2**63 - 1
ID = ConversationId(LARGE, LARGE)


@pytest.mark.parametrize("said", [Back(ID, None, 0), Back(ID, ID, LARGE), From(1), Taken(7, 3)])
def test_notes_are_read_as_they_were_said(said: Said) -> None:
    note = note_of(said)
    assert said_in(note.note) == said
    assert len(note.note) <= UPKEEP_NOTE_BYTES_MAX
    assert not note.periodic


@pytest.mark.parametrize(
    "note",
    [b"", b"\xc1", b"again", msgspec.msgpack.encode(["x", 1]), msgspec.msgpack.encode(["f", -1])],
)
def test_what_another_strategy_says_is_nothing(note: bytes) -> None:
    assert said_in(note) is None
