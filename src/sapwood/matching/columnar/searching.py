"""Searches of segments by kernels, with the names and the scratch memory that kernels need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias, cast

import numpy as np

from sapwood.matching.columnar import packed_forms
from sapwood.matching.columnar.batch import UNREADABLE, encoded, name_table, refusal
from sapwood.matching.columnar.build import BuildingKernels
from sapwood.matching.columnar.columns import F64, I32, I64, U8, U32, U64
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.segment import RemovalKernels, Segment
from sapwood.matching.columnar.tried_rows import SCRATCH_PLACES, TriedRows
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.protocol import ALL
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import ManyValued, Record

_COMPILED: Final = "sapwood.matching.columnar.kernels.compiled"

Prepared: TypeAlias = bytes | I64
"""Records in MessagePack, or of the columns of a table the numbers of the attributes."""

_NO_ATTRIBUTE: Final = -1

_JOIN_THRESHOLD: Final = 16
"""Records that must share an entry to make it pay to evaluate it for all of them at once. That
takes some 20 ns whatever their number, and 2 to 3 ns for each alone."""


class Kernels(BuildingKernels, RemovalKernels, Protocol):
    """The module of kernels that matching calls."""

    def match_batch(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        buffer: U64,
        marks: U8,
        names: U64,
        records: bytes,
        scratch: U32,
        limit: int,
        max_matches: int,
        join_threshold: int,
    ) -> I32:
        """All matches of every record, as `SegmentMatches.of` reads them.

        `records` is made by `batch.encoded`, `names` by `name_table`. `scratch` has two elements
        for each attribute, two at least; its first half is all 0, and is left so. Keeps no more
        than `limit` verified matches of a record, and ends after the record with which there are
        `max_matches` matches or more. Records that cannot be read give `UNREADABLE` alone.

        Entries are evaluated for many records at once where `join_threshold` records share them on
        average, and there is no `limit`.
        """

    def match_table(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        buffer: U64,
        marks: U8,
        names: U64,
        places: I64,
        numbers: I64,
        first: int,
        rows: int,
        max_matches: int,
        join_threshold: int,
    ) -> I32:
        """All matches of `rows` rows of a table, from row `first` of its columns on.

        `names` has the derived attributes of texts. `places` is the table's (`RecordTable.places`),
        `numbers` the attribute of each column. The rest is as for `match_batch`.
        """

    def match_several(  # noqa: PLR0917 - compiled code takes arrays apart
        self, buffer: U64, marks: U8, names: U64, values: bytes, scratch: U32, limit: int
    ) -> I32:
        """All matches of one record whose attributes may have several values.

        `values` is what `batch.encoded` makes of a record for each value, with that alone, those of
        an attribute side by side. The rest is as for `match_batch` with a single record. A pattern
        check tells of all values of its attribute: whoever verifies one has to look for one value
        that passes all of them, and all constraints on that attribute.
        """

    def try_rows(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        rows: I64,
        heads: I32,
        names: U64,
        records: bytes,
        values: I64,
        numbers: F64,
    ) -> I32:
        """The rows (`tried_rows.TriedRows`) that accept each record.

        The result has, from `tried_rows.PAIRS` on, pairs of record and row, record by record, and
        before them the end of the pairs, or 0 where a record cannot be read. `records` and `names`
        are as for `match_batch`. The kernel writes into `values`, which has
        `tried_rows.SCRATCH_PLACES` elements for each attribute, which are 0, and one more each, and
        into `numbers`, which has one each.
        """

    def flatten_records(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        data: bytes,
        starts: I64,
        ends: I64,
        scratch: U64,
        out: U8,
        offsets: I64,
        verdicts: U8,
    ) -> None:
        """Make flat views of records as they arrived; the contract is `flat_records.Kernel`."""

    @property
    def read_forms(self) -> packed_forms.Kernel:
        """The kernel that reads the bytes of filters into columns."""

    def looked_up(self, buffer: U64, names: U64, records: bytes, scratch: U32) -> int:
        """The number of entries that the lookups of a batch of records lead to."""

    def touched(self, buffer: U64, names: U64, records: bytes, scratch: U32) -> int:
        """The bytes of directories, bitmaps and blocks that matching a batch reads."""


class LazyKernels:
    """The kernels that were given, or else the compiled ones, imported at their first use."""

    def __init__(self, given: Kernels | None = None) -> None:
        self._given = given

    @cached_property
    def loaded(self) -> Kernels:
        """The module of kernels."""
        return self._given or cast("Kernels", import_module(_COMPILED))


class Searcher:
    """Runs kernels with the names of the attributes of one moment.

    Attributes that are added later need another searcher (`grown`), with scratch memory of its own.
    Any number of threads may search.

    #: _names holds the attributes of `numbers`
    #: each array in _scratch has the length that _names requires
    """

    def __init__(self, attributes: Mapping[Attribute, int], kernels: LazyKernels) -> None:
        self._kernels = kernels
        #: attribute -> number, from 0 without gaps, in this order
        self.numbers: Final[Mapping[Attribute, int]] = MappingProxyType(dict(attributes))
        self._names: Final = name_table(self.numbers)
        #: idle scratch arrays of kernels: one for each search that ran at the same time
        self._scratch: Final[list[U32]] = []

    def grown(self, attributes: Mapping[Attribute, int]) -> Searcher:
        """The searcher for `attributes`, which begin with the ones of this searcher."""
        return self if len(attributes) == len(self.numbers) else Searcher(attributes, self._kernels)

    @property
    def kernels(self) -> Kernels:
        """The module of kernels that matching calls."""
        return self._kernels.loaded

    @property
    def held(self) -> int:
        """Bytes of the names as kernels take them, and of the scratch memory."""
        return self._names.nbytes + sum(scratch.nbytes for scratch in self._scratch)

    def prepared(self, records: Sequence[Record]) -> Prepared:
        """The records in the form for `search`: encoded, or for columns the attribute numbers.

        Records that are in MessagePack already are passed on as they are.

        Raises `InvalidValueError` for values that no record may hold, as `search` does.
        """
        if isinstance(records, EncodedRecords):
            return records.encoded
        if not isinstance(records, RecordTable):
            return encoded(records)
        numbers = [self.numbers.get(name, _NO_ATTRIBUTE) for name in records.columns]
        return np.array(numbers, np.int64)

    def search(
        self,
        segment: Segment,
        records: Sequence[Record],
        batch: Prepared,
        *,
        limit: int = ALL,
        max_matches: int = ALL,
    ) -> I32:
        """The kernel's result for records, of which `prepared` made `batch` (`SegmentMatches.of`).

        `limit` verified matches are enough for a record, unless records are a table; with
        `max_matches` the result ends after the record that reaches that number. Raises
        `InvalidValueError` for values that no record may hold.
        """
        if isinstance(records, RecordTable):
            assert not isinstance(batch, bytes), "a table is not encoded"
            rows = (records.places, batch, records.first, len(records))
            return self.kernels.match_table(
                segment.buffer, segment.marks, self._names, *rows, max_matches, _JOIN_THRESHOLD
            )
        assert isinstance(batch, bytes), "records are encoded"
        try:  # no call, as this is done for each single record
            scratch = self._scratch.pop()
        except IndexError:
            scratch = self._new_scratch()
        result = self.kernels.match_batch(
            segment.buffer,
            segment.marks,
            self._names,
            batch,
            scratch,
            limit,
            max_matches,
            _JOIN_THRESHOLD,
        )
        self._scratch.append(scratch)
        if result.item(0) & UNREADABLE:
            raise refusal(records)
        return result

    def values(self, record: ManyValued) -> Sequence[Record]:
        """A record for each value that some filter may read, as `search_several` takes them."""
        known = self.numbers
        return [
            {name: value}
            for name, values in record.items()
            if name in known
            for value in (values if type(values) is tuple else (values,))
        ]

    def search_several(
        self, segment: Segment, values: Sequence[Record], batch: bytes, limit: int = ALL
    ) -> I32:
        """The kernel's result for one record with these `values`, of which `batch` was made.

        `limit` sure matches are enough. Raises `InvalidValueError` for what no record may hold.
        """
        scratch = self._scratch.pop() if self._scratch else self._new_scratch()
        result = self.kernels.match_several(
            segment.buffer, segment.marks, self._names, batch, scratch, limit
        )
        self._scratch.append(scratch)
        if result.item(0) & UNREADABLE:
            raise refusal(values)
        return result

    def try_rows(self, rows: TriedRows, records: Sequence[Record], batch: bytes) -> I32:
        """The kernel's result for rows and records, which `batch` holds (`TriedRows.matches`).

        Raises `InvalidValueError` for values that no record may hold.
        """
        count = len(self.numbers)
        values = np.zeros((SCRATCH_PLACES + 1) * count, np.int64)
        told = self.kernels.try_rows(
            rows.words, rows.heads, self._names, batch, values, np.empty(count, np.float64)
        )
        if not told.item(0):
            raise refusal(records)
        return told

    def looked_up(self, segment: Segment, records: Sequence[Record]) -> int:
        """The number of entries that the lookups of `records` lead to."""
        look_up = self.kernels.looked_up
        return look_up(segment.buffer, self._names, encoded(records), self._new_scratch())

    def touched(self, segments: Iterable[Segment], records: Sequence[Record]) -> int:
        """The bytes of lookups, bitmaps and conjunctions that matching `records` reads."""
        batch, touched = encoded(records), self.kernels.touched
        return sum(
            touched(segment.buffer, self._names, batch, self._new_scratch()) for segment in segments
        )

    def _new_scratch(self) -> U32:
        """A scratch array for kernels; see `Kernels.match_batch`."""
        return np.zeros(2 * max(1, len(self.numbers)), np.uint32)
