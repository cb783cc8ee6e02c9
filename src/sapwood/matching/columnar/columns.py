"""The columns of a segment that kernels read: named arrays, all in one block of memory.

A compiled function takes some 60 ns for each array argument, and a segment has thirty. So they lie
in one array of 64-bit words, the *segment buffer*: a table of contents, then one column after the
other. A kernel takes the columns that it needs out of it (`kernels.views`), some nanoseconds for
each. A segment buffer is also what is saved and mapped: one file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sapwood.matching.storage import Array, frozen

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
F64: TypeAlias = npt.NDArray[np.float64]

KEY_MAX: Final = (1 << 32) - 1
"""The largest rank number and key."""

SEVERAL: Final = KEY_MAX
"""Stands for a width where a constraint has several ranges; no range is so long."""

SLOT_MASK: Final = (1 << 31) - 1
"""The bits of a block's first word that are the slot."""

IMPLIED_BIT: Final = 31
"""The bit of a block's first word that is set if the lookup implies the last constraint."""

BLOCK_END: Final = 2
"""Words after the last block, so that a kernel may read on where a block has no constraint."""

BLOCK_WORDS: Final = 8
"""Words of the bitmaps that lie together: a cache line."""

ATTRIBUTES_MAX: Final = 20
"""Attributes with bitmaps in one partition: 20 or 40 bytes for each entry."""

BITMAPS_FROM: Final = 24
"""Entries of a candidate range for which bitmaps are worth reading."""

ROOT_LABELS: Final = 256
"""The labels of an automaton's root: a state for each byte."""

DEAD: Final = 1
"""Mark: the conjunction was removed."""

CHECKED: Final = 2
"""Mark: the conjunction has pattern checks, so that a candidate is a match only if these pass."""

SHARED: Final = 4
"""Mark: its slot has further conjunctions, so that it may be found more than once."""

_WORD_BYTES: Final = 8

_LINE_WORDS: Final = 8
"""Words of a cache line. Columns begin at cache lines, so that bitmaps are whole ones."""

(
    NUMBER_START, NUMBERS, REMAINDERS, SINGLE_START, SINGLES, HINT_START, HINT, HINT_SCALE,
    TEXT_START, TEXT_PREFIXES, TEXT_REFS, TEXT_OFFSETS, TEXT_BYTES, BIN_SCALE,
    POINTS, ORDERED_START, ORDERED_IS_UP_TO, ORDERED_ZONE_LOW, ORDERED_ZONE_HIGH, ORDERED_REACH,
    GRID_START, GRID_SECOND, GRID_FIRST_SCALE, GRID_SECOND_SCALE,
    GRID_FIRST_REACH, GRID_SECOND_REACH, GRID_COLUMNS, GRID_CLUSTER,
    CLUSTER_START,
    LITERAL_ATTRIBUTE, LITERAL_IS_LOWER, LITERAL_START, LITERAL_ROOT, LITERAL_CHILD, LITERAL_LABEL,
    LITERAL_FAIL, LITERAL_OUTPUT, LITERAL_NEXT, LITERAL_CLUSTER,
    PARTITION_FIRST, PARTITION_LAST, BITMAP_START, BITMAP_ATTRIBUTE, BITMAP_WORD, BINS, BITMAPS,
    ENTRY_KEY, ENTRY_CONJUNCTION, ATTRIBUTE_BITS, BLOCK_STRIDE, BLOCK_START, BLOCKS,
    SEVERAL_START, SEVERAL_RANGES,
) = range(54)  # fmt: skip
"""The places of the columns in the table of contents, for kernels."""


class Columns(NamedTuple):
    """The columns of a segment with `a` attributes, `n` conjunctions and `e` entries.

    A rank range is stored as its first rank and its *width*, the number of steps to its last one:
    `rank - low <= width`, in unsigned arithmetic, is the whole test.

    Attribute `i` has the numbers `number_start[i]` up to `number_start[i + 1]` of `numbers`, or
    `single_start[i]` up to `single_start[i + 1]` of `singles` if 32 bits hold all of them exactly;
    one of the two is empty. `remainders` (`keys.number_key`) belong to `numbers`; there are none if
    all are 0.

    A block is all that a kernel reads of a candidate, in one cache line or two: its slot, with a
    bit that is set if the lookup implies its last constraint, which then need not be evaluated; the
    first rank and the width of the range of each constraint, in the order of evaluation (or the
    number of the constraint in `several`, and `SEVERAL`); and the attributes of these, of
    `attribute_bits` each, as many as fit into a word. `c` constraints take `1 + 2 c + ceil(c bits /
    32)` words: `kernels.blocks` shows one. docs/matching.md shows every column of eight filters.
    """

    # Domains: from a value to its rank (`ranking.Domains`; `text_prefixes` are the first eight
    # bytes).
    number_start: U32  # [a + 1]
    numbers: npt.NDArray[np.float64]
    remainders: npt.NDArray[np.int16]
    single_start: U32  # [a + 1]
    singles: npt.NDArray[np.float32]
    hint_start: U32  # [a + 1] groups places by attribute (`bucket_hints.BucketHints`)
    hint: U32
    hint_scale: npt.NDArray[np.float64]  # [a]
    text_start: U32  # [a + 1]
    text_prefixes: U64
    text_refs: U32
    text_offsets: I64
    text_bytes: U8
    bin_scale: I64  # [a] rank * scale >> 32 is the bin that a rank is in
    # Directory: from a rank to clusters (`access.Tables`).
    points: I64  # [a]
    ordered_start: U32  # [a + 1]
    ordered_is_up_to: U8
    ordered_zone_low: U32
    ordered_zone_high: U32
    ordered_reach: U32
    # Grids of pairs of attributes (`grids.Grids`).
    grid_start: U32  # [a + 1]
    grid_second: U32  # [g]
    grid_first_scale: I64  # [g]
    grid_second_scale: I64  # [g]
    grid_first_reach: U32  # [g]
    grid_second_reach: U32  # [g]
    grid_columns: U32  # [g]
    grid_cluster: U32  # [g] the cluster of the first bucket
    cluster_start: U32  # [clusters + 1] entries of each cluster
    # Automata of literals, one for an attribute as it is or in lower case (`literals.Literals`).
    literal_attribute: U32  # [m] ascending
    literal_is_lower: U8  # [m]
    literal_start: U32  # [m + 1] states of each
    literal_root: U32  # [256 m]
    literal_child: U32  # [states + m]
    literal_label: U8  # [states]
    literal_fail: U32  # [states]
    literal_output: U32  # [states]
    literal_next: U32  # [l]
    literal_cluster: U32  # [1] the cluster of the first literal
    # Bitmaps of the larger clusters and grids (`bitmaps`).
    partition_first: U32  # [p] entry, ascending
    partition_last: U32  # [p]
    bitmap_start: U32  # [p + 1]
    bitmap_attribute: U32
    bitmap_word: I64  # [p] the partition's first word
    bins: U8  # [1] rows of an attribute
    bitmaps: U64
    # Entries: the conjunctions of each cluster.
    entry_key: U32  # [entries in ordered clusters], which come first
    entry_conjunction: U32  # [e], or [0] if entry i is conjunction i
    # Conjunctions, each a block of 32-bit words (see above).
    attribute_bits: U8  # [1]
    block_stride: U32  # [1] words of a block if all have as many, otherwise 0
    block_start: U32  # [n + 1], or [0] if all blocks have as many words
    blocks: U32
    several_start: U32
    several: U32  # [2 r] first rank and width of each range


_TYPES: Final[Mapping[str, type[np.generic]]] = MappingProxyType(
    {
        "number_start": np.uint32,
        "numbers": np.float64,
        "remainders": np.int16,
        "single_start": np.uint32,
        "singles": np.float32,
        "hint_start": np.uint32,
        "hint": np.uint32,
        "hint_scale": np.float64,
        "text_start": np.uint32,
        "text_prefixes": np.uint64,
        "text_refs": np.uint32,
        "text_offsets": np.int64,
        "text_bytes": np.uint8,
        "bin_scale": np.int64,
        "points": np.int64,
        "ordered_start": np.uint32,
        "ordered_is_up_to": np.uint8,
        "ordered_zone_low": np.uint32,
        "ordered_zone_high": np.uint32,
        "ordered_reach": np.uint32,
        "grid_start": np.uint32,
        "grid_second": np.uint32,
        "grid_first_scale": np.int64,
        "grid_second_scale": np.int64,
        "grid_first_reach": np.uint32,
        "grid_second_reach": np.uint32,
        "grid_columns": np.uint32,
        "grid_cluster": np.uint32,
        "cluster_start": np.uint32,
        "literal_attribute": np.uint32,
        "literal_is_lower": np.uint8,
        "literal_start": np.uint32,
        "literal_root": np.uint32,
        "literal_child": np.uint32,
        "literal_label": np.uint8,
        "literal_fail": np.uint32,
        "literal_output": np.uint32,
        "literal_next": np.uint32,
        "literal_cluster": np.uint32,
        "partition_first": np.uint32,
        "partition_last": np.uint32,
        "bitmap_start": np.uint32,
        "bitmap_attribute": np.uint32,
        "bitmap_word": np.int64,
        "bins": np.uint8,
        "bitmaps": np.uint64,
        "entry_key": np.uint32,
        "entry_conjunction": np.uint32,
        "attribute_bits": np.uint8,
        "block_stride": np.uint32,
        "block_start": np.uint32,
        "blocks": np.uint32,
        "several_start": np.uint32,
        "several": np.uint32,
    }
)


_FIRST: Final = 2 * len(_TYPES) + -2 * len(_TYPES) % _LINE_WORDS
"""The word that the first column begins at."""


def segment_buffer(columns: Mapping[str, Array]) -> U64:
    """The columns as one segment buffer; whole numbers must fit the types of `Columns`."""
    arrays = [_narrowed(columns[name], kind) for name, kind in _TYPES.items()]
    contents = np.zeros((_FIRST // 2, 2), np.uint64)
    at = _FIRST
    for number, array in enumerate(arrays):
        contents[number] = at, len(array)
        at = _end(at, array.nbytes)
    spare = np.zeros(at + _LINE_WORDS, np.uint64)
    skipped = -spare.ctypes.data // _WORD_BYTES % _LINE_WORDS
    buffer = spare[skipped : skipped + at]
    buffer[:_FIRST] = contents.reshape(-1)
    for (start, _), array in zip(contents.tolist(), arrays, strict=False):
        buffer[start:].view(np.uint8)[: array.nbytes] = array.view(np.uint8)
    return cast("U64", frozen(buffer))


def columns_of(buffer: U64) -> Columns:
    """The views that make up the columns of a segment buffer."""
    contents = buffer[: 2 * len(_TYPES)].reshape(-1, 2).tolist()
    views: list[Array] = []
    for (start, length), kind in zip(contents, _TYPES.values(), strict=True):
        words = -(-length * np.dtype(kind).itemsize // _WORD_BYTES)
        views.append(buffer[start : start + words].view(kind)[:length])
    return Columns(*views)


def is_whole(buffer: Array) -> bool:
    """True if an array is a whole segment buffer by its table of contents."""
    if buffer.dtype != np.uint64 or buffer.ndim != 1 or len(buffer) < _FIRST:
        return False
    at = _FIRST
    contents = buffer[: 2 * len(_TYPES)].reshape(-1, 2).tolist()
    for (start, length), kind in zip(contents, _TYPES.values(), strict=True):
        if start != at:
            return False
        at = _end(at, length * np.dtype(kind).itemsize)
    return at == len(buffer)


def _end(at: int, size: int) -> int:
    """The word after a column of `size` bytes that begins at word `at`."""
    words = -(-size // _WORD_BYTES)
    return at + words + -words % _LINE_WORDS


def entry_conjunctions(columns: Columns) -> npt.NDArray[np.uint32]:
    """The conjunction of every entry, also where the column is left out."""
    if len(columns.entry_conjunction):
        return columns.entry_conjunction
    return np.arange(columns.cluster_start[-1], dtype=np.uint32)


def _narrowed(column: Array, kind: type[np.generic]) -> Array:
    narrow: npt.NDArray[Any] = np.ascontiguousarray(column, kind)
    if len(column) and np.issubdtype(kind, np.integer):
        bounds = np.iinfo(cast("Any", kind))
        lowest, highest = int(column.min()), int(column.max())
        assert bounds.min <= lowest <= highest <= bounds.max, "a segment is too large for its type"
    return narrow


def block_starts(columns: Columns) -> npt.NDArray[np.int64]:
    """The begin of every block and the end of the last, also where the column is left out."""
    stride = int(columns.block_stride[0])
    if stride:
        return np.arange(0, len(columns.blocks) - BLOCK_END + 1, stride)
    return columns.block_start.astype(np.int64)


def block_start_of(
    columns: Columns, conjunctions: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """The begins of the blocks of `conjunctions`."""
    stride = int(columns.block_stride[0])
    if stride:
        return conjunctions.astype(np.int64) * np.int64(stride)
    starts: npt.NDArray[np.int64] = columns.block_start[conjunctions].astype(np.int64)
    return starts


def block_count(columns: Columns) -> int:
    """The number of blocks."""
    stride = int(columns.block_stride[0])
    return (len(columns.blocks) - BLOCK_END) // stride if stride else len(columns.block_start) - 1
