"""The ids that a router has given to conversations, by its lives, as far as its disk knows.

An id that a neighbor reports, and that a life of this router gave without its disk having it, shows
that the disk has an older state: also where that has no conversation with this neighbor at all,
since their link is younger, or was begun afresh. That lasts over further lives, each of which gives
ids of its own::

    life    gave         the disk, after it has become older
    0       1, 2         0: 2
    1       1, 2, 3      1: 1       a neighbor that reports (1, 3) knows more than this router
    2       1, 2         -          ... and so does one that reports (2, 1)
    3                    3: 0       the present life

Lives before the first one noted are not judged: those of a router that has since begun anew, under
names that they did not have.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from sapwood.limits.recover import LIVES_REMEMBERED_MAX
from sapwood.routing.effects import Persist
from sapwood.routing.inputs import Note
from sapwood.routing.upkeep.recover.notes import ConversationId

GIVEN: Final = "given"
"""The note with the last number that each life has given."""

_DECODER: Final = msgspec.msgpack.Decoder(list[ConversationId])


class GivenIds:
    """The last number that each life has given, by life, the earliest first."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}

    def restore(self, note: bytes) -> None:
        """Take in the note of an earlier life; the lives that it does not have are lost."""
        self._last = dict(_DECODER.decode(note))

    def begin_anew(self) -> None:
        """Judge no life any more: the router is about to become another one."""
        self._last.clear()

    def give(self, given: ConversationId) -> list[Persist]:
        """Note an id, and its life; the note to persist before the id is sent, if it is news."""
        if self._last.get(given.life, -1) >= given.number:
            return []
        self._last[given.life] = given.number
        superfluous = len(self._last) - LIVES_REMEMBERED_MAX
        for life in tuple(islice(self._last, max(0, superfluous))):
            del self._last[life]
        return [Persist(Note(GIVEN, msgspec.msgpack.encode(list(self._last.items()))))]

    def has_lost(self, reported: ConversationId | None, life: int) -> bool:
        """True if a life before `life` gave an id, and what there is does not know that."""
        first = next(iter(self._last), life)
        if reported is None or not first <= reported.life < life:
            return False
        return reported.number > self._last.get(reported.life, 0)
