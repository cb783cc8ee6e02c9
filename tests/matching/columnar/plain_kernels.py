"""Kernels in plain Python, by which compiled ones are judged: the same results, the obvious way.

They use neither the order of a line nor clusters nor bit rows: a value is compared with every
constant of its attribute, a record with every conjunction.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.columnar import bitmaps
from sapwood.matching.columnar.batch import REPEATS, UNREADABLE
from sapwood.matching.columnar.columns import (
    BLOCK_WORDS,
    CHECKED,
    DEAD,
    I32,
    I64,
    KEY_MAX,
    ROWS_MIN,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
    Columns,
    block_start_of,
    block_starts,
    columns_of,
    entry_conjunctions,
)
from sapwood.matching.columnar.domains import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.naming import NAME_HEAD, PLACE_BITS
from sapwood.matching.columnar.segment import block
from sapwood.matching.keys import number_key
from sapwood.matching.protocol import ALL
from sapwood.matching.tables import (
    PLACE_DATA,
    PLACE_FIRST,
    PLACE_KIND,
    PLACE_OFFSETS,
    PLACE_SIZE,
    PLACE_VALIDITY,
    Kind,
)
from sapwood.model.publication import Value

fill_rows = bitmaps.fill_rows

Readable: TypeAlias = Mapping[str | bytes, Value | bytes]
"""A record as it is read back: texts that are no UTF-8 are bytes."""


def number_cell(
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among others, and one more if it is one of them.

    These are `numbers[first:last]`. `remainders` are as many as numbers, or none if all are 0.
    """
    exact = remainders.tolist() if len(remainders) else [0] * len(numbers)
    constants = list(zip(numbers.tolist(), exact, strict=True))[first:last]
    wanted = (number, remainder)
    return 2 * sum(constant < wanted for constant in constants) + (wanted in constants)


def text_cell(columns: Columns, first: int, last: int, text: bytes) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of the column `text_refs`.
    """
    offsets = columns.text_offsets
    constants = [
        columns.text_bytes[offsets[ref] : offsets[ref + 1]].tobytes()
        for ref in columns.text_refs[first:last].tolist()
    ]
    return 2 * sum(constant < text for constant in constants) + (text in constants)


def fill_cells(columns: Columns, names: U64, record: Readable, cells: U32) -> None:
    """Write the cell of every value of a record; `cells` has an element for each attribute."""
    numbers = names_of(names)
    for name, value in record.items():
        attribute = numbers.get(_bytes(name), len(columns.points))
        if attribute < len(columns.points):
            cells[attribute] = _cell(columns, attribute, value)


def match_batch(
    image: U64,
    marks: U8,
    names: U64,
    records: bytes,
    scratch: U32,
    limit: int,
    most: int,
    sharing: int,
) -> I32:
    """All matches of every record, as `columnar.batch.Found.of` reads them.

    `records` is what `columnar.batch.encoded` makes, `names` what `columnar.naming.names_image`
    does. `scratch` has two elements for each attribute, two at least, and its first half is all 0;
    it is left so. Keeps no more than `limit` sure matches of a record, and ends after the record
    with which there are `most` matches or more. Of records that cannot be read nothing is told but
    `UNREADABLE`.
    """
    columns = columns_of(image)
    given: list[Readable] = msgspec.msgpack.decode(records)
    if not all(_is_readable(value) for record in given for value in record.values()):
        return np.array([UNREADABLE], np.int32)
    all_cells = np.zeros((len(given), len(scratch) // 2), np.uint32)
    for record, cells in zip(given, all_cells, strict=True):
        fill_cells(columns, names, record, cells)
    return _told(columns, marks, all_cells, limit, most)


def match_table(
    image: U64,
    marks: U8,
    places: I64,
    numbers: I64,
    first: int,
    rows: int,
    most: int,
    sharing: int,
) -> I32:
    """All matches of some rows of a table, as `columnar.batch.Found.of` reads them.

    The rows are `rows` from row `first` of the columns on. `places` and `numbers` are as for
    `fill_columns`. Ends after the row with which there are `most` matches or more.
    """
    columns = columns_of(image)
    all_cells = np.zeros((rows, len(columns.points)), np.uint32)
    fill_columns(image, places, numbers, first, rows, all_cells.reshape(-1))
    return _told(columns, marks, all_cells, ALL, most)


def fill_columns(image: U64, places: I64, numbers: I64, first: int, rows: int, cells: U32) -> None:
    """Write the cells of `rows` rows of a table, from row `first` of its columns on.

    `places` is the table's (`RecordTable.places`), `numbers` the attribute of each column; those
    that are no attribute of the image are left out. In `cells` each row has an element for each
    attribute of the image. What is absent gets the cell 0.
    """
    columns = columns_of(image)
    width = len(columns.points)
    by_column = places.reshape(-1, PLACE_SIZE)
    for attribute, place in zip(numbers.tolist(), by_column.tolist(), strict=True):
        if 0 <= attribute < width:
            for row in range(rows):
                value = _value_at(place, first + row)
                cell = 0 if value is None else _cell(columns, attribute, value)
                cells[row * width + attribute] = cell


def mark_removed(image: U64, marks: U8, by_slot: U32, slot: int) -> int:
    """Mark the conjunctions of a slot as removed; returns how many were not so before.

    `by_slot` are all conjunctions, sorted by slot.
    """
    columns = columns_of(image)
    heads = columns.blocks[block_start_of(columns, by_slot)]
    found = by_slot[(heads & SLOT_MASK) == slot]
    removed = int(np.count_nonzero((marks[found] & DEAD) == 0))
    marks[found] |= DEAD
    return removed


def looked_up(image: U64, names: U64, records: bytes, scratch: U32) -> int:
    """How many entries the lookups of all records of a batch lead to; see `match_batch`."""
    columns, total = columns_of(image), 0
    for record in msgspec.msgpack.decode(records):
        cells = np.zeros(len(scratch) // 2, np.uint32)
        fill_cells(columns, names, record, cells)
        total += sum(last - first for first, last in find_stretches(columns, cells))
    return total


def touched(image: U64, names: U64, records: bytes, scratch: U32) -> int:
    """How many bytes of directories, bit rows and blocks a batch has read; see `match_batch`."""
    columns, total = columns_of(image), 0
    sizes = 4 * np.diff(block_starts(columns))[entry_conjunctions(columns)]
    for record in msgspec.msgpack.decode(records):
        cells = np.zeros(len(scratch) // 2, np.uint32)
        fill_cells(columns, names, record, cells)
        for first, last in find_stretches(columns, cells):
            if first < last:
                total += 8 + _read_of(columns, cells, sizes, first, last)
    return total


def _told(
    columns: Columns, marks: U8, all_cells: npt.NDArray[np.uint32], limit: int, most: int
) -> I32:
    """What a kernel tells of records with these cells, a row for each."""
    slots: list[list[int]] = []
    doubts: list[list[int]] = []
    held = 0
    repeats = False
    for cells in all_cells:
        found = [
            conjunction
            for conjunction, mark in enumerate(marks.tolist())
            if not mark & DEAD and _holds(columns, conjunction, cells)
        ]
        doubts.append([conjunction for conjunction in found if marks[conjunction] & CHECKED])
        sure = [conjunction for conjunction in found if not marks[conjunction] & CHECKED]
        heads = columns.blocks[block_start_of(columns, np.array(sure[:limit], np.int64))]
        slots.append((heads & SLOT_MASK).tolist())
        repeats = repeats or any(marks[conjunction] & SHARED for conjunction in found)
        held += len(slots[-1]) + len(doubts[-1])
        if held >= most:
            break
    beyond = [0] * (len(all_cells) - len(slots))
    told = [
        *(REPEATS * repeats, len(slots)),
        *(*map(len, slots), *beyond, *map(len, doubts), *beyond),
        *(slot for each in slots for slot in each),
        *(doubt for each in doubts for doubt in each),
    ]
    return np.array(told, np.int32)


def _value_at(place: Sequence[int], row: int) -> Value | bytes | None:
    """The value of a row of a column, of which `place` tells; `None` if it is absent."""
    at, data = place[PLACE_FIRST] + row, place[PLACE_DATA]
    if place[PLACE_VALIDITY] and not _bit_at(place[PLACE_VALIDITY], at):
        return None
    match Kind(place[PLACE_KIND]):
        case Kind.BOOLEAN:
            return _bit_at(data, at)
        case Kind.INTEGER:
            return ctypes.c_int64.from_address(data + 8 * at).value
        case Kind.FLOAT:
            return ctypes.c_double.from_address(data + 8 * at).value
        case Kind.TEXT:
            first, last = (ctypes.c_int32 * 2).from_address(place[PLACE_OFFSETS] + 4 * at)
        case Kind.LONG_TEXT:
            first, last = (ctypes.c_int64 * 2).from_address(place[PLACE_OFFSETS] + 8 * at)
    return ctypes.string_at(data + first, last - first)


def _bit_at(address: int, at: int) -> bool:
    return bool(ctypes.c_uint8.from_address(address + (at >> 3)).value >> (at & 7) & 1)


def _read_of(
    columns: Columns, cells: U32, sizes: npt.NDArray[np.int64], first: int, last: int
) -> int:
    """Bytes of bit rows and blocks that are read of a stretch."""
    plan = int(np.searchsorted(columns.region_first, first, side="right")) - 1
    if last - first < ROWS_MIN or plan < 0 or first >= columns.region_last[plan]:
        return int(sizes[first:last].sum())
    base, end = int(columns.region_first[plan]), int(columns.region_last[plan])
    attributes = columns.plan_attribute[columns.plan_start[plan] : columns.plan_start[plan + 1]]
    at_cell = cells[attributes].astype(np.int64)
    wanted = np.where(at_cell, 1 + (at_cell * columns.bucket_scale[attributes] >> 32), 0)
    slices, words = int(columns.slices[0]), -(-(end - base) // 64)
    of_block = len(attributes) * slices
    total = 8 * len(attributes) * ((last - 1 - base) // 64 - (first - base) // 64 + 1)
    for entry in range(first, last):
        word, bit = divmod(entry - base, 64)
        start = word // BLOCK_WORDS * BLOCK_WORDS
        width = min(BLOCK_WORDS, words - start)
        begin = int(columns.plan_row[plan]) + start * of_block
        block = columns.rows[begin : begin + width * of_block]
        block = block.reshape(len(attributes), slices, width)
        rows = block[np.arange(len(attributes)), wanted, word - start]
        if np.all(rows >> np.uint64(bit) & np.uint64(1)):
            total += int(sizes[entry])
    return total


def find_stretches(columns: Columns, cells: U32) -> Iterator[tuple[int, int]]:
    """First entry and end of every stretch that a record's cells lead to; some are empty."""
    start = columns.cluster_start.tolist()
    yield start[-2], start[-1]
    for attribute, cell in enumerate(cells[: len(columns.points)].tolist()):
        base = int(columns.points[attribute])
        if cell % 2 and base >= 0:
            yield start[base + cell // 2], start[base + cell // 2 + 1]
        for which in range(*columns.ordered_start[attribute : attribute + 2].tolist()):
            if columns.ordered_zone_low[which] <= cell <= columns.ordered_zone_high[which]:
                yield _in_reach(columns, which, cell)
        for grid in range(*columns.grid_start[attribute : attribute + 2].tolist()):
            yield from _in_grid(columns, grid, cell, int(cells[columns.grid_second[grid]]))


def _in_reach(columns: Columns, which: int, cell: int) -> tuple[int, int]:
    """The entries of an ordered cluster that begin at or before a cell, and not too far before."""
    first, last = columns.cluster_start[which : which + 2].tolist()
    keys = columns.entry_key[first:last].astype(np.int64)
    key = KEY_MAX - cell if columns.ordered_is_up_to[which] else cell
    begin = np.searchsorted(keys, key - int(columns.ordered_reach[which]))
    return first + int(begin), first + int(np.searchsorted(keys, key, side="right"))


def _in_grid(columns: Columns, grid: int, cell: int, other: int) -> Iterator[tuple[int, int]]:
    """The rows of buckets that may hold what two cells satisfy."""
    reaches = (int(columns.grid_first_reach[grid]), int(columns.grid_second_reach[grid]))
    scales = (int(columns.grid_first_scale[grid]), int(columns.grid_second_scale[grid]))
    sides = tuple(zip((cell, other), reaches, scales, strict=True))
    if not cell or not other or any(not reach and not at % 2 for at, reach, _ in sides):
        return
    rows, line = (
        range(max(0, at - reach) * scale >> 32, (at * scale >> 32) + 1)
        for at, reach, scale in sides
    )
    for row in rows:
        bucket = int(columns.grid_cluster[grid]) + row * int(columns.grid_columns[grid])
        begin, end = columns.cluster_start[[bucket + line.start, bucket + line.stop]].tolist()
        yield begin, end


def names_of(names: U64) -> dict[bytes, int]:
    """The numbers of all names that `columnar.naming.names_image` was given."""
    count = int(names[0])
    starts = names[NAME_HEAD + count : NAME_HEAD + 2 * count + 1]
    places = (starts >> np.uint64(PLACE_BITS)).tolist()
    joined = names[NAME_HEAD + 3 * count + 1 :].tobytes()
    found = (joined[begin:end] for begin, end in pairwise(places))
    return dict(zip(found, starts.astype(np.uint32).tolist(), strict=False))


def _is_readable(value: object) -> bool:
    if isinstance(value, int):
        return INTEGER_MIN <= value <= INTEGER_MAX
    return isinstance(value, float | str | bytes)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _cell(columns: Columns, attribute: int, value: Value | bytes) -> int:
    if isinstance(value, bool):
        return TRUE_CELL if value else FALSE_CELL
    if isinstance(value, str | bytes):
        return _text(columns, attribute, _bytes(value))
    return _number(columns, attribute, *number_key(value))


def _number(columns: Columns, attribute: int, number: float, remainder: int) -> int:
    first, last = columns.single_start[attribute : attribute + 2].tolist()
    if first < last:
        none = columns.remainders[:0]
        return NUMBERS_CELL + number_cell(columns.singles, none, first, last, number, remainder)
    first, last = columns.number_start[attribute : attribute + 2].tolist()
    cell = number_cell(columns.numbers, columns.remainders, first, last, number, remainder)
    return NUMBERS_CELL + cell


def _text(columns: Columns, attribute: int, text: bytes) -> int:
    starts = (columns.number_start, columns.single_start)
    numbers = sum(int(start[attribute + 1]) - int(start[attribute]) for start in starts)
    first, last = columns.text_start[attribute : attribute + 2].tolist()
    return FIRST_TEXT_CELL + 2 * numbers + text_cell(columns, first, last, text)


def _holds(columns: Columns, conjunction: int, cells: U32) -> bool:
    return all(
        is_in_run(columns, *own, int(cells[attribute]))
        for attribute, own in zip(*block(columns, conjunction), strict=True)
    )


def is_in_run(columns: Columns, low: int, span: int, cell: int) -> bool:
    """Whether a cell satisfies a constraint, as its block has it."""
    if span != SEVERAL:
        return low <= cell <= low + span
    first, last = columns.several_start[low : low + 2].tolist()
    runs = columns.several[2 * first : 2 * last].reshape(-1, 2).tolist()
    return any(low <= cell <= low + span for low, span in runs)
