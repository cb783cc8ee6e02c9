"""The snapshot of an engine: all that a match reads, as it was at one moment.

The engine goes on changing while matches are under way, in other threads. A match reads a snapshot
and nothing else: this module has no reference to the engine, so a match cannot read something twice
and find it changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.batch import HEAD, REPEATS, SegmentMatches, encoded
from sapwood.matching.columnar.compaction import SegmentEntry
from sapwood.matching.columnar.like_checks import verify
from sapwood.matching.columnar.literals import LikePredicate
from sapwood.matching.columnar.searching import Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.several_values import SortedRecord, verify_several
from sapwood.matching.columnar.trial import Trial
from sapwood.matching.columnar.tried_rows import TriedRows
from sapwood.matching.protocol import ALL, Offsets, SlotBatch, Slots
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import ManyValued, Record

_FIRST_SLOT: Final = HEAD + 2
"""The place of the first slot of a single record in a kernel's result."""

Memtable: TypeAlias = Mapping[int, Trial]
"""Slots with their filters, which are tried."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every filter of an engine, in a segment or in the memtable.

    `searcher` names all attributes, and `predicates` has all like predicates, that the segments
    mention; either may have more. Only marks of removal may still change, a byte at a time. A
    kernel tries `rows`, if there are any; `odd` has the filters of the memtable that are not in
    these rows.
    """

    segments: tuple[SegmentEntry, ...]
    memtable: Memtable
    searcher: Searcher
    predicates: tuple[LikePredicate, ...]
    rows: TriedRows | None
    odd: Memtable

    def found(self, records: Sequence[Record], limit: int = ALL) -> Slots:
        """Slots that accept a single record, each once, in any order; `limit` are enough."""
        pieces: list[Slots] = []
        if self.memtable and (one_by_one := self._one_by_one(records)):
            pieces.append(_accepting(one_by_one, records[0]))
            if len(pieces[0]) >= limit:
                return pieces[0]
        batch = self.searcher.prepared(records)
        flags, count = 0, len(pieces[0]) if pieces else 0
        if self.rows is not None and isinstance(batch, bytes):
            _, slots = self.rows.matches(self.searcher.try_rows(self.rows, records, batch))
            pieces.append(np.unique(slots) if self.rows.repeats else slots)
            count += len(pieces[-1])
            if count >= limit:
                return np.concatenate(pieces)
        pending: list[tuple[Segment, SegmentMatches]] = []
        for _, segment, _ in self.segments:
            result = self.searcher.search(segment, records, batch, limit=limit)
            new_flags, _, matches, unverified = result[:_FIRST_SLOT].tolist()
            flags |= new_flags
            pieces.append(result[_FIRST_SLOT : _FIRST_SLOT + matches])
            count += matches
            if count >= limit:
                return np.concatenate(pieces)
            if unverified:
                pending.append((segment, SegmentMatches.of(result, 1)))
        for segment, found in pending:
            passes = verify(found, segment.annex, self.predicates, records)
            pieces.append(segment.slots_of(found.unverified[passes]))
        if len(pieces) == 1 and not flags:
            return pieces[0]
        slots = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        return np.unique(slots) if flags & REPEATS else slots

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, the slots of each in any order.

        Ends after the record with which some segment, or the memtable, has `max_matches` matches or
        more. `limit` verified matches of a record in each segment are enough.
        """
        batch, given = self.searcher.prepared(records), len(records)
        pairs, tried = MatchPairs(), None
        if self.rows is not None and isinstance(batch, bytes):
            tried = self.rows.matches(self.searcher.try_rows(self.rows, records, batch))
        is_alone = len(self.segments) == 1 and not self._one_by_one(records)
        is_alone &= tried is None or not len(tried[1])
        for _, segment, _ in self.segments:
            result = self.searcher.search(
                segment, records[:given], batch, limit=limit, max_matches=max_matches
            )
            found = SegmentMatches.of(result, given)
            if is_alone and not (found.repeats or len(found.unverified)):
                # As a rule there is only one result, which needs no merging.
                return SlotBatch(found.offsets, found.slots)
            # Some segment may have ended early: the others are cut to as many records.
            records = records[: len(found.offsets) - 1]
            numbers = np.arange(len(found.offsets) - 1)
            pairs.add(np.repeat(numbers, np.diff(found.offsets)), found.slots)
            pairs.repeats |= found.repeats
            if len(found.unverified):
                passes = verify(found, segment.annex, self.predicates, records)
                unverified_records = np.repeat(numbers, np.diff(found.unverified_offsets))
                pairs.add(unverified_records[passes], segment.slots_of(found.unverified[passes]))
        if tried is not None and self.rows is not None:
            record_numbers, slots = tried
            pairs.add(record_numbers, slots)
            pairs.repeats |= self.rows.repeats
            if len(slots) >= max_matches:
                ends = np.bincount(record_numbers, minlength=len(records)).cumsum()
                records = records[: int(np.searchsorted(ends, max_matches)) + 1]
        held = 0
        one_by_one = self._one_by_one(records)
        for number, record in enumerate(records if one_by_one else ()):
            slots = _accepting(one_by_one, record)
            pairs.add(np.full(len(slots), number), slots)
            held += len(slots)
            if held >= max_matches:
                records = records[: number + 1]
                break
        return pairs.batch(len(records))

    def found_several(self, record: ManyValued, limit: int = ALL) -> Slots:
        """Slots that accept a record with several values, each once; `limit` are enough.

        No row is made: each filter is looked at once (`kernels.several`).
        """
        given = SortedRecord(record)
        tried = [slot for slot, one in self.memtable.items() if one.accepts_several(given)]
        pieces = [np.array(tried, np.int32)]
        values = self.searcher.values(record)
        batch, repeats = encoded(values), False
        for _, segment, _ in self.segments:
            if sum(map(len, pieces)) >= limit:
                break
            told = self.searcher.search_several(segment, values, batch, limit)
            found = SegmentMatches.of(told, 1)
            repeats |= found.repeats
            pieces.append(found.slots)
            if len(found.unverified):
                unverified = np.unique(found.unverified)
                names = list(self.searcher.numbers)
                passes = verify_several(unverified, segment, names, self.predicates, record)
                pieces.append(segment.slots_of(unverified[passes]))
        slots = np.concatenate(pieces)
        return np.unique(slots) if repeats else slots

    def _one_by_one(self, records: Sequence[Record]) -> Memtable:
        """The filters of the memtable that no kernel tries on these records; on tables, all."""
        return self.memtable if isinstance(records, RecordTable) or not self.rows else self.odd

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """The mean bytes of lookups, bitmaps and conjunctions that matching a record reads."""
        segments = [entry.segment for entry in self.segments]
        return self.searcher.touched(segments, records) / max(1, len(records))


def _accepting(memtable: Memtable, record: Record) -> Slots:
    """The slots of the memtable whose filters accept a record, by trying all."""
    return np.array([slot for slot, added in memtable.items() if added.accepts(record)], np.int32)


_SLOT_BITS: Final = 32
_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1


class MatchPairs:
    """Pairs of record and slot from several segments, brought into the order of a `SlotBatch`."""

    def __init__(self) -> None:
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._slots: list[Slots] = []
        #: true if a pair may be there more than once
        self.repeats = False

    def add(self, numbers: npt.NDArray[np.int64], slots: Slots) -> None:
        """Add pairs, in any order."""
        self._numbers.append(numbers)
        self._slots.append(slots)

    def batch(self, records: int) -> SlotBatch:
        """All pairs of the first `records` records, sorted and each once."""
        if not self._slots:
            return SlotBatch(np.zeros(records + 1, np.int64), np.zeros(0, np.int32))
        pairs = (np.concatenate(self._numbers) << _SLOT_BITS) | np.concatenate(self._slots)
        pairs.sort()
        if self.repeats:
            pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        offsets: Offsets = np.searchsorted(pairs, np.arange(records + 1) << _SLOT_BITS)
        return SlotBatch(offsets, (pairs[: offsets[-1]] & _SLOT_MASK).astype(np.int32))
