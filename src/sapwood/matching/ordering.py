"""The order of ids, so that matches are sorted as integers.

Sorting the ids of many matches as texts takes as long as finding them, and holds the interpreter
lock. So every slot has the rank that its id had when ids were last ranked, and ranks are sorted
without the lock. Ids that were added later have no rank; matches with such an id are sorted as
texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.protocol import SlotBatch, Slots
from sapwood.matching.storage import Folder
from sapwood.matching.texts import Bytes, Offsets, TextColumn

Ranks: TypeAlias = npt.NDArray[np.int32]
Places: TypeAlias = npt.NDArray[np.int64]

_SLOT_BITS: Final = 28
"""Bits of a slot and of a rank in a key: a quarter of a billion ids, which take 30 GB."""

_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1

UNRANKED: Final = _SLOT_MASK
"""The rank of a slot without an id, or with one that was added after the last ranking."""

ARRANGED_MAX: Final = 1 << 62 - 2 * _SLOT_BITS
"""Publications whose matches are arranged at a time: the bits of a key that number them."""

_WORD_BYTES: Final = 8


class IdOrder:
    """The rank of each slot's id, for the ids that have been ranked.

    `learn` may run in one thread while others match, and while another one reports changes.

    #: _ranks[slot] is the place of the slot's id among all ids of one moment, or UNRANKED
    #: if _is_known, only free slots are UNRANKED
    """

    def __init__(self) -> None:
        #: at least one element for each slot
        self._ranks: Ranks = np.zeros(0, np.int32)
        self._is_known = True
        #: slots whose ids changed since `learn` began to read them; `None` while no `learn` runs
        self._changed: set[int] | None = None
        self._lock = Lock()

    def forget(self, slot: int) -> None:
        """Drop the rank of a slot that has another id by now, or none."""
        assert slot < UNRANKED, "an index has less than 2**28 slots"
        with self._lock:
            if slot >= len(self._ranks):
                self._ranks = _lengthened(self._ranks, max(slot + 1, len(self._ranks) * 3 // 2))
            self._ranks[slot] = UNRANKED
            self._is_known = False
            if self._changed is not None:
                self._changed.add(slot)

    def forget_many(self, slots: Sequence[int]) -> None:
        """`forget` for many slots."""
        most = max(slots, default=0)
        assert most < UNRANKED, "an index has less than 2**28 slots"
        with self._lock:
            if most >= len(self._ranks):
                self._ranks = _lengthened(self._ranks, max(most + 1, len(self._ranks) * 3 // 2))
            self._ranks[[*slots]] = UNRANKED
            self._is_known &= not slots
            if self._changed is not None:
                self._changed.update(slots)

    def learn(self, ids: TextColumn) -> None:
        """Rank all ids if any may have no rank; takes about a microsecond for each.

        Ids that change meanwhile stay without a rank.
        """
        with self._lock:
            if self._is_known or self._changed is not None:
                return
            changed = self._changed = set[int]()
        try:
            ranks = ranked(*ids.packed())
            with self._lock:
                ranks = _lengthened(ranks, max((len(ranks), *(slot + 1 for slot in changed))))
                ranks[[*changed]] = UNRANKED
                self._ranks, self._is_known = ranks, not changed
        finally:
            self._changed = None

    def sorted(self, slots: Slots) -> Slots | None:
        """Slots in the order of their ids; `None` where one has no rank."""
        ranks = self._ranks.take(slots)
        order = ranks.argsort()
        if len(order) and ranks.item(order.item(-1)) == UNRANKED:
            return None
        return slots.take(order)

    def arranged(self, found: SlotBatch) -> tuple[Places, list[int]]:
        """The slots of each publication by the ranks of their ids, and the publications without.

        `found` has at most `ARRANGED_MAX` publications, each with its slots in any order. The list
        has the numbers of the publications with a slot without a rank: those must be sorted as
        texts.
        """
        numbers = np.arange(len(found.offsets) - 1) << 2 * _SLOT_BITS
        keys = self._ranks.take(found.slots).astype(np.int64)
        keys <<= _SLOT_BITS
        keys |= found.slots
        keys |= np.repeat(numbers, np.diff(found.offsets))
        keys.sort()
        late = keys[(keys >> _SLOT_BITS & _SLOT_MASK) == UNRANKED]
        doubtful = np.unique(late >> 2 * _SLOT_BITS).tolist() if len(late) else []
        return keys & _SLOT_MASK, doubtful

    def memory(self) -> int:
        """The bytes of the ranks."""
        return self._ranks.nbytes

    def save(self, folder: Folder, name: str) -> None:
        """Write the ranks as an array of that name."""
        folder.write_arrays({name: self._ranks})

    @classmethod
    def load(cls, folder: Folder, name: str, slots: int) -> IdOrder:
        """Read the ranks of `slots` slots that `save` wrote; raises `FileFormatError` otherwise."""
        ranks = folder.read_own_arrays((name,))[name]
        if ranks.dtype != np.int32 or ranks.ndim != 1 or len(ranks) < slots:
            raise FileFormatError(folder.place(f"{name}.npy"), "is not a rank for each id")
        if np.any(ranks < 0) or np.any((ranks >= slots) & (ranks != UNRANKED)):
            raise FileFormatError(folder.place(f"{name}.npy"), "has ranks beyond the number of ids")
        order = cls()
        order._ranks = ranks
        return order

    def validate(self, ids: Iterable[str]) -> None:
        """Raise `InvariantError` unless ranks are in the order of the ids."""
        ranks = self._ranks.tolist()
        known = sorted((ranks[slot], text) for slot, text in enumerate(ids))
        texts = [text for rank, text in known if rank != UNRANKED]
        if texts != sorted(texts) or any(not text for text in texts):
            raise InvariantError("the ranks of ids are not in their order")


def ranked(offsets: Offsets, joined: Bytes) -> Ranks:
    """The place of each text among all texts, by code point; UNRANKED for empty texts.

    Texts are in the form of `texts.packed`. They are compared eight bytes at a time, each time only
    those that were equal so far.
    """
    sizes = np.diff(offsets)
    ranks = np.full(len(sizes), UNRANKED, np.int32)
    rest = np.flatnonzero(sizes)
    places = np.zeros(len(rest), np.int64)
    longest = int(sizes.max(initial=0))
    for at in (*range(0, longest, _WORD_BYTES), None):
        if not len(rest):
            break
        # At last, texts that differ in nothing but zeros at the end are sorted by length.
        words = sizes[rest] if at is None else _words(offsets[rest] + at, offsets[rest + 1], joined)
        order = np.lexsort((words, places)) if at else np.argsort(words, kind="stable")
        rest, words, places = rest[order], words[order], places[order]
        is_first = np.ones(len(rest), np.bool_)
        is_first[1:] = (words[1:] != words[:-1]) | (places[1:] != places[:-1])
        starts = np.flatnonzero(is_first)
        group = np.cumsum(is_first) - 1
        # Texts that were equal so far have the same place, and lie together.
        began = np.searchsorted(places, places)
        places = places + starts[group] - began
        ranks[rest] = places
        is_alike = np.diff(starts, append=len(rest))[group] > 1
        rest, places = rest[is_alike], places[is_alike]
    return ranks


def _words(first: Offsets, last: Offsets, joined: Bytes) -> npt.NDArray[np.uint64]:
    """Up to eight bytes from each place, before each end, as numbers in the same order."""
    words = np.zeros(len(first), np.uint64)
    for step in range(_WORD_BYTES):
        words <<= np.uint64(8)
        inside = first + step < last
        words[inside] |= joined[first[inside] + step]
    return words


def _lengthened(ranks: Ranks, slots: int) -> Ranks:
    longer = np.full(slots, UNRANKED, np.int32)
    longer[: len(ranks)] = ranks
    return longer
