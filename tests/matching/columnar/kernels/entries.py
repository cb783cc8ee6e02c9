"""Kernels that tests call by themselves: compiled together, and kept as the product's sets are.

A kernel that Python calls is compiled with all that it calls, and takes seconds: once for each of
these, in every run. As the entries of one set they share what they call, also with the product's
set if that was compiled before (`scripts/kernels.py`), and are read from a file the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.columnar.kernels import (
    blocks,
    evaluation,
    lookups,
    rank_records,
    reading,
    result_buffer,
    views,
)
from sapwood.matching.columnar.kernels import rank_columns as of_columns
from sapwood.matching.columnar.kernels.batch_join import join
from sapwood.matching.columnar.kernels.blocks import (
    attribute_of,
    block_of,
    blocks_of,
    conjunction_of,
    size_of,
)
from sapwood.matching.columnar.kernels.derivations import read_derived
from sapwood.matching.columnar.kernels.lanes import holding, lowest, within
from sapwood.matching.columnar.kernels.rank_columns import find_present
from sapwood.matching.columnar.kernels.rank_records import BucketHint, number_rank
from sapwood.matching.columnar.kernels.views import as_pointer, compiled, keep_alive, offset
from sapwood.matching.compiling.libraries import library

Array = npt.NDArray[Any]

F = TypeVar("F", bound=Callable[..., Any])


def entry(kernel: F, **types: object) -> F:
    """A kernel as the entry of a set: it is handed segment buffers and names that are not written.

    Within a set these are passed on as pointers, for which a kernel's annotations do not count.
    `types` are those of other arguments that are not as they are annotated.
    """
    of: Any = getattr(kernel, "py_func", kernel)
    function = FunctionType(of.__code__, of.__globals__, of.__name__)
    names = of.__annotations__.keys() & {"buffer", "names"}
    function.__annotations__ = {
        **of.__annotations__,
        **dict.fromkeys(names, ReadOnly[U64]),
        **types,
    }
    return compiled(cast("F", function))


evaluate = entry(evaluation.evaluate)
find_candidate_ranges = entry(lookups.find_candidate_ranges)
first_beyond = entry(lookups.first_beyond)
rank_columns = entry(of_columns.rank_columns)
rank_record = entry(rank_records.rank_record)
text_rank = entry(rank_records.text_rank)
read_size = entry(reading.read_size, letters=ReadOnly[U8])
read_value = entry(reading.read_value, letters=ReadOnly[U8])
find_name = entry(reading.find_name, letters=ReadOnly[U8])
text_order = entry(reading.text_order, known=ReadOnly[U8], letters=ReadOnly[U8])
new_result_buffer = entry(result_buffer.new_result_buffer)
finish = entry(result_buffer.finish)
grown = entry(evaluation.grown, array=I64)
constraints_of = entry(blocks.constraints_of)
is_in_one = entry(blocks.is_in_one)


@compiled
def present_in(names: ReadOnly[U64], ranks: U32, width: int, numbers: I64, present: U32) -> int:
    """`find_present` for arrays."""
    return find_present(
        as_pointer(names),
        as_pointer(ranks),
        width,
        as_pointer(numbers),
        len(numbers),
        as_pointer(present),
    )


@compiled
def rank_of(
    numbers: npt.NDArray[np.float64],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    hint: tuple[U32, int, float],
    number: float,
    remainder: int,
    given: int,
) -> int:
    """`number_rank` with a bucket hint of an array."""
    places, buckets, scale = hint
    return number_rank(
        numbers, remainders, first, last,
        BucketHint(as_pointer(places), buckets, scale), number, remainder, given,
    )  # fmt: skip


@compiled
def joined(
    buffer: ReadOnly[U64],
    marks: U8,
    ranks: U32,
    candidate_ranges: I64,
    starts: I64,
    join_threshold: int,
    max_matches: int,
) -> tuple[int, I64, I32]:
    """`join` for arrays."""
    found = join(
        as_pointer(buffer),
        as_pointer(marks),
        as_pointer(ranks),
        candidate_ranges,
        starts,
        len(starts) - 1,
        join_threshold,
        max_matches,
    )
    keep_alive(ranks)
    return found


@compiled
def derived_from(
    names: ReadOnly[U64], function: int, letters: U8, first: int, last: int, folded: U8
) -> tuple[int, int, int]:
    """`read_derived` for arrays."""
    return read_derived(
        as_pointer(names), function, as_pointer(letters), first, last, as_pointer(folded)
    )


@compiled
def sizes_and_conjunctions(buffer: ReadOnly[U64], entries: int) -> U32:
    """The results of `size_of` and `conjunction_of` for each entry."""
    places, told = blocks_of(as_pointer(buffer)), np.empty(2 * entries, np.uint32)
    for entry in range(entries):
        conjunction = conjunction_of(places, entry)
        told[2 * entry], told[2 * entry + 1] = size_of(places, conjunction), conjunction
    return told


@compiled
def constraints_in(buffer: ReadOnly[U64], conjunction: int) -> U32:
    """Attribute, first rank and width of each constraint."""
    places = blocks_of(as_pointer(buffer))
    here = block_of(places, conjunction)
    told = np.empty(3 * here.constraints, np.uint32)
    for number in range(here.constraints):
        told[3 * number] = attribute_of(places, here, number)
        told[3 * number + 1] = places.words[here.first + 2 * number]
        told[3 * number + 2] = places.words[here.first + 2 * number + 1]
    return told


@compiled
def lanes_within(ranks: U32, skipped: int, low: int, width: int) -> int:
    """`within` for the ranks that come after some."""
    found: int = within(offset(as_pointer(ranks), skipped), np.uint32(low), np.uint32(width))
    return found


@compiled
def lanes_holding(lows: U32, widths: U32, value: int) -> int:
    """`holding` for arrays."""
    found: int = holding(as_pointer(lows), as_pointer(widths), np.uint32(value))
    return found


@compiled
def lowest_of(bits: np.uint64) -> int:
    """`lowest`, from Python."""
    found: int = lowest(bits)
    return found


@compiled
def length_of(buffer: ReadOnly[U64], place: int) -> int:
    return views.length(buffer, place)


def copier(column_type: object, read: Callable[[U64, int], Array]) -> Callable[..., None]:
    """Compiled code that copies a column of a type, which has no length where it is read."""

    def copy(buffer: ReadOnly[U64], place: int, into: Array) -> None:
        column = read(as_pointer(buffer), place)
        for at in range(len(into)):
            into[at] = column[at]

    copy.__annotations__["into"] = column_type
    return compiled(copy)


COPIERS: Final = {
    np.dtype(kind): copier(column_type, read)
    for kind, column_type, read in (
        (np.uint8, U8, views.u8),
        (np.int16, npt.NDArray[np.int16], views.i16),
        (np.uint32, U32, views.u32),
        (np.float32, npt.NDArray[np.float32], views.f32),
        (np.float64, npt.NDArray[np.float64], views.f64),
        (np.int64, I64, views.i64),
        (np.uint64, U64, views.u64),
    )
}
"""The kind of a column's values -> what copies such a column."""

LIBRARY: Final = library(
    "tests-records",
    constraints_in,
    constraints_of,
    derived_from,
    evaluate,
    find_candidate_ranges,
    find_name,
    finish,
    first_beyond,
    grown,
    is_in_one,
    joined,
    lanes_holding,
    lanes_within,
    length_of,
    lowest_of,
    new_result_buffer,
    present_in,
    rank_columns,
    rank_of,
    rank_record,
    read_size,
    read_value,
    sizes_and_conjunctions,
    text_order,
    text_rank,
    *COPIERS.values(),
)
