"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch.Batch`); the plain
twins are in `kernels.plain`. `match_batch` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.build import FillTask
from sapwood.matching.columnar.columns import (
    ATTRIBUTES_MAX,
    BLOCK_WORDS,
    CHECKED,
    DEAD,
    I64,
    IMPLIED_BIT,
    KEY_MAX,
    ROWS_MIN,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.kernels.values import fill_cells
from sapwood.matching.kernels.views import compiled, fetch, i64, signed, u8, u32, u64

_WORD: Final = 64
_CHUNK: Final = 1024
"""Candidates that are gathered before they are evaluated."""
_DIRECTORY_BYTES: Final = 8
"""What a lookup reads to find a stretch, at the least."""
_AHEAD: Final = 16
"""Candidates whose blocks are asked for before they are looked at."""
_LINE_BYTES: Final = 64
_FEW: Final = 8
_ROOM: Final = 64
"""Elements that an array has room for at first."""
_SHARE: Final = 32.0
_CELL_BITS: Final = 64.0
"""A constraint's cells and attribute take `_CELL_BITS` and the attribute's bits of 32 a word, which
tells from a block's length how many constraints it has. Division of integers is slow; `_BIT` makes
up for rounding where the quotient of floats is whole."""
_BIT: Final = 1e-6
_ALL_ONES: Final = 0xFFFF_FFFF_FFFF_FFFF
_DE_BRUIJN: Final = 0x03F79D71B4CB0A89
"""Multiplied by a single bit it has in its highest six bits another number for each bit."""
_BIT_OF: Final = tuple(
    at for _, at in sorted(((_DE_BRUIJN << bit & _ALL_ONES) >> 58, bit) for bit in range(_WORD))
)


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
    stretches = np.empty((_ROOM, 2), np.int64)
    candidates, aims = np.empty(_CHUNK, np.uint32), np.empty(ATTRIBUTES_MAX, np.int64)
    at_text = 0
    for record in range(records):
        at_text = fill_cells(image, values, letters, at_text, record, cells)
        stretches, found = find_stretches(image, values, record, cells, stretches)
        told, end, doubts, doubt_end = _try_stretches(
            image, marks, cells, stretches, found, candidates, aims,
            limit, told, count, doubts, doubt_count,
        )  # fmt: skip
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
def looked_up(image: U64, words: bytes, texts: bytes, cells: U32) -> int:
    """How many entries the lookups of all records of a batch lead to; see `match_batch`."""
    return _measure(image, words, texts, cells)[0]


@compiled
def touched(image: U64, words: bytes, texts: bytes, cells: U32) -> int:
    """How many bytes of directories, bit rows and blocks a batch has read; see `match_batch`."""
    return _measure(image, words, texts, cells)[1]


@compiled
def _measure(image: U64, words: bytes, texts: bytes, cells: U32) -> tuple[int, int]:
    """Entries that a batch leads to, and bytes that are read of them."""
    values = np.frombuffer(words, np.int64)
    letters = np.frombuffer(texts, np.uint8) if len(texts) else np.empty(0, np.uint8)
    stretches = np.empty((_ROOM, 2), np.int64)
    candidates, aims = np.empty(_CHUNK, np.uint32), np.empty(ATTRIBUTES_MAX, np.int64)
    plan_start = u32(image, at_column.PLAN_START)
    at_text = entries = read = 0
    for record in range(values[0]):
        cells[:] = 0
        at_text = fill_cells(image, values, letters, at_text, record, cells)
        stretches, found = find_stretches(image, values, record, cells, stretches)
        for which in range(found):
            entry, last = stretches[which, 0], stretches[which, 1]
            entries += last - entry
            read += _DIRECTORY_BYTES
            plan = _plan_of(image, entry, last)
            if plan < 0:
                for at in range(entry, last):
                    read += _block_bytes(image, at)
                continue
            aim(image, cells, plan, aims)
            attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
            while entry < last:
                before = entry
                entry, count = find_candidates(image, entry, last, plan, candidates, 0, aims)
                words_read = _word_of(image, plan, entry - 1) - _word_of(image, plan, before) + 1
                read += 8 * attributes * words_read
                for at in range(count):
                    read += _block_bytes(image, signed(candidates[at]))
    return entries, read


@compiled
def _word_of(image: U64, plan: int, entry: int) -> int:
    """The word of a bit row that an entry is in."""
    return (entry - signed(u32(image, at_column.REGION_FIRST)[plan])) // _WORD


@compiled
def _block_bytes(image: U64, entry: int) -> int:
    """What the block of an entry takes."""
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    if stride:
        return 4 * stride
    entry_conjunction = u32(image, at_column.ENTRY_CONJUNCTION)
    conjunction = signed(entry_conjunction[entry]) if len(entry_conjunction) else entry
    start = u32(image, at_column.BLOCK_START)
    return 4 * (signed(start[conjunction + 1]) - signed(start[conjunction]))


@compiled
def _plan_of(image: U64, entry: int, last: int) -> int:
    """The plan of the bit rows to read for a stretch, or -1."""
    region_first = u32(image, at_column.REGION_FIRST)
    if last - entry < ROWS_MIN or not len(region_first):
        return -1
    plan = _first_beyond(region_first, 0, len(region_first), entry) - 1
    if plan >= 0 and entry < u32(image, at_column.REGION_LAST)[plan]:
        return plan
    return -1


@compiled
def _try_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    found: int,
    candidates: U32,
    aims: I64,
    limit: int,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.int32], int]:
    """Evaluate the entries of all stretches; `limit` sure matches are enough.

    Candidates are gathered from many stretches before they are evaluated, so that much is fetched
    at a time. Returns `told` and `doubts`, which may have grown, and how much of each is filled.
    """
    region_last = u32(image, at_column.REGION_LAST)
    enough = count + limit
    size = which = 0
    while which < found:
        entry, last = stretches[which, 0], stretches[which, 1]
        beyond, plan = which + 1, _plan_of(image, entry, last)
        if plan >= 0:
            end = signed(region_last[plan])
            while (
                beyond < found
                and entry < stretches[beyond, 0] < end
                and stretches[beyond, 1] - stretches[beyond, 0] >= ROWS_MIN
            ):
                beyond += 1
            aim(image, cells, plan, aims)
            for at in range(which, beyond):
                fetch_rows(image, stretches[at, 0], stretches[at, 1], plan, aims)
        for at in range(which, beyond):
            entry, last = stretches[at, 0], stretches[at, 1]
            while entry < last:
                if size + BLOCK_WORDS * _WORD > _CHUNK:
                    told, count, doubts, doubt_count = _evaluate(
                        image, marks, cells, candidates[:size],
                        enough, told, count, doubts, doubt_count,
                    )  # fmt: skip
                    if count >= enough:
                        return told, count, doubts, doubt_count
                    size = 0
                if plan >= 0:
                    entry, size = find_candidates(image, entry, last, plan, candidates, size, aims)
                    continue
                # Most stretches are short: some too many are written at once, and not counted.
                for number in range(_FEW):
                    candidates[size + number] = entry + number
                more = min(_CHUNK - size, last - entry)
                for number in range(_FEW, more):
                    candidates[size + number] = entry + number
                size += more
                entry += more
        which = beyond
    told, count, doubts, doubt_count = _evaluate(
        image, marks, cells, candidates[:size], enough, told, count, doubts, doubt_count
    )
    return told, count, doubts, doubt_count


@compiled
def fetch_rows(image: U64, entry: int, last: int, plan: int, aims: I64) -> None:
    """Ask for the bit rows that `find_candidates` will want."""
    plan_start = u32(image, at_column.PLAN_START)
    attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
    slices = signed(u8(image, at_column.SLICES)[0])
    base = signed(u32(image, at_column.REGION_FIRST)[plan])
    words = (signed(u32(image, at_column.REGION_LAST)[plan]) - base + _WORD - 1) // _WORD
    block_entries = _WORD * BLOCK_WORDS
    for block in range((entry - base) // block_entries, (last - 1 - base) // block_entries + 1):
        width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
        place = i64(image, at_column.PLAN_ROW)[plan] + block * BLOCK_WORDS * attributes * slices
        for at in range(attributes):
            fetch(image, at_column.BIT_ROWS, (place + aims[at] * width) * 8)


@compiled
def _evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    candidates: U32,
    enough: int,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.int32], int]:
    """Tell of the entries whose conjunctions hold; `candidates` is overwritten."""
    block_start, blocks = u32(image, at_column.BLOCK_START), u32(image, at_column.BLOCKS)
    several_start, several = (
        u32(image, at_column.SEVERAL_START),
        u32(image, at_column.SEVERAL_CELLS),
    )
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    bits = signed(u8(image, at_column.ATTRIBUTE_BITS)[0])
    mask, share = (1 << bits) - 1, _SHARE / (_CELL_BITS + bits)
    left = _keep_likely(image, cells, candidates, bits)
    told = _grown(told, count + left)
    for at in range(left):
        conjunction = signed(candidates[at])
        block, size = conjunction * stride + 1, stride - 1
        if not stride:
            block = signed(block_start[conjunction]) + 1
            size = signed(block_start[conjunction + 1]) - block
        constraints = np.int64(size * share + _BIT)
        attributes, head = block + 2 * constraints, signed(blocks[block - 1])
        holds = True
        for number in range(constraints - (head >> IMPLIED_BIT)):
            place = number * bits
            attribute = signed(blocks[attributes + (place >> 5)]) >> (place & 31) & mask
            low, span = blocks[block + 2 * number], blocks[block + 2 * number + 1]
            cell = cells[attribute]
            if np.uint32(cell - low) > span or (
                span == SEVERAL and not _is_in_one(several_start, several, signed(low), cell)
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
            break
    return told, count, doubts, doubt_count


@compiled
def _keep_likely(image: U64, cells: U32, candidates: U32, bits: int) -> int:
    """Turn entries into their conjunctions, if these have no constraint or the first one holds.

    Returns how many are left; they come first. There is no branch, and blocks are asked for ahead,
    so that many are fetched at a time.
    """
    entry_conjunction = u32(image, at_column.ENTRY_CONJUNCTION)
    block_start, blocks = u32(image, at_column.BLOCK_START), u32(image, at_column.BLOCKS)
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    is_plain = len(entry_conjunction) == 0
    mask, share = (1 << bits) - 1, _SHARE / (_CELL_BITS + bits)
    count = len(candidates)
    left = 0
    for ahead in range(count + _AHEAD):
        if ahead < count:
            conjunction = signed(candidates[ahead])
            if not is_plain:
                conjunction = signed(entry_conjunction[conjunction])
                candidates[ahead] = conjunction
            begin = conjunction * stride if stride else signed(block_start[conjunction])
            fetch(image, at_column.BLOCKS, 4 * begin)
            fetch(image, at_column.BLOCKS, 4 * begin + _LINE_BYTES)
        if ahead < _AHEAD:
            continue
        conjunction = signed(candidates[ahead - _AHEAD])
        block, size = conjunction * stride + 1, stride - 1
        if not stride:
            block = signed(block_start[conjunction]) + 1
            size = signed(block_start[conjunction + 1]) - block
        constraints = np.int64(size * share + _BIT)
        attribute = signed(blocks[block + 2 * constraints]) & mask
        low, span = blocks[block], blocks[block + 1]
        # `SEVERAL` is the largest span there is and passes whatever the cell.
        passes = np.uint32(cells[attribute * (constraints > 0)] - low) <= span
        candidates[left] = conjunction
        left += passes | (constraints == 0)
    return left


@compiled
def _is_in_one(several_start: U32, several: U32, which: int, cell: np.uint32) -> bool:
    """Whether one of several runs holds the cell."""
    low = signed(several_start[which])
    high = signed(several_start[which + 1]) - 1
    while low < high:  # to the last run that begins at or before the cell, or to the first
        middle = (low + high + 1) >> 1
        if several[2 * middle] <= cell:
            low = middle
        else:
            high = middle - 1
    return bool(np.uint32(cell - several[2 * low]) <= several[2 * low + 1])


@compiled
def find_candidates(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, entry: int, last: int, plan: int, candidates: U32, count: int, aims: I64
) -> tuple[int, int]:
    """Write the entries from `entry` on, before `last`, that the bit rows of a block leave.

    `count` candidates are there already, and there is room for a block of more. Returns the first
    entry of the next block, or `last`, and how many candidates there are. `aims` is the plan's
    (`aim`).
    """
    rows = u64(image, at_column.BIT_ROWS)
    plan_start = u32(image, at_column.PLAN_START)
    attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
    slices = signed(u8(image, at_column.SLICES)[0])
    base = signed(u32(image, at_column.REGION_FIRST)[plan])
    words = (signed(u32(image, at_column.REGION_LAST)[plan]) - base + _WORD - 1) // _WORD
    block = (entry - base) // (_WORD * BLOCK_WORDS)
    width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
    place = i64(image, at_column.PLAN_ROW)[plan] + block * BLOCK_WORDS * attributes * slices
    ones = np.uint64(_ALL_ONES)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = ones
    if width == BLOCK_WORDS:
        for at in range(attributes):
            row = place + aims[at] * BLOCK_WORDS
            b0 &= rows[row]
            b1 &= rows[row + 1]
            b2 &= rows[row + 2]
            b3 &= rows[row + 3]
            b4 &= rows[row + 4]
            b5 &= rows[row + 5]
            b6 &= rows[row + 6]
            b7 &= rows[row + 7]
    bits = (b0, b1, b2, b3, b4, b5, b6, b7)
    origin = base + block * BLOCK_WORDS * _WORD
    end = min(last, origin + width * _WORD)
    for word in range((entry - origin) // _WORD, (end - origin + _WORD - 1) // _WORD):
        first = origin + word * _WORD
        rest = bits[word]
        if width < BLOCK_WORDS:
            for at in range(attributes):
                rest &= rows[place + aims[at] * width + word]
        if first < entry:
            rest &= ones << np.uint64(entry - first)
        if first + _WORD > end:
            rest &= ones >> np.uint64(first + _WORD - end)
        while rest:
            bit = rest & (~rest + np.uint64(1))
            candidates[count] = first + _BIT_OF[(bit * np.uint64(_DE_BRUIJN)) >> np.uint64(58)]
            count += 1
            rest ^= bit
    return end, count


@compiled
def aim(image: U64, cells: U32, plan: int, aims: I64) -> None:
    """For each attribute of a plan write which of all rows of a block the record's cell needs."""
    plan_start = u32(image, at_column.PLAN_START)
    attributes = u32(image, at_column.PLAN_ATTRIBUTE)
    scale = i64(image, at_column.BUCKET_SCALE)
    slices = signed(u8(image, at_column.SLICES)[0])
    first = signed(plan_start[plan])
    for at in range(signed(plan_start[plan + 1]) - first):
        attribute = attributes[first + at]
        cell = signed(cells[attribute])
        aims[at] = at * slices + (1 + ((cell * scale[attribute]) >> 32) if cell else 0)


@compiled
def find_stretches(
    image: U64, words: I64, record: int, cells: U32, stretches: I64
) -> tuple[I64, int]:
    """Write first entry and end of every stretch that the record's cells lead to.

    Returns `stretches`, which may have grown, and how many there are.
    """
    points, ordered_start = i64(image, at_column.POINTS), u32(image, at_column.ORDERED_START)
    is_up_to = u8(image, at_column.ORDERED_IS_UP_TO)
    zone_low = u32(image, at_column.ORDERED_ZONE_LOW)
    zone_high = u32(image, at_column.ORDERED_ZONE_HIGH)
    reach, keys = u32(image, at_column.ORDERED_REACH), u32(image, at_column.ENTRY_KEY)
    start = u32(image, at_column.CLUSTER_START)
    grid_start = u32(image, at_column.GRID_START)
    # After all attributes the scan, the last cluster.
    stretches[0, 0], stretches[0, 1] = start[-2], start[-1]
    count = 1 if start[-2] < start[-1] else 0
    for at in range(words[1 + record], words[2 + record]):
        attribute = words[2 + words[0] + at]
        if attribute < 0 or attribute >= len(points):
            continue
        cell = signed(cells[attribute])
        needed = count + 1 + signed(ordered_start[attribute + 1] - ordered_start[attribute])
        if needed > len(stretches):
            stretches = _lengthened(stretches, needed)
        if cell & 1 and points[attribute] >= 0:
            cluster = points[attribute] + (cell >> 1)
            stretches[count, 0], stretches[count, 1] = start[cluster], start[cluster + 1]
            count += stretches[count, 0] < stretches[count, 1]
        for which in range(ordered_start[attribute], ordered_start[attribute + 1]):
            if zone_low[which] <= cell <= zone_high[which]:
                key = KEY_MAX - cell if is_up_to[which] else cell
                first, last = signed(start[which]), signed(start[which + 1])
                end = _first_beyond(keys, first, last, key)
                begin = _first_beyond(keys, first, end, key - signed(reach[which]) - 1)
                stretches[count, 0], stretches[count, 1] = begin, end
                count += begin < end
        first_grid, last_grid = signed(grid_start[attribute]), signed(grid_start[attribute + 1])
        if first_grid < last_grid:
            stretches, count = _look_into_grids(
                image, cells, cell, first_grid, last_grid, stretches, count
            )
    return stretches, count


@compiled
def _look_into_grids(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    cells: U32,
    cell: int,
    first_grid: int,
    last_grid: int,
    stretches: I64,
    count: int,
) -> tuple[I64, int]:
    """Write the stretches of the grids of one first attribute, whose value has the cell."""
    start = u32(image, at_column.CLUSTER_START)
    second = u32(image, at_column.GRID_SECOND)
    first_scale = i64(image, at_column.GRID_FIRST_SCALE)
    second_scale = i64(image, at_column.GRID_SECOND_SCALE)
    first_reach = u32(image, at_column.GRID_FIRST_REACH)
    second_reach = u32(image, at_column.GRID_SECOND_REACH)
    columns = u32(image, at_column.GRID_COLUMNS)
    cluster = u32(image, at_column.GRID_CLUSTER)
    for grid in range(first_grid, last_grid):
        other = signed(cells[second[grid]])
        reach, other_reach = signed(first_reach[grid]), signed(second_reach[grid])
        # Nobody asked for exactly what an even cell holds.
        if other == 0 or (reach == 0 and not cell & 1) or (other_reach == 0 and not other & 1):
            continue
        first_row = (max(cell - reach, 0) * first_scale[grid]) >> 32
        last_row = (cell * first_scale[grid]) >> 32
        first_column = (max(other - other_reach, 0) * second_scale[grid]) >> 32
        last_column = (other * second_scale[grid]) >> 32
        if count + last_row - first_row >= len(stretches):
            stretches = _lengthened(stretches, count + last_row - first_row + 1)
        for row in range(first_row, last_row + 1):
            bucket = signed(cluster[grid]) + row * signed(columns[grid])
            begin, end = start[bucket + first_column], start[bucket + last_column + 1]
            stretches[count, 0], stretches[count, 1] = begin, end
            count += begin < end
    return stretches, count


@compiled
def _lengthened(stretches: I64, needed: int) -> I64:
    """The stretches, with room for as many as are needed and more."""
    longer = np.empty((2 * needed, 2), np.int64)
    longer[: len(stretches)] = stretches
    return longer


@compiled
def _first_beyond(keys: U32, first: int, last: int, key: int) -> int:
    """The first place of the sorted `keys[first:last]` that exceeds `key`, or `last`."""
    low, size = first, last - first
    while size > 0:
        half = size >> 1
        is_within = signed(keys[low + half]) <= key
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
    for plan in range(len(task.region_first)):
        base, end = task.region_first[plan], task.region_last[plan]
        words = (end - base + _WORD - 1) // _WORD
        first = task.plan_start[plan]
        attributes = task.plan_start[plan + 1] - first
        for at in range(attributes):
            place[task.plan_attribute[first + at]] = at
        for entry in range(base, end):
            conjunction = task.entry_conjunction[entry]
            bit = ~(np.uint64(1) << np.uint64((entry - base) % _WORD))
            word = (entry - base) // _WORD
            block = word // BLOCK_WORDS * BLOCK_WORDS
            width = min(BLOCK_WORDS, words - block)
            begin = task.plan_row[plan] + block * attributes * task.slices + word - block
            for constraint in range(
                task.constraint_start[conjunction], task.constraint_start[conjunction + 1]
            ):
                at = place[task.constraint_attribute[constraint]]
                if at >= 0:
                    accepted = _slices(task, constraint)
                    for row in range(task.slices):
                        if not accepted >> row & 1:
                            rows[begin + (at * task.slices + row) * width] &= bit
        for at in range(attributes):
            place[task.plan_attribute[first + at]] = -1


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
