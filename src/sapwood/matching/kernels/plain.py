"""The plain twins of `kernels.compiled`: the same results, found the obvious way.

They use neither the order of a line nor the clusters: a value is compared with every constant of
its attribute, a record with every conjunction.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.batch import BOOLEAN, KIND_BITS, NUMBER, Batch, Found
from sapwood.matching.columnar.line import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.segment import CHECKED, DEAD, SHARED, Columns


def number_cell(
    numbers: npt.NDArray[np.float64],
    remainders: npt.NDArray[np.int16],
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among others, and one more if it is one of them."""
    constants = list(zip(numbers.tolist(), remainders.tolist(), strict=True))
    wanted = (number, remainder)
    return 2 * sum(constant < wanted for constant in constants) + (wanted in constants)


def text_cell(columns: Columns, first: int, last: int, text: npt.NDArray[np.uint8]) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of `columns.text_refs`.
    """
    wanted, offsets = text.tobytes(), columns.text_offsets
    constants = [
        columns.text_bytes[offsets[ref] : offsets[ref + 1]].tobytes()
        for ref in columns.text_refs[first:last].tolist()
    ]
    return 2 * sum(constant < wanted for constant in constants) + (wanted in constants)


def fill_cells(columns: Columns, batch: Batch, record: int, cells: npt.NDArray[np.uint32]) -> None:
    """Write the cell of every value of a record; `cells` has one element for each attribute."""
    for at in range(batch.start[record], batch.start[record + 1]):
        attribute, kind = divmod(int(batch.tag[at]), 1 << KIND_BITS)
        if attribute >= len(columns.points):
            continue
        detail = int(batch.detail[at])
        first, last = columns.number_start[attribute : attribute + 2].tolist()
        if kind == BOOLEAN:
            cells[attribute] = TRUE_CELL if detail else FALSE_CELL
        elif kind == NUMBER:
            cells[attribute] = NUMBERS_CELL + number_cell(
                columns.numbers[first:last],
                columns.remainders[first:last],
                float(batch.number[at]),
                detail,
            )
        else:
            text = batch.text_bytes[batch.text_start[detail] : batch.text_start[detail + 1]]
            texts = columns.text_start[attribute : attribute + 2].tolist()
            first_text_cell = FIRST_TEXT_CELL + 2 * (last - first)
            cells[attribute] = first_text_cell + text_cell(columns, texts[0], texts[1], text)


def match_batch(columns: Columns, marks: npt.NDArray[np.uint8], batch: Batch, limit: int) -> Found:
    """All matches of every record: see `Found` for the result.

    Keeps no more than `limit` sure matches of a record.
    """
    slots: list[int] = []
    doubts: list[int] = []
    offsets, doubt_offsets, repeats = [0], [0], False
    for record in range(len(batch.start) - 1):
        cells = np.zeros(max(1, len(columns.points)), np.uint32)
        fill_cells(columns, batch, record, cells)
        for conjunction, mark in enumerate(marks.tolist()):
            if mark & DEAD or not _holds(columns, conjunction, cells):
                continue
            repeats = repeats or bool(mark & SHARED)
            if mark & CHECKED:
                doubts.append(conjunction)
            elif len(slots) < offsets[-1] + limit:
                slots.append(int(columns.slot[conjunction]))
        offsets.append(len(slots))
        doubt_offsets.append(len(doubts))
    return Found(
        np.array(offsets, np.int64),
        np.array(slots, np.int32),
        np.array(doubt_offsets, np.int64),
        np.array(doubts, np.int64),
        repeats,
    )


def _holds(columns: Columns, conjunction: int, cells: npt.NDArray[np.uint32]) -> bool:
    first, last = columns.constraint_start[conjunction : conjunction + 2].tolist()
    return all(
        _is_in_run(columns, constraint, int(cells[columns.constraint_attribute[constraint]]))
        for constraint in range(first, last)
    )


def _is_in_run(columns: Columns, constraint: int, cell: int) -> bool:
    first, last = columns.run_start[constraint : constraint + 2].tolist()
    lows, spans = columns.run_low[first:last].tolist(), columns.run_span[first:last].tolist()
    return any(low <= cell <= low + span for low, span in zip(lows, spans, strict=True))
