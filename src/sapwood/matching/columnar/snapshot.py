"""What a match reads of an engine: all of it, as it was at one moment.

The engine goes on changing while matches are under way, in other threads. A match is handed a
snapshot and nothing else: what is below has no way to the engine, so it cannot read something
twice and find it changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from sapwood.matching.columnar.batch import HEAD, REPEATS, Found, encoded
from sapwood.matching.columnar.compaction import Part
from sapwood.matching.columnar.like_checks import Probe, settle
from sapwood.matching.columnar.pairs import Pairs
from sapwood.matching.columnar.searching import Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.model.filter import Filter
from sapwood.model.publication import Record

_FIRST_SLOT: Final = HEAD + 2
"""Where the slots of a single record begin in what a kernel tells."""

Tail: TypeAlias = tuple[tuple[int, Filter], ...]
"""Slots with their filters, which are tried one by one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every filter of an engine, in a part or in the tail.

    `searcher` names all attributes, and `probes` has all probes, that the parts mention; either may
    know more. What may still change are marks of removal in the parts, a byte at a time.
    """

    parts: tuple[Part, ...]
    tail: Tail
    searcher: Searcher
    probes: tuple[Probe, ...]

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """Slots that accept one record, each once, in any order; `limit` are enough."""
        records = (record,)
        pieces = [_accepting(self.tail, record)] if self.tail else []
        count = len(pieces[0]) if pieces else 0
        if count >= limit:
            return pieces[0]
        batch = encoded(records)
        flags = 0
        doubtful: list[tuple[Segment, Found]] = []
        for _, segment, _ in self.parts:
            told = self.searcher.search(segment, records, batch, limit=limit)
            said, _, sure, doubts = told[:_FIRST_SLOT].tolist()
            flags |= said
            pieces.append(told[_FIRST_SLOT : _FIRST_SLOT + sure])
            count += sure
            if count >= limit:
                return np.concatenate(pieces)
            if doubts:
                doubtful.append((segment, Found.of(told, 1)))
        for segment, unsure in doubtful:
            passes = settle(unsure, segment.annex, self.probes, records)
            pieces.append(segment.slots_of(unsure.doubts[passes]))
        if len(pieces) == 1 and not flags:
            return pieces[0]
        slots = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        return np.unique(slots) if flags & REPEATS else slots

    def found_many(self, records: Sequence[Record], most: int = ALL) -> SlotBatch:
        """The matches of many records, the slots of each in any order.

        Ends after the record with which some segment, or the tail, has `most` matches or more.
        """
        batch, given = self.searcher.prepared(records), len(records)
        pairs = Pairs()
        for _, segment, _ in self.parts:
            told = self.searcher.search(segment, records[:given], batch, most=most)
            found = Found.of(told, given)
            if len(self.parts) == 1 and not (self.tail or found.repeats or len(found.doubts)):
                # As a rule there is nothing to put together.
                return SlotBatch(found.offsets, found.slots)
            # All tell of as many records as the one that tells of the fewest.
            records = records[: len(found.offsets) - 1]
            numbers = np.arange(len(found.offsets) - 1)
            pairs.add(np.repeat(numbers, np.diff(found.offsets)), found.slots)
            pairs.repeats |= found.repeats
            if len(found.doubts):
                passes = settle(found, segment.annex, self.probes, records)
                doubted = np.repeat(numbers, np.diff(found.doubt_offsets))
                pairs.add(doubted[passes], segment.slots_of(found.doubts[passes]))
        held = 0
        for number, record in enumerate(records if self.tail else ()):
            tail = _accepting(self.tail, record)
            pairs.add(np.full(len(tail), number), tail)
            held += len(tail)
            if held >= most:
                records = records[: number + 1]
                break
        return pairs.batch(len(records))

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """Bytes of lookups, bit rows and conjunctions that matching a record reads, on average."""
        segments = [part.segment for part in self.parts]
        return self.searcher.touched(segments, records) / max(1, len(records))


def _accepting(tail: Tail, record: Record) -> Slots:
    """The slots of the tail whose filters accept a record, by trying all."""
    return np.array([slot for slot, wanted in tail if wanted.accepts(record)], np.int32)
