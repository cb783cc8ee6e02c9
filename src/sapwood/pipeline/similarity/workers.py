"""The workers of `similarity`: they place filters in blocks, and compare those of a block.

Record filters and tree patterns lie in blocks of their own: numbers from 0 on, and from -1 down. A
filter is *stored* in blocks by its labels (`sapwood.similarity.near`) and searches in all in which
a near one may be stored. The searching filters of a block are spread over *chunks*, so that several
tasks compare them; a stored filter is in each of its chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from sapwood.errors import InputError, LimitError
from sapwood.language.forms import decode_form, decode_interest, decode_pattern, is_pattern_form
from sapwood.language.plain_forms import written_form
from sapwood.model.filter import Filter
from sapwood.model.patterns.pattern import TreePattern
from sapwood.pipeline.spark.arrow_rows import rows_of, uncollected
from sapwood.similarity import Knowledge, Similarity, of_bytes
from sapwood.similarity.estimates import DEFAULT_CONSTANTS
from sapwood.similarity.near.boxes import BoxBlock, search_labels, stored_labels
from sapwood.similarity.near.patterns import Directions, PatternBlock, required, stored_label
from sapwood.similarity.steps import steps_of
from sapwood.xml.dtd import read_dtd

if TYPE_CHECKING:
    import pyarrow as pa

STORED: Final = 1
QUERIES: Final = 2
"""Roles of a filter in a block, which add up."""

DESCRIBED: Final = (
    "key STRING, form BINARY, filter STRING, xpath STRING, namespaces MAP<STRING, STRING>, "
    "subscriptions BIGINT, reason STRING, labels ARRAY<STRING>"
)
"""Filters with the labels under which they are stored; with a `reason`, one not compared."""

PLACED: Final = "slot INT, chunk INT, role INT, key STRING, form BINARY"

FOUND: Final = "one STRING, other STRING, is_there BOOLEAN, similarity DOUBLE"
"""Similarities of pairs, the smaller key first; `is_there`: of the first one with the second."""


@dataclass(frozen=True, slots=True)
class Known:
    """Knowledge of documents as bytes that go to workers: a synopsis, a DTD, or both."""

    synopsis: bytes | None = None
    dtd: bytes | None = None
    root: str | None = None

    @property
    def is_nothing(self) -> bool:
        """True if neither is there, so that tree patterns cannot be compared."""
        return self.synopsis is None and self.dtd is None

    def similarity(self) -> Similarity:
        """The measure of tree patterns; raises `InputError` where nothing is known."""
        return _similarity(self)


NOTHING_KNOWN: Final = Known()


@lru_cache(maxsize=1)
def _similarity(known: Known) -> Similarity:
    """The measure of a worker: one each, which keeps its results."""
    synopsis = None if known.synopsis is None else of_bytes(known.synopsis)
    dtd = None if known.dtd is None else read_dtd(known.dtd, known.root)
    return Similarity(Knowledge(dtd, synopsis))


@dataclass(frozen=True, slots=True)
class DescribeFilters:
    """The function for `mapInArrow`: (key, form, subscriptions) in, `DESCRIBED` out."""

    knows_documents: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Print all filters of one task, with the reason for each that cannot be compared."""
        import pyarrow as pa

        for batch in batches:
            keys, forms, counts = batch.columns
            with uncollected():
                rows = [self._described(form) for form in forms.to_pylist()]
            written = [row[0] for row in rows]
            texts = [one.text if one.language == "filter" else None for one in written]
            xpaths = [one.text if one.language == "xpath" else None for one in written]
            bindings = pa.map_(pa.string(), pa.string())
            columns = [
                *(keys, forms, pa.array(texts, pa.string()), pa.array(xpaths, pa.string())),
                pa.array([one.bindings for one in written], bindings),
                counts,
                pa.array([row[1] for row in rows], pa.string()),
                pa.array([row[2] for row in rows], pa.list_(pa.string())),
            ]
            names = [column.split()[0] for column in _columns(DESCRIBED)]
            yield pa.RecordBatch.from_arrays(columns, names=names)

    def _described(self, form: bytes) -> tuple[Any, str | None, list[str] | None]:
        written = written_form(form)
        interest = decode_interest(form)
        if isinstance(interest, Filter):
            return written, None, sorted(stored_labels(interest))
        assert isinstance(interest, TreePattern), "an interest is of either language"
        if not self.knows_documents:
            reason = "a tree pattern is compared by what is known of documents: name a synopsis"
            return written, reason, None
        try:
            steps_of(interest)
        except LimitError as error:
            return written, str(error), None
        return written, None, sorted(_required(interest))


def _required(pattern: TreePattern) -> frozenset[str]:
    return required(steps_of(pattern), DEFAULT_CONSTANTS.conflict).names


def _columns(schema: str) -> list[str]:
    return schema.replace("MAP<STRING, STRING>", "MAP").split(", ")


@dataclass(frozen=True, slots=True)
class PlaceFilters:
    """The function for `mapInArrow`: (key, form) in, `PLACED` out.

    `slots` and `pattern_slots` are the blocks of record filters and of tree patterns, `chunks` the
    chunks of each block; `labels` are all under which record filters are stored, `frequencies` how
    many patterns of a sample require each name.
    """

    slots: int
    pattern_slots: int
    chunks: int
    labels: Sequence[str]
    frequencies: Mapping[str, int]
    known: Known
    least: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Place all filters of one task."""
        import pyarrow as pa

        for batch in batches:
            keys, forms = (column.to_pylist() for column in batch.columns)
            rows: list[int] = []
            placed: list[tuple[int, int, int]] = []
            with uncollected():
                places = self._places(forms)
                for row, key in enumerate(keys):
                    found = self._chunked(key, *places[row])
                    rows += [row] * len(found)
                    placed += found
            taken = batch.take(pa.array(rows, pa.int64()))
            numbers = [pa.array([one[at] for one in placed], pa.int32()) for at in range(3)]
            names = ["slot", "chunk", "role", "key", "form"]
            yield pa.RecordBatch.from_arrays([*numbers, *taken.columns], names=names)

    def _places(self, forms: Sequence[bytes]) -> list[tuple[frozenset[int], frozenset[int]]]:
        """For each filter the slots in which it is stored, and those in which it searches."""
        patterns = {
            at: decode_pattern(form) for at, form in enumerate(forms) if is_pattern_form(form)
        }
        block = None
        if self.pattern_slots > 1 and patterns:
            block = PatternBlock(self.known.similarity(), list(patterns.values()), self.least)
        numbers = {at: number for number, at in enumerate(patterns)}
        found = []
        for at, form in enumerate(forms):
            if at not in patterns:
                found.append(self._of_boxes(form))
            elif block is None:
                found.append((frozenset({-1}), frozenset({-1})))
            else:
                found.append(self._of_patterns(block, numbers[at]))
        return found

    def _of_boxes(self, form: bytes) -> tuple[frozenset[int], frozenset[int]]:
        if self.slots == 1:
            return frozenset({0}), frozenset({0})
        one = decode_form(form)
        searched = search_labels(one, self.labels, self.least)
        return (
            frozenset(_slot(label, self.slots) for label in stored_labels(one)),
            frozenset(_slot(label, self.slots) for label in searched),
        )

    def _of_patterns(
        self, block: PatternBlock, number: int
    ) -> tuple[frozenset[int], frozenset[int]]:
        label = stored_label(block.required[number].names, self.frequencies)
        searched = block.labels(number)
        return (
            frozenset({-1 - _slot(label, self.pattern_slots)}),
            frozenset(-1 - _slot(one, self.pattern_slots) for one in searched),
        )

    def _chunked(
        self, key: str, stored: frozenset[int], searched: frozenset[int]
    ) -> list[tuple[int, int, int]]:
        """The blocks of a filter with its roles: stored in all chunks, searching in one."""
        own = int(key[:8], 16) % self.chunks
        return [
            (slot, chunk, role)
            for slot in sorted(stored | searched)
            for chunk in range(self.chunks)
            for role in [STORED * (slot in stored) + QUERIES * (slot in searched and chunk == own)]
            if role
        ]


@dataclass(frozen=True, slots=True)
class CompareBlocks:
    """The function for `mapInArrow`: `PLACED`, sorted by slot and chunk, in, `FOUND` out."""

    known: Known
    least: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compare all blocks of one task."""
        import pyarrow as pa

        for (slot, _), group in groupby(rows_of(batches), key=itemgetter(0, 1)):
            members = sorted((key, role, form) for _, _, role, key, form in group)
            with uncollected():
                keys = [key for key, _, _ in members]
                searching = [at for at, (_, role, _) in enumerate(members) if role & QUERIES]
                stored = [at for at, (_, role, _) in enumerate(members) if role & STORED]
                found = self._directions(slot, [form for _, _, form in members], searching, stored)
                for one, others, values in found:
                    key = keys[one]
                    other = [keys[at] for at in others]
                    columns = [
                        pa.array([min(key, it) for it in other], pa.string()),
                        pa.array([max(key, it) for it in other], pa.string()),
                        pa.array([key < it for it in other], pa.bool_()),
                        pa.array(values, pa.float64()),
                    ]
                    names = ["one", "other", "is_there", "similarity"]
                    yield pa.RecordBatch.from_arrays(columns, names=names)

    def _directions(
        self, slot: int, forms: Sequence[bytes], searching: Sequence[int], stored: Sequence[int]
    ) -> Iterator[Directions]:
        if slot >= 0:
            return BoxBlock(list(map(decode_form, forms)), self.least).directions(searching, stored)
        patterns = list(map(decode_pattern, forms))
        block = PatternBlock(self.known.similarity(), patterns, self.least)
        return block.directions(searching, stored)


def read_known(synopsis: bytes | None, dtd: bytes | None, root: str | None) -> Known:
    """The knowledge, checked here before it goes to workers; raises `InputError` for bad bytes."""
    known = Known(synopsis, dtd, root)
    if not known.is_nothing:
        known.similarity()
    elif root is not None:
        raise InputError("a root element goes with a DTD; name that, or leave the root out")
    return known


def _slot(label: str, slots: int) -> int:
    return crc32(label.encode(errors="surrogatepass")) % slots
