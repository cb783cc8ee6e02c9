"""The record filters of an index, and matching against them in all forms of records.

Engines take one value of an attribute. A record with several is passed to them in rows, and the
matches of its rows are united (`matching.rows`); a record with too many rows is compared with each
filter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from sapwood.language.written import as_given
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.engines import EngineInfo
from sapwood.matching.filter_store import FilterStore, read_filter
from sapwood.matching.protocol import ALL, Engine, KnowingAttributes, SlotBatch, Slots
from sapwood.matching.rows import InRows, Reads, Rows, has_several, one_by_one, rows_of
from sapwood.matching.slot_batches import joined, match_present, no_match, united
from sapwood.matching.tables import RecordTable
from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record

Match: TypeAlias = Callable[[Sequence[Record]], SlotBatch]
"""The match of an engine for many records, each with one value of every attribute."""

_NO_SLOTS: Final = np.zeros(0, np.int32)

_ROWS_AT_ONCE: Final = 1 << 16
"""Rows that are made at a time, apart from those of one record."""


class RecordStore(FilterStore[Engine, Filter]):
    """Filters of records, and the engine that matches records against them."""

    def __init__(self, info: EngineInfo) -> None:
        super().__init__("records", info.make, lambda given: as_given(given).text, read_filter)

    @property
    def reads(self) -> Reads:
        """The predicate of attributes that filters read; always true if the engine has none."""
        engine = self.engine
        return engine.reads if isinstance(engine, KnowingAttributes) else _all_of_them

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept a flat record, in any order; `limit` are enough."""
        if type(record) is ManyValued:
            return self._found_several(record, limit)
        engine, unsorted = self.engine, self.unsorted
        if unsorted is not None:
            return unsorted.found(record, limit)
        return np.array([] if engine is None else engine.match(record), np.int32)

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts a flat record; may stop at the first."""
        engine = self.engine
        if engine is None:
            return False
        if type(record) is not ManyValued:
            return engine.match_any(record)
        rows = one_by_one(record, self.reads)
        if rows is None:
            return len(self._compared(record, 1)) > 0
        return any(map(engine.match_any, rows))

    def match_count(self, record: Record) -> int:
        """The number of filters that accept a flat record."""
        if type(record) is ManyValued:
            return len(self._found_several(record, ALL))
        return 0 if self.engine is None else self.engine.match_count(record)

    def match_slots(
        self,
        records: Sequence[Record | None],
        *,
        in_order: bool,
        max_matches: int = ALL,
        limit: int = ALL,
    ) -> SlotBatch:
        """The slots of many flat records, as `Index.match_slots` returns them."""
        engine, unsorted = self.engine, self.unsorted
        if engine is None:
            return no_match(records)
        match: Match = engine.match_slots
        if unsorted is not None and not in_order:
            match = partial(unsorted.found_many, max_matches=max_matches, limit=limit)
        if isinstance(records, RecordTable | EncodedRecords | Rows | InRows):
            return self._matched(match, max_matches, limit, records)
        return match_present(records, partial(self._matched, match, max_matches, limit))

    def _matched(
        self, match: Match, max_matches: int, limit: int, records: Sequence[Record]
    ) -> SlotBatch:
        """The result of `match` for records, those with several values passed as rows."""
        if not has_several(records):
            return match(records)
        parts: list[SlotBatch] = []
        left = records
        while len(left):
            rows = rows_of(left, self.reads, _ROWS_AT_ONCE)
            parts.append(self._of_rows(rows, match, limit))
            if max_matches < ALL:
                break
            left = left[len(parts[-1].offsets) - 1 :]
        return joined(parts) if parts else no_match(records)

    def _of_rows(self, rows: Rows, match: Match, limit: int) -> SlotBatch:
        """The slots of records in rows: of all records, or of the first ones."""
        found = match(rows.rows) if len(rows.rows) else no_match(())
        first = rows.offsets.item(1)
        while len(found.offsets) <= first:
            # It ended among the rows of the first record.
            found = joined((found, match(rows.rows[len(found.offsets) - 1 : first])))
        together = rows.united(found)
        if not rows.whole:
            return together
        slots = [_NO_SLOTS] * (len(together.offsets) - 1)
        for place, record in rows.whole.items():
            if place < len(slots):
                slots[place] = self._compared(record, limit)
        offsets = np.zeros(len(slots) + 1, np.int64)
        np.cumsum(np.array([*map(len, slots)], np.int64), out=offsets[1:])
        return united(together, SlotBatch(offsets, np.concatenate(slots)))

    def _found_several(self, record: ManyValued, limit: int) -> Slots:
        """The slots that accept a record with several values, each once."""
        if self.engine is None:
            return _NO_SLOTS
        rows = one_by_one(record, self.reads)
        if rows is None:
            return self._compared(record, limit)
        match = self.engine.match_slots
        if self.unsorted is not None:
            match = partial(self.unsorted.found_many, limit=limit)
        return np.unique(match([*rows]).slots)

    def _compared(self, record: ManyValued, limit: int) -> Slots:
        """`_found_several` filter by filter: slots ascending, `limit` are enough."""
        accepting = (slot for slot in self.taken() if self.filter(slot).accepts(record))
        return np.fromiter(islice(accepting, min(limit, len(self))), np.int32)


def _all_of_them(attribute: str) -> bool:  # noqa: ARG001 - whatever it is
    return True
