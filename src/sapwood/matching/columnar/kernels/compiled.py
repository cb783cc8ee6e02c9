"""Matching kernels of the columnar engine, compiled by numba.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch`). `match_batch`,
`match_table`, `try_rows` and `fill_bitmaps` release the interpreter lock.
"""

from __future__ import annotations

from typing import Final

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import FLAGS, UNREADABLE
from sapwood.matching.columnar.casing import casing_words
from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.columnar.kernels.automata import (
    find_all_literals,
    find_fail_states,
    literals_seen,
    texts_noted,
)
from sapwood.matching.columnar.kernels.bitmaps import fill_bitmaps
from sapwood.matching.columnar.kernels.blocks import mark_removed
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.flattening import flatten_records
from sapwood.matching.columnar.kernels.forms import read_forms
from sapwood.matching.columnar.kernels.gathering import WORK
from sapwood.matching.columnar.kernels.lanes import LANES
from sapwood.matching.columnar.kernels.lookups import CANDIDATE_RANGES, find_all_candidate_ranges
from sapwood.matching.columnar.kernels.measuring import looked_up, touched
from sapwood.matching.columnar.kernels.rank_columns import find_present, note_texts, rank_columns
from sapwood.matching.columnar.kernels.rank_records import rank_record
from sapwood.matching.columnar.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.columnar.kernels.result_buffer import finish, match_chunk, new_result_buffer
from sapwood.matching.columnar.kernels.trying import try_rows
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    half,
    keep_alive,
    length,
    new_i64,
    new_u8,
    new_u32,
    offset,
    zeros_i64,
    zeros_u32,
)
from sapwood.matching.compiling.libraries import library
from sapwood.matching.protocol import ALL

__all__ = [
    "fill_bitmaps",
    "find_fail_states",
    "flatten_records",
    "looked_up",
    "mark_removed",
    "match_batch",
    "match_table",
    "read_forms",
    "touched",
    "try_rows",
]

_CANDIDATE_RANGES_AT_ONCE: Final = 1 << 18
_RANKS_AT_ONCE: Final = 1 << 20
_ROWS_AT_ONCE: Final = 16
_ROWS_AT_ONCE_MAX: Final = 8192
"""The records that are matched at a time: this many, or as many as have this many ranks or
candidate ranges, 4 MiB. The more there are, the more share an entry."""


@compiled
def match_batch(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: ReadOnly[U64],
    marks: U8,
    names: ReadOnly[U64],
    records: bytes,
    scratch: U32,
    limit: int,
    max_matches: int,
    join_threshold: int,
) -> I32:
    """All matches of every record; the contract is `columnar.searching.Kernels.match_batch`."""
    columns, words = as_pointer(buffer), as_pointer(names)
    letters, present = all_bytes(records), half(scratch, 1)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    attributes = length(columns, at_column.NUMBER_START) - 1
    # Ranks of many records are put side by side. The ranks of a single one are in `scratch`, which
    # is not filled with 0 each time: there may be far more attributes than the record has.
    is_joined = batch >= join_threshold and limit == ALL
    chunk = min(batch, _rows_at_once(attributes)) if is_joined else 1
    # One more, as a conjunction without constraints reads a rank, too.
    side_by_side = new_u32(chunk * attributes + 1 if is_joined else 0)
    all_ranks = as_pointer(side_by_side) if is_joined else half(scratch, 0)
    starts, work = zeros_i64(chunk + 1), new_u32(WORK)
    texts, seen = texts_noted(columns, len(scratch) // 2), literals_seen(columns)
    folded = new_u8(FOLDED_BYTES)
    candidate_ranges = new_i64(2 * CANDIDATE_RANGES + 2 * _ROWS_AT_ONCE * chunk)
    result, done, is_enough = new_result_buffer(batch), 0, False
    while done < batch and not is_enough:
        side_by_side[:] = 0
        rows = size = 0
        while rows < min(chunk, batch - done) and starts[rows] < _CANDIDATE_RANGES_AT_ONCE:
            ranks = offset(all_ranks, rows * attributes)
            at, size = rank_record(
                columns, words, letters, at, ranks, present, as_pointer(texts), as_pointer(folded)
            )
            if at < 0:
                _clear(ranks, present, size)
                result.matches[FLAGS] = UNREADABLE
                return result.matches[:1]
            end, candidate_ranges = find_all_candidate_ranges(
                columns, ranks, present, size, candidate_ranges, starts[rows]
            )
            end, candidate_ranges, seen = find_all_literals(
                columns, words, texts, candidate_ranges, end, seen, done + rows + 1
            )
            rows += 1
            starts[rows] = end
        result, is_enough = match_chunk(
            columns, marks, all_ranks, attributes, candidate_ranges, starts, rows,
            join_threshold, limit, max_matches, work, result, batch,
        )  # fmt: skip
        done += rows
        if not is_joined:
            _clear(all_ranks, present, size)
    keep_alive(side_by_side)
    keep_alive(texts)
    keep_alive(seen)
    keep_alive(folded)
    return finish(result)


@compiled
def match_table(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: ReadOnly[U64],
    marks: U8,
    names: ReadOnly[U64],
    places: I64,
    numbers: I64,
    first: int,
    rows: int,
    max_matches: int,
    join_threshold: int,
) -> I32:
    """All matches of the rows of a table; see `columnar.searching.Kernels.match_table`."""
    columns, attributes = as_pointer(buffer), length(buffer, at_column.NUMBER_START) - 1
    words, chunk = as_pointer(names), min(rows, _rows_at_once(attributes))
    texts, seen = texts_noted(columns, len(numbers)), literals_seen(columns)
    folded = new_u8(FOLDED_BYTES)
    side_by_side, present = (
        zeros_u32(chunk * attributes + LANES),
        new_u32(attributes),
    )
    starts, work = zeros_i64(chunk + 1), new_u32(WORK)
    candidate_ranges = new_i64(2 * CANDIDATE_RANGES + 2 * _ROWS_AT_ONCE * chunk)
    result, done, is_enough = new_result_buffer(rows), 0, False
    base = filled = 0
    while done < rows and not is_enough:
        if done == filled:
            base, filled = done, min(done + chunk, rows)
            rank_columns(
                columns, words, places, numbers, first + done, filled - done,
                as_pointer(side_by_side), as_pointer(folded),
            )  # fmt: skip
        all_ranks, some = offset(side_by_side, (done - base) * attributes), 0
        while done + some < filled and starts[some] < _CANDIDATE_RANGES_AT_ONCE:
            ranks = offset(all_ranks, some * attributes)
            size = find_present(
                words, ranks, attributes, as_pointer(numbers), len(numbers), as_pointer(present)
            )
            end, candidate_ranges = find_all_candidate_ranges(
                columns, ranks, as_pointer(present), size, candidate_ranges, starts[some]
            )
            note_texts(places, numbers, first + done + some, as_pointer(texts))
            end, candidate_ranges, seen = find_all_literals(
                columns, words, texts, candidate_ranges, end, seen, done + some + 1
            )
            some += 1
            starts[some] = end
        result, is_enough = match_chunk(
            columns, marks, all_ranks, attributes, candidate_ranges, starts, some,
            join_threshold, ALL, max_matches, work, result, rows,
        )  # fmt: skip
        done += some
    keep_alive(side_by_side)
    keep_alive(present)
    keep_alive(texts)
    keep_alive(seen)
    keep_alive(folded)
    return finish(result)


@compiled
def _rows_at_once(attributes: int) -> int:
    return min(max(_ROWS_AT_ONCE, _RANKS_AT_ONCE // max(1, attributes)), _ROWS_AT_ONCE_MAX)


@compiled
def _clear(ranks: U32, present: U32, size: int) -> None:
    """Set the ranks of the first `size` present attributes to 0."""
    for each in range(size):
        ranks[present[each]] = 0


casing_words()  # made here, as kernels are loaded beside all other work
LIBRARY: Final = library(
    "records",
    fill_bitmaps,
    find_fail_states,
    flatten_records,
    looked_up,
    mark_removed,
    match_batch,
    match_table,
    read_forms,
    touched,
    try_rows,
)
