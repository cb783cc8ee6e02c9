"""The plain twins of `kernels.compiled`: the same results, found the obvious way.

They use neither the order of a line nor clusters nor bit rows: a value is compared with every
constant of its attribute, a record with every conjunction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.batch import BOOLEAN, FLOAT, INTEGER, TEXT_END
from sapwood.matching.columnar.build import FillTask
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    I64,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
    Columns,
    columns_of,
)
from sapwood.matching.columnar.line import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.segment import block
from sapwood.matching.keys import number_key


def number_cell(  # noqa: PLR0917 - as its twin
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


def text_cell(image: U64, first: int, last: int, text: U8) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of the column `text_refs`.
    """
    columns = columns_of(image)
    wanted, offsets = text.tobytes(), columns.text_offsets
    constants = [
        columns.text_bytes[offsets[ref] : offsets[ref + 1]].tobytes()
        for ref in columns.text_refs[first:last].tolist()
    ]
    return 2 * sum(constant < wanted for constant in constants) + (wanted in constants)


def fill_cells(  # noqa: PLR0917 - as its twin
    image: U64, words: I64, texts: U8, at_text: int, record: int, cells: U32
) -> int:
    """Write the cell of every value of a record; `cells` has one element for each attribute.

    The record's texts begin at byte `at_text`; returns where those of the next record begin.
    """
    columns = columns_of(image)
    records = int(words[0])
    attributes, kinds, values = words[2 + records :].reshape(3, -1)
    for at in range(words[1 + record], words[2 + record]):
        attribute, kind = int(attributes[at]), kinds[at]
        is_known = 0 <= attribute < len(columns.points)
        if kind == BOOLEAN:
            cell = TRUE_CELL if values[at] else FALSE_CELL
        elif kind == INTEGER:
            cell = _number(columns, attribute, *number_key(int(values[at]))) if is_known else 0
        elif kind == FLOAT:
            number = float(values[at : at + 1].view(np.float64)[0])
            cell = _number(columns, attribute, number, 0) if is_known else 0
        else:
            rest = texts[at_text:].tobytes()
            text = rest.split(bytes((TEXT_END,)))[0]
            at_text += len(text) + 1
            cell = _text(image, attribute, np.frombuffer(text, np.uint8)) if is_known else 0
        if is_known:
            cells[attribute] = cell
    return at_text


def match_batch(  # noqa: PLR0917 - as its twin
    image: U64, marks: U8, words: bytes, texts: bytes, cells: U32, limit: int
) -> npt.NDArray[np.int32]:
    """All matches of every record, as `columnar.batch.Found.of` reads them.

    `words` and `texts` are those of a `Batch`, `cells` is all 0 and has an element for each
    attribute; it is left as it was. Keeps no more than `limit` sure matches of a record.
    """
    columns = columns_of(image)
    values, letters = np.frombuffer(words, np.int64), np.frombuffer(texts, np.uint8)
    slots: list[list[int]] = []
    doubts: list[list[int]] = []
    repeats, at_text = False, 0
    for record in range(values[0]):
        at_text = fill_cells(image, values, letters, at_text, record, cells)
        found = [
            conjunction
            for conjunction, mark in enumerate(marks.tolist())
            if not mark & DEAD and _holds(columns, conjunction, cells)
        ]
        cells[:] = 0
        doubts.append([conjunction for conjunction in found if marks[conjunction] & CHECKED])
        sure = [conjunction for conjunction in found if not marks[conjunction] & CHECKED]
        heads = columns.blocks[columns.block_start[sure[:limit]]]
        slots.append((heads & SLOT_MASK).tolist())
        repeats = repeats or any(marks[conjunction] & SHARED for conjunction in found)
    told = [
        *(int(repeats), *map(len, slots), *map(len, doubts)),
        *(slot for each in slots for slot in each),
        *(doubt for each in doubts for doubt in each),
    ]
    return np.array(told, np.int32)


def fill_rows(task: FillTask, rows: U64) -> None:
    """Clear in `rows`, which are all ones, the bit of every entry that a row's slice excludes."""
    for plan, cluster in enumerate(task.plan_cluster.tolist()):
        first, last = task.cluster_start[cluster : cluster + 2].tolist()
        row_words = -(-(last - first) // 64)
        for at in range(*task.plan_start[plan : plan + 2].tolist()):
            attribute = int(task.plan_attribute[at])
            for entry in range(first, last):
                word, bit = divmod(entry - first, 64)
                for row in _excluded(task, int(task.entry_conjunction[entry]), attribute):
                    rows[task.plan_row[at] + row * row_words + word] &= ~np.uint64(1 << bit)


def _excluded(task: FillTask, conjunction: int, attribute: int) -> list[int]:
    """The rows of an attribute that hold no cell which the conjunction accepts."""
    scale = int(task.bucket_scale[attribute])
    first, last = task.constraint_start[conjunction : conjunction + 2].tolist()
    for constraint in range(first, last):
        if task.constraint_attribute[constraint] == attribute:
            start, stop = task.run_start[constraint : constraint + 2].tolist()
            runs = (task.run_low[start:stop].tolist(), task.run_high[start:stop].tolist())
            accepted: set[int] = set()
            for low, high in zip(*runs, strict=True):
                accepted |= {0} if low == 0 else set()
                slices = (max(1, low) * scale >> 32, high * scale >> 32)
                accepted |= {1 + at for at in range(slices[0], slices[1] + 1) if high}
            return [row for row in range(task.slices + 1) if row not in accepted]
    return []


def _number(columns: Columns, attribute: int, number: float, remainder: int) -> int:
    first, last = columns.single_start[attribute : attribute + 2].tolist()
    if first < last:
        none = columns.remainders[:0]
        return NUMBERS_CELL + number_cell(columns.singles, none, first, last, number, remainder)
    first, last = columns.number_start[attribute : attribute + 2].tolist()
    cell = number_cell(columns.numbers, columns.remainders, first, last, number, remainder)
    return NUMBERS_CELL + cell


def _text(image: U64, attribute: int, text: U8) -> int:
    columns = columns_of(image)
    starts = (columns.number_start, columns.single_start)
    numbers = sum(int(start[attribute + 1]) - int(start[attribute]) for start in starts)
    first, last = columns.text_start[attribute : attribute + 2].tolist()
    return FIRST_TEXT_CELL + 2 * numbers + text_cell(image, first, last, text)


def _holds(columns: Columns, conjunction: int, cells: U32) -> bool:
    return all(
        _is_in_run(columns, *own, int(cells[attribute]))
        for attribute, own in zip(*block(columns, conjunction), strict=True)
    )


def _is_in_run(columns: Columns, low: int, span: int, cell: int) -> bool:
    if span != SEVERAL:
        return low <= cell <= low + span
    first, last = columns.several_start[low : low + 2].tolist()
    runs = columns.several[2 * first : 2 * last].reshape(-1, 2).tolist()
    return any(low <= cell <= low + span for low, span in runs)
