"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.segment.Columns`, `columnar.batch.Batch`); the
plain twins are in `kernels.plain`. `match_batch` releases the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from sapwood.matching.columnar.access import KEY_MAX
from sapwood.matching.columnar.batch import BOOLEAN, KIND_BITS, NUMBER, Batch, Found
from sapwood.matching.columnar.line import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.segment import CHECKED, DEAD, SHARED, Columns

F = TypeVar("F", bound=Callable[..., Any])

_KIND_MASK: Final = (1 << KIND_BITS) - 1
_PREFIX_BYTES: Final = 8


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one.

    Where no cache can be written (a read-only file system), every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("F", njit(nogil=True)(function))


@compiled
def number_cell(
    numbers: npt.NDArray[np.float64],
    remainders: npt.NDArray[np.int16],
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among sorted ones, and one more if it is one of them."""
    low, high = 0, len(numbers)
    while low < high:
        middle = (low + high) >> 1
        here = numbers[middle]
        if here < number or (here == number and remainders[middle] < remainder):
            low = middle + 1
        else:
            high = middle
    if low < len(numbers) and numbers[low] == number and remainders[low] == remainder:
        return 2 * low + 1
    return 2 * low


@compiled
def text_cell(columns: Columns, first: int, last: int, text: npt.NDArray[np.uint8]) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of `columns.text_refs`.
    """
    prefix = np.uint64(0)
    for at in range(_PREFIX_BYTES):
        prefix <<= np.uint64(8)
        if at < len(text):
            prefix |= np.uint64(text[at])
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        here = columns.text_prefixes[middle]
        if here < prefix or (here == prefix and _text_order(columns, middle, text) < 0):
            low = middle + 1
        else:
            high = middle
    if low < last and columns.text_prefixes[low] == prefix and _text_order(columns, low, text) == 0:
        return 2 * (low - first) + 1
    return 2 * (low - first)


@compiled
def _signed(value: np.integer[Any]) -> int:
    """A signed integer: numba's `int` keeps what is unsigned, and differences would wrap round."""
    return np.int64(value)  # type: ignore[return-value]


@compiled
def _text_order(columns: Columns, place: int, text: npt.NDArray[np.uint8]) -> int:
    """-1, 0 or 1 as the line's text is before, equal to or after `text`."""
    ref = columns.text_refs[place]
    own = columns.text_bytes[columns.text_offsets[ref] : columns.text_offsets[ref + 1]]
    for at in range(min(len(own), len(text))):
        if own[at] != text[at]:
            return -1 if own[at] < text[at] else 1
    return (len(own) > len(text)) - (len(own) < len(text))


@compiled
def fill_cells(columns: Columns, batch: Batch, record: int, cells: npt.NDArray[np.uint32]) -> None:
    """Write the cell of every value of a record; `cells` has one element for each attribute."""
    for at in range(batch.start[record], batch.start[record + 1]):
        attribute = batch.tag[at] >> KIND_BITS
        if attribute >= len(columns.points):
            continue
        kind, detail = batch.tag[at] & _KIND_MASK, _signed(batch.detail[at])
        first, last = columns.number_start[attribute], columns.number_start[attribute + 1]
        if kind == BOOLEAN:
            cell = TRUE_CELL if detail else FALSE_CELL
        elif kind == NUMBER:
            cell = NUMBERS_CELL + number_cell(
                columns.numbers[first:last],
                columns.remainders[first:last],
                batch.number[at],
                detail,
            )
        else:
            cell = FIRST_TEXT_CELL + 2 * _signed(last - first)
            cell += text_cell(
                columns,
                _signed(columns.text_start[attribute]),
                _signed(columns.text_start[attribute + 1]),
                batch.text_bytes[batch.text_start[detail] : batch.text_start[detail + 1]],
            )
        cells[attribute] = cell


@compiled
def match_batch(columns: Columns, marks: npt.NDArray[np.uint8], batch: Batch, limit: int) -> Found:
    """All matches of every record: see `Found` for the result.

    Stops looking for a record's matches after `limit` sure ones.
    """
    records = len(batch.start) - 1
    cells = np.zeros(max(1, len(columns.points)), np.uint32)
    stretches = np.empty((_stretches_max(columns, batch), 2), np.int64)
    offsets, doubt_offsets = np.zeros(records + 1, np.int64), np.zeros(records + 1, np.int64)
    slots, doubts = np.empty(64, np.int32), np.empty(16, np.int64)
    count, doubt_count, repeats = 0, 0, False
    for record in range(records):
        fill_cells(columns, batch, record, cells)
        enough = count + limit
        for which in range(_find_stretches(columns, batch, record, cells, stretches)):
            first, last = stretches[which, 0], stretches[which, 1]
            slots = _grown(slots, count + last - first)
            doubts = _grown(doubts, doubt_count + last - first)
            for entry in range(first, last):
                cell = cells[columns.entry_attribute[entry]]
                if np.uint32(cell - columns.entry_low[entry]) > columns.entry_span[entry]:
                    continue
                conjunction = columns.entry_conjunction[entry]
                mark = marks[conjunction]
                if mark & DEAD or not _holds_rest(columns, conjunction, cells):
                    continue
                repeats |= (mark & SHARED) != 0
                if mark & CHECKED:
                    doubts[doubt_count] = conjunction
                    doubt_count += 1
                else:
                    slots[count] = columns.slot[conjunction]
                    count += 1
                    if count >= enough:
                        break
            if count >= enough:
                break
        _clear_cells(columns, batch, record, cells)
        offsets[record + 1] = count
        doubt_offsets[record + 1] = doubt_count
    return Found(offsets, slots[:count], doubt_offsets, doubts[:doubt_count], repeats)


@compiled
def _holds_rest(columns: Columns, conjunction: int, cells: npt.NDArray[np.uint32]) -> bool:
    """Whether the constraints that the entry has not settled hold."""
    for constraint in range(columns.rest_start[conjunction], columns.rest_stop[conjunction]):
        cell = cells[columns.constraint_attribute[constraint]]
        low = _signed(columns.run_start[constraint])
        high = _signed(columns.run_start[constraint + 1]) - 1
        while low < high:  # to the last run that begins at or before the cell, or to the first
            middle = (low + high + 1) >> 1
            if columns.run_low[middle] <= cell:
                low = middle
            else:
                high = middle - 1
        if np.uint32(cell - columns.run_low[low]) > columns.run_span[low]:
            return False
    return True


@compiled
def _find_stretches(
    columns: Columns,
    batch: Batch,
    record: int,
    cells: npt.NDArray[np.uint32],
    stretches: npt.NDArray[np.int64],
) -> int:
    """Write the first and the last entry of every cluster that the record's cells lead to.

    Returns how many there are; `stretches` has room for all (`_stretches_max`).
    """
    start = columns.cluster_start
    count = 0
    for at in range(batch.start[record], batch.start[record + 1]):
        attribute = batch.tag[at] >> KIND_BITS
        if attribute >= len(columns.points):
            continue
        cell = _signed(cells[attribute])
        if cell & 1 and columns.points[attribute] >= 0:
            cluster = columns.points[attribute] + (cell >> 1)
            stretches[count, 0], stretches[count, 1] = start[cluster], start[cluster + 1]
            count += 1
        for level in range(columns.level_start[attribute], columns.level_start[attribute + 1]):
            cluster = columns.level_base[level] + (cell >> columns.level_shift[level])
            stretches[count, 0], stretches[count, 1] = start[cluster], start[cluster + 1]
            count += 1
        for which in range(columns.ordered_start[attribute], columns.ordered_start[attribute + 1]):
            if columns.ordered_zone_low[which] <= cell <= columns.ordered_zone_high[which]:
                key = KEY_MAX - cell if columns.ordered_is_up_to[which] else cell
                keys = columns.entry_key[start[which] : start[which + 1]]
                stretches[count, 0] = start[which]
                stretches[count, 1] = start[which] + _count_up_to(keys, key)
                count += 1
    scan = len(start) - 2
    stretches[count, 0], stretches[count, 1] = start[scan], start[scan + 1]
    return count + 1


@compiled
def _stretches_max(columns: Columns, batch: Batch) -> int:
    """How many clusters one record of the batch can lead to."""
    longest = 0
    for record in range(len(batch.start) - 1):
        count = 0
        for at in range(batch.start[record], batch.start[record + 1]):
            attribute = batch.tag[at] >> KIND_BITS
            if attribute < len(columns.points):
                count += 1
                count += columns.level_start[attribute + 1] - columns.level_start[attribute]
                count += columns.ordered_start[attribute + 1] - columns.ordered_start[attribute]
        longest = max(longest, count)
    return longest + 1


@compiled
def _count_up_to(keys: npt.NDArray[np.uint32], key: int) -> int:
    """How many of the sorted keys do not exceed `key`."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] <= key:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _clear_cells(
    columns: Columns, batch: Batch, record: int, cells: npt.NDArray[np.uint32]
) -> None:
    """Undo `fill_cells`: every attribute is absent again."""
    for at in range(batch.start[record], batch.start[record + 1]):
        attribute = batch.tag[at] >> KIND_BITS
        if attribute < len(columns.points):
            cells[attribute] = 0


@compiled
def _grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array, or a copy with more room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
