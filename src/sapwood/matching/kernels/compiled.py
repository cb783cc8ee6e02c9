"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch.Batch`); the plain
twins are in `kernels.plain`. `match_batch` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import BOOLEAN, FLOAT, INTEGER, TEXT, TEXT_END
from sapwood.matching.columnar.build import FillTask
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    I64,
    IMPLIED_BIT,
    KEY_MAX,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.columnar.line import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.kernels.views import compiled, f32, f64, i16, i64, u8, u32, u64

_PREFIX_BYTES: Final = 8
_EXACT: Final = 1 << 53
_WORD: Final = 64
_CHUNK: Final = 1024
"""Candidates that are gathered before they are evaluated."""
_BLOCK: Final = 512
"""Words of bit rows that are intersected at a time: 4 KB stay in the innermost cache."""
_ROOM: Final = 64
"""Elements that an array has room for at first."""
_SHARE: Final = 32.0
_CELL_BITS: Final = 64.0
"""A constraint's cells and attribute take `_CELL_BITS` and the attribute's bits of 32 a word, which
tells from a block's length how many constraints it has. Division of integers is slow; `_BIT` makes
up for rounding where the quotient of floats is whole."""
_BIT: Final = 1e-6
_BEYOND: Final = 2.0**63
_LARGEST: Final = (1 << 63) - 1
_ALL_ONES: Final = 0xFFFF_FFFF_FFFF_FFFF
_DE_BRUIJN: Final = 0x03F79D71B4CB0A89
"""Multiplied by a single bit it has in its highest six bits another number for each bit."""
_BIT_OF: Final = tuple(
    at for _, at in sorted(((_DE_BRUIJN << bit & _ALL_ONES) >> 58, bit) for bit in range(_WORD))
)


@compiled
def number_cell(  # noqa: PLR0917 - compiled code takes arrays apart
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among sorted ones, and one more if it is one of them.

    These are `numbers[first:last]`. `remainders` are as many as numbers, or none if all are 0.
    """
    exact = len(remainders) > 0
    low, size = first, last - first
    while size > 0:
        half = size >> 1
        here = numbers[low + half]
        is_below = here < number
        if here == number:
            is_below = (remainders[low + half] if exact else 0) < remainder
        low = low + half + 1 if is_below else low
        size = size - half - 1 if is_below else half
    if low < last and numbers[low] == number:
        return 2 * (low - first) + ((remainders[low] if exact else 0) == remainder)
    return 2 * (low - first)


@compiled
def text_cell(image: U64, first: int, last: int, text: U8) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of the column `text_refs`.
    """
    prefixes, refs = u64(image, at_column.TEXT_PREFIXES, 1), u32(image, at_column.TEXT_REFS)
    offsets, letters = i64(image, at_column.TEXT_OFFSETS), u8(image, at_column.TEXT_BYTES)
    prefix = np.uint64(0)
    for at in range(_PREFIX_BYTES):
        prefix <<= np.uint64(8)
        if at < len(text):
            prefix |= np.uint64(text[at])
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        here = prefixes[middle]
        if here == prefix:
            order = _text_order(letters, offsets[refs[middle]], offsets[refs[middle] + 1], text)
            if order == 0:
                return 2 * (middle - first) + 1
            if order < 0:
                low = middle + 1
            else:
                high = middle
        elif here < prefix:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - first)


@compiled
def _signed(value: np.integer[Any]) -> int:
    """A signed integer: numba's `int` keeps what is unsigned, and differences would wrap round."""
    return np.int64(value)  # type: ignore[return-value]


@compiled
def _text_order(letters: U8, first: int, last: int, text: U8) -> int:
    """-1, 0 or 1 as `letters[first:last]` is before, equal to or after `text`."""
    size = last - first
    for at in range(min(size, len(text))):
        if letters[first + at] != text[at]:
            return -1 if letters[first + at] < text[at] else 1
    return (size > len(text)) - (size < len(text))


@compiled
def fill_cells(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, words: I64, texts: U8, at_text: int, record: int, cells: U32
) -> int:
    """Write the cell of every value of a record; `cells` has one element for each attribute.

    The record's texts begin at byte `at_text`; returns where those of the next record begin.
    """
    number_start = u32(image, at_column.NUMBER_START)
    single_start = u32(image, at_column.SINGLE_START)
    text_start = u32(image, at_column.TEXT_START)
    numbers, singles = f64(image, at_column.NUMBERS), f32(image, at_column.SINGLES)
    remainders = i16(image, at_column.REMAINDERS)
    attributes = len(number_start) - 1
    values = words[1 + words[0]]
    floats = words.view(np.float64)
    first_attribute = 2 + words[0]
    for at in range(words[1 + record], words[2 + record]):
        place = first_attribute + at
        attribute, kind = words[place], words[place + values]
        value, number = words[place + 2 * values], floats[place + 2 * values]
        first_byte = at_text
        if kind == TEXT:
            while at_text < len(texts) and texts[at_text] != TEXT_END:
                at_text += 1
            at_text += 1
        if attribute < 0 or attribute >= attributes:
            continue
        first, last = _signed(number_start[attribute]), _signed(number_start[attribute + 1])
        first_single = _signed(single_start[attribute])
        last_single = _signed(single_start[attribute + 1])
        if kind == INTEGER or kind == FLOAT:  # noqa: PLR1714, SIM109 - numba compares faster than it searches
            remainder = 0
            if kind == INTEGER:
                number = float(value)
                if value > _EXACT or value < -_EXACT:
                    remainder = _remainder(value, number)
            if first_single < last_single:
                cell = number_cell(
                    singles, remainders[:0], first_single, last_single, number, remainder
                )
            else:
                cell = number_cell(numbers, remainders, first, last, number, remainder)
            cells[attribute] = NUMBERS_CELL + cell
        elif kind == BOOLEAN:
            cells[attribute] = TRUE_CELL if value else FALSE_CELL
        else:
            cell = text_cell(
                image,
                _signed(text_start[attribute]),
                _signed(text_start[attribute + 1]),
                texts[first_byte : at_text - 1],
            )
            count = last - first + last_single - first_single
            cells[attribute] = FIRST_TEXT_CELL + 2 * count + cell
    return at_text


@compiled
def _remainder(value: int, number: float) -> int:
    """What is left of a 64-bit integer when its nearest float is taken away."""
    # The largest integers round to a float that no 64-bit integer equals.
    if number >= _BEYOND:
        return value - np.int64(_LARGEST) - 1  # type: ignore[return-value]
    return value - np.int64(number)  # type: ignore[return-value]


@compiled
def match_batch(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, marks: U8, words: bytes, texts: bytes, cells: U32, limit: int
) -> npt.NDArray[np.int32]:
    """All matches of every record, as `columnar.batch.Found.of` reads them.

    `words` and `texts` are those of a `Batch`, `cells` is all 0 and has an element for each
    attribute, one at least; it is left as it was. Stops looking for a record's matches after
    `limit` sure ones.
    """
    values = np.frombuffer(words, np.int64)
    letters = np.frombuffer(texts, np.uint8) if len(texts) else np.empty(0, np.uint8)
    attributes = np.int64(image[2 * at_column.POINTS + 1])
    records = values[0]
    told, count = np.empty(2 * records + _ROOM, np.int32), 2 * records + 1
    told[0] = 0
    doubts, doubt_count = np.empty(_ROOM, np.int32), 0
    stretches = np.empty((_stretches_max(image, values), 3), np.int64)
    at_text = 0
    for record in range(records):
        at_text = fill_cells(image, values, letters, at_text, record, cells)
        found = find_stretches(image, values, record, cells, stretches)
        told, end, doubts, doubt_end = _try_stretches(
            image, marks, cells, stretches[:found], limit, told, count, doubts, doubt_count
        )
        for at in range(values[1 + record], values[2 + record]):
            attribute = values[2 + records + at]
            if 0 <= attribute < attributes:
                cells[attribute] = 0
        told[1 + record], told[1 + records + record] = end - count, doubt_end - doubt_count
        count, doubt_count = end, doubt_end
    told = _grown(told, count + doubt_count)
    told[count : count + doubt_count] = doubts[:doubt_count]
    return told[: count + doubt_count]


@compiled
def _try_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    limit: int,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.int32], int]:
    """Evaluate the entries of all stretches; `limit` sure matches are enough.

    Returns `told` and `doubts`, which may have grown, and how much of each is filled.
    """
    entry_conjunction = u32(image, at_column.ENTRY_CONJUNCTION)
    block_start, blocks = u32(image, at_column.BLOCK_START), u32(image, at_column.BLOCKS)
    several_start, several = (
        u32(image, at_column.SEVERAL_START),
        u32(image, at_column.SEVERAL_CELLS),
    )
    bits = _signed(u8(image, at_column.ATTRIBUTE_BITS)[0])
    mask, share = (1 << bits) - 1, _SHARE / (_CELL_BITS + bits)
    candidates = np.empty(_CHUNK, np.uint32)
    enough = count + limit
    for which in range(len(stretches)):
        entry, last, plan = stretches[which, 0], stretches[which, 1], stretches[which, 2]
        while entry < last:
            if plan < 0:
                size = min(_CHUNK, last - entry)
                candidates[:size] = np.arange(entry, entry + size)
                entry += size
            else:
                entry, size = find_candidates(image, cells, entry, last, plan, candidates)
            chosen = candidates[:size]
            left = _keep_likely(entry_conjunction, block_start, blocks, cells, chosen, bits)
            told = _grown(told, count + left)
            for at in range(left):
                conjunction = _signed(candidates[at])
                block = _signed(block_start[conjunction]) + 1
                constraints = np.int64(
                    (_signed(block_start[conjunction + 1]) - block) * share + _BIT
                )
                attributes, head = block + 2 * constraints, _signed(blocks[block - 1])
                holds = True
                for number in range(constraints - (head >> IMPLIED_BIT)):
                    place = number * bits
                    attribute = _signed(blocks[attributes + (place >> 5)]) >> (place & 31) & mask
                    low, span = blocks[block + 2 * number], blocks[block + 2 * number + 1]
                    cell = cells[attribute]
                    if np.uint32(cell - low) > span or (
                        span == SEVERAL
                        and not _is_in_one(several_start, several, _signed(low), cell)
                    ):
                        holds = False
                        break
                mark = marks[conjunction]
                if not holds or mark & DEAD:
                    continue
                told[0] |= (mark & SHARED) != 0
                if mark & CHECKED:
                    doubts = _grown(doubts, doubt_count + 1)
                    doubts[doubt_count] = conjunction
                    doubt_count += 1
                    continue
                told[count] = head & SLOT_MASK
                count += 1
                if count >= enough:
                    return told, count, doubts, doubt_count
    return told, count, doubts, doubt_count


@compiled
def _keep_likely(  # noqa: PLR0917 - compiled code takes arrays apart
    entry_conjunction: U32,
    block_start: U32,
    blocks: U32,
    cells: U32,
    candidates: U32,
    bits: int,
) -> int:
    """Turn entries into their conjunctions, if these have no constraint or the first one holds.

    Returns how many are left; they come first. There is no branch, so that many blocks are fetched
    at a time.
    """
    is_plain = len(entry_conjunction) == 0
    mask, share = (1 << bits) - 1, _SHARE / (_CELL_BITS + bits)
    left = 0
    for at in range(len(candidates)):
        conjunction = _signed(candidates[at])
        if not is_plain:
            conjunction = _signed(entry_conjunction[conjunction])
        block = _signed(block_start[conjunction]) + 1
        constraints = np.int64((_signed(block_start[conjunction + 1]) - block) * share + _BIT)
        attribute = _signed(blocks[block + 2 * constraints]) & mask
        low, span = blocks[block], blocks[block + 1]
        # `SEVERAL` is the largest span there is and passes whatever the cell.
        passes = np.uint32(cells[attribute * (constraints > 0)] - low) <= span
        candidates[left] = conjunction
        left += passes | (constraints == 0)
    return left


@compiled
def _is_in_one(several_start: U32, several: U32, which: int, cell: np.uint32) -> bool:
    """Whether one of several runs holds the cell."""
    low = _signed(several_start[which])
    high = _signed(several_start[which + 1]) - 1
    while low < high:  # to the last run that begins at or before the cell, or to the first
        middle = (low + high + 1) >> 1
        if several[2 * middle] <= cell:
            low = middle
        else:
            high = middle - 1
    return bool(np.uint32(cell - several[2 * low]) <= several[2 * low + 1])


@compiled
def find_candidates(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, entry: int, last: int, plan: int, candidates: U32
) -> tuple[int, int]:
    """Write the entries from `entry` to before `last` that the bit rows of their cluster leave.

    Returns the entry to go on from when these have been evaluated, and how many they are: as many
    as there is room for.
    """
    start = u32(image, at_column.CLUSTER_START)
    cluster = u32(image, at_column.PLANNED)[plan]
    plan_start = u32(image, at_column.PLAN_START)
    attributes = u32(image, at_column.PLAN_ATTRIBUTE)
    plan_row, scale = i64(image, at_column.PLAN_ROW), i64(image, at_column.BUCKET_SCALE)
    rows = u64(image, at_column.BIT_ROWS, 1)
    base = _signed(start[cluster])
    row_words = (_signed(start[cluster + 1]) - base + _WORD - 1) // _WORD
    first, end = (entry - base) // _WORD, (last - base + _WORD - 1) // _WORD
    words = min(end - first, _BLOCK)
    bits = np.empty(words, np.uint64)
    bits[:] = np.uint64(_ALL_ONES)
    for at in range(plan_start[plan], plan_start[plan + 1]):
        attribute = attributes[at]
        cell = _signed(cells[attribute])
        row = 1 + ((cell * scale[attribute]) >> 32) if cell else 0
        place = plan_row[at] + row * row_words + first
        for word in range(words):
            bits[word] &= rows[place + word]
    bits[0] &= np.uint64(_ALL_ONES) << np.uint64((entry - base) % _WORD)
    if first + words == end:
        bits[words - 1] &= np.uint64(_ALL_ONES) >> np.uint64(-(last - base) % _WORD)
    count = 0
    for word in range(words):
        rest = bits[word]
        if rest == 0:
            continue
        origin = base + (first + word) * _WORD
        if count + _WORD > len(candidates):
            return origin, count
        while rest:
            bit = rest & (~rest + np.uint64(1))
            candidates[count] = origin + _BIT_OF[(bit * np.uint64(_DE_BRUIJN)) >> np.uint64(58)]
            count += 1
            rest ^= bit
    return min(last, base + (first + words) * _WORD), count


@compiled
def find_stretches(image: U64, words: I64, record: int, cells: U32, stretches: I64) -> int:
    """Write first entry, end and plan (or -1) of every stretch that the record's cells lead to.

    Returns how many there are; `stretches` has room for all (`_stretches_max`).
    """
    points, ordered_start = i64(image, at_column.POINTS), u32(image, at_column.ORDERED_START)
    is_up_to = u8(image, at_column.ORDERED_IS_UP_TO)
    zone_low = u32(image, at_column.ORDERED_ZONE_LOW)
    zone_high = u32(image, at_column.ORDERED_ZONE_HIGH)
    reach, keys = u32(image, at_column.ORDERED_REACH), u32(image, at_column.ENTRY_KEY)
    start, planned = u32(image, at_column.CLUSTER_START), u32(image, at_column.PLANNED)
    count = 0
    for at in range(words[1 + record], words[2 + record] + 1):
        attribute = words[2 + words[0] + at]
        if at == words[2 + record]:
            # After all attributes the scan, the last cluster.
            count = _add_stretch(
                start, planned, len(start) - 2, _signed(start[-2]), _signed(start[-1]),
                stretches, count,
            )  # fmt: skip
            break
        if attribute < 0 or attribute >= len(points):
            continue
        cell = _signed(cells[attribute])
        if cell & 1 and points[attribute] >= 0:
            cluster = points[attribute] + (cell >> 1)
            count = _add_stretch(
                start, planned, cluster, _signed(start[cluster]), _signed(start[cluster + 1]),
                stretches, count,
            )  # fmt: skip
        for which in range(ordered_start[attribute], ordered_start[attribute + 1]):
            if zone_low[which] <= cell <= zone_high[which]:
                key = KEY_MAX - cell if is_up_to[which] else cell
                first, last = _signed(start[which]), _signed(start[which + 1])
                end = _first_beyond(keys, first, last, key)
                begin = _first_beyond(keys, first, end, key - _signed(reach[which]) - 1)
                count = _add_stretch(start, planned, which, begin, end, stretches, count)
    return count


@compiled
def _add_stretch(  # noqa: PLR0917 - compiled code takes arrays apart
    start: U32,
    planned: U32,
    cluster: int,
    first: int,
    last: int,
    stretches: I64,
    count: int,
) -> int:
    """Write one stretch, unless it is empty; returns how many there are."""
    if first >= last:
        return count
    stretches[count, 0], stretches[count, 1], stretches[count, 2] = first, last, -1
    if start[cluster + 1] - start[cluster] >= _WORD and len(planned):
        plan = _first_beyond(planned, 0, len(planned), cluster) - 1
        if plan >= 0 and planned[plan] == cluster:
            stretches[count, 2] = plan
    return count + 1


@compiled
def _stretches_max(image: U64, words: I64) -> int:
    """How many clusters one record of the batch can lead to."""
    ordered_start = u32(image, at_column.ORDERED_START)
    longest = 0
    for record in range(words[0]):
        count = 0
        for at in range(words[1 + record], words[2 + record]):
            attribute = words[2 + words[0] + at]
            if 0 <= attribute < len(ordered_start) - 1:
                count += 1 + _signed(ordered_start[attribute + 1])
                count -= _signed(ordered_start[attribute])
        longest = max(longest, count)
    return longest + 1


@compiled
def _first_beyond(keys: U32, first: int, last: int, key: int) -> int:
    """The first place of the sorted `keys[first:last]` that exceeds `key`, or `last`."""
    low, size = first, last - first
    while size > 0:
        half = size >> 1
        is_within = _signed(keys[low + half]) <= key
        low = low + half + 1 if is_within else low
        size = size - half - 1 if is_within else half
    return low


@compiled
def _grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array, or a copy with more room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def fill_rows(task: FillTask, rows: U64) -> None:
    """Clear in `rows`, which are all ones, the bit of every entry that a row's slice excludes."""
    place = np.full(len(task.bucket_scale), -1, np.int64)
    for plan in range(len(task.plan_cluster)):
        cluster = task.plan_cluster[plan]
        base = task.cluster_start[cluster]
        row_words = (task.cluster_start[cluster + 1] - base + _WORD - 1) // _WORD
        for at in range(task.plan_start[plan], task.plan_start[plan + 1]):
            place[task.plan_attribute[at]] = at
        for entry in range(base, task.cluster_start[cluster + 1]):
            conjunction = task.entry_conjunction[entry]
            bit = ~(np.uint64(1) << np.uint64((entry - base) % _WORD))
            word = (entry - base) // _WORD
            for constraint in range(
                task.constraint_start[conjunction], task.constraint_start[conjunction + 1]
            ):
                at = place[task.constraint_attribute[constraint]]
                if at >= 0:
                    slices = _slices(task, constraint)
                    for row in range(task.slices + 1):
                        if not slices >> row & 1:
                            rows[task.plan_row[at] + row * row_words + word] &= bit
        for at in range(task.plan_start[plan], task.plan_start[plan + 1]):
            place[task.plan_attribute[at]] = -1


@compiled
def _slices(task: FillTask, constraint: int) -> int:
    """The rows in which a constraint's bit is set, as bits."""
    scale = task.bucket_scale[task.constraint_attribute[constraint]]
    found = 0
    for run in range(task.run_start[constraint], task.run_start[constraint + 1]):
        low, high = task.run_low[run], task.run_high[run]
        if low == 0:
            found |= 1
            low = 1
        if high > 0:
            first, last = 1 + ((low * scale) >> 32), 1 + ((high * scale) >> 32)
            found |= (2 << last) - (1 << first)
    return found
