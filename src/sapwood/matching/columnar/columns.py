"""What kernels read of a segment: named columns, all in one block of memory.

A compiled function takes some 60 ns for each array that it is handed, and a segment has thirty. So
they lie in one array of 64-bit words, the *image*: a table of contents, then one column after the
other. A kernel takes the columns that it needs out of it (`kernels.views`), some nanoseconds for
each. An image is also what is saved and mapped: one file.
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

KEY_MAX: Final = (1 << 32) - 1
"""The largest cell number and key."""

SEVERAL: Final = KEY_MAX
"""Stands for a span where a constraint has several runs; no run is so long."""

SLOT_MASK: Final = (1 << 31) - 1
"""The bits of a block's first word that are the slot."""

IMPLIED_BIT: Final = 31
"""The bit of a block's first word that tells that the lookup implies the last constraint."""

BLOCK_END: Final = 2
"""Words after the last block, so that a kernel may read on where a block has no constraint."""

BLOCK_WORDS: Final = 8
"""Words of the bit rows that lie together: a cache line."""

ATTRIBUTES_MAX: Final = 20
"""Attributes with bit rows in one region: 20 or 40 bytes for each entry."""

ROWS_MIN: Final = 24
"""Entries of a stretch for which bit rows are worth reading."""

DEAD: Final = 1
"""Mark: the conjunction was removed."""

CHECKED: Final = 2
"""Mark: the conjunction has pattern checks, so that a candidate is a match only after those."""

SHARED: Final = 4
"""Mark: its slot has further conjunctions, so that it may be found more than once."""

_WORD_BYTES: Final = 8

_LINE_WORDS: Final = 8
"""Words of a cache line. Columns begin at lines, so that bit rows are whole lines."""

(
    NUMBER_START, NUMBERS, REMAINDERS, SINGLE_START, SINGLES, GUIDE_START, GUIDE, GUIDE_SCALE,
    TEXT_START, TEXT_PREFIXES, TEXT_REFS, TEXT_OFFSETS, TEXT_BYTES, BUCKET_SCALE,
    POINTS, ORDERED_START, ORDERED_IS_UP_TO, ORDERED_ZONE_LOW, ORDERED_ZONE_HIGH, ORDERED_REACH,
    GRID_START, GRID_SECOND, GRID_FIRST_SCALE, GRID_SECOND_SCALE,
    GRID_FIRST_REACH, GRID_SECOND_REACH, GRID_COLUMNS, GRID_CLUSTER,
    CLUSTER_START,
    REGION_FIRST, REGION_LAST, PLAN_START, PLAN_ATTRIBUTE, PLAN_ROW, SLICES, BIT_ROWS,
    ENTRY_KEY, ENTRY_CONJUNCTION, ATTRIBUTE_BITS, BLOCK_STRIDE, BLOCK_START, BLOCKS,
    SEVERAL_START, SEVERAL_CELLS,
) = range(44)  # fmt: skip
"""The places of the columns in the table of contents, for kernels."""


class Columns(NamedTuple):
    """The columns of a segment with `a` attributes, `n` conjunctions and `e` entries.

    A run of cells is kept as its first cell and its *span*, the number of steps to its last one:
    `cell - low <= span`, in unsigned arithmetic, is the whole test.

    Attribute `i` has the numbers `number_start[i]` up to `number_start[i + 1]` of `numbers`, or
    `single_start[i]` up to `single_start[i + 1]` of `singles` if 32 bits hold all of them exactly;
    one of the two is empty. `remainders` (`keys.number_key`) belong to `numbers`; there are none if
    all are 0.

    A block is all that a kernel reads of a candidate, in one cache line or two: its slot, with a
    bit for whether the lookup implies its last constraint, which then need not be evaluated; the
    first cell and the span of the run of each constraint, in the order of evaluation (or the number
    of the constraint in `several`, and `SEVERAL`); and the attributes of these, of `attribute_bits`
    each, as many as fit into a word. So many constraints take `1 + 2 c + ceil(c bits / 32)` words.
    """

    # Lines: from a value to its cell (`ranking.Lines`; `text_prefixes` are the first eight bytes).
    number_start: U32  # [a + 1]
    numbers: npt.NDArray[np.float64]
    remainders: npt.NDArray[np.int16]
    single_start: U32  # [a + 1]
    singles: npt.NDArray[np.float32]
    guide_start: U32  # [a + 1] groups places by attribute (`guides.Guides`)
    guide: U32
    guide_scale: npt.NDArray[np.float64]  # [a]
    text_start: U32  # [a + 1]
    text_prefixes: U64
    text_refs: U32
    text_offsets: I64
    text_bytes: U8
    bucket_scale: I64  # [a] cell * scale >> 32 is the slice of a line that a cell is in
    # Directory: from a cell to clusters (`access.Tables`).
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
    # Bit rows of the larger clusters and grids (`rowing`).
    region_first: U32  # [p] entry, ascending
    region_last: U32  # [p]
    plan_start: U32  # [p + 1]
    plan_attribute: U32
    plan_row: I64  # [p] the region's first word
    slices: U8  # [1] rows of an attribute
    rows: U64
    # Entries: the conjunctions of each cluster.
    entry_key: U32  # [entries in ordered clusters], which come first
    entry_conjunction: U32  # [e], or [0] if entry i is conjunction i
    # Conjunctions, each a block of 32-bit words (see above).
    attribute_bits: U8  # [1]
    block_stride: U32  # [1] words of a block if all have as many, otherwise 0
    block_start: U32  # [n + 1], or [0] if all blocks have as many words
    blocks: U32
    several_start: U32
    several: U32  # [2 r] first cell and span of each run


_TYPES: Final[Mapping[str, type[np.generic]]] = MappingProxyType(
    {
        "number_start": np.uint32,
        "numbers": np.float64,
        "remainders": np.int16,
        "single_start": np.uint32,
        "singles": np.float32,
        "guide_start": np.uint32,
        "guide": np.uint32,
        "guide_scale": np.float64,
        "text_start": np.uint32,
        "text_prefixes": np.uint64,
        "text_refs": np.uint32,
        "text_offsets": np.int64,
        "text_bytes": np.uint8,
        "bucket_scale": np.int64,
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
        "region_first": np.uint32,
        "region_last": np.uint32,
        "plan_start": np.uint32,
        "plan_attribute": np.uint32,
        "plan_row": np.int64,
        "slices": np.uint8,
        "rows": np.uint64,
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


def image_of(columns: Mapping[str, Array]) -> U64:
    """The columns of these names as one image; whole numbers must fit the types of `Columns`."""
    arrays = [_narrowed(columns[name], kind) for name, kind in _TYPES.items()]
    contents = np.zeros((_FIRST // 2, 2), np.uint64)
    at = _FIRST
    for number, array in enumerate(arrays):
        contents[number] = at, len(array)
        at = _end(at, array.nbytes)
    spare = np.zeros(at + _LINE_WORDS, np.uint64)
    skipped = -spare.ctypes.data // _WORD_BYTES % _LINE_WORDS
    image = spare[skipped : skipped + at]
    image[:_FIRST] = contents.reshape(-1)
    for (start, _), array in zip(contents.tolist(), arrays, strict=False):
        image[start:].view(np.uint8)[: array.nbytes] = array.view(np.uint8)
    return cast("U64", frozen(image))


def columns_of(image: U64) -> Columns:
    """The views that make up the columns of an image."""
    contents = image[: 2 * len(_TYPES)].reshape(-1, 2).tolist()
    views: list[Array] = []
    for (start, length), kind in zip(contents, _TYPES.values(), strict=True):
        words = -(-length * np.dtype(kind).itemsize // _WORD_BYTES)
        views.append(image[start : start + words].view(kind)[:length])
    return Columns(*views)


def is_whole(image: Array) -> bool:
    """Whether an array is an image as far as its table of contents tells: nothing is missing."""
    if image.dtype != np.uint64 or image.ndim != 1 or len(image) < _FIRST:
        return False
    at = _FIRST
    contents = image[: 2 * len(_TYPES)].reshape(-1, 2).tolist()
    for (start, length), kind in zip(contents, _TYPES.values(), strict=True):
        if start != at:
            return False
        at = _end(at, length * np.dtype(kind).itemsize)
    return at == len(image)


def _end(at: int, size: int) -> int:
    """The word after a column of so many bytes that begins at word `at`."""
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
    """Where every block begins and the last one ends, also where the column is left out."""
    stride = int(columns.block_stride[0])
    if stride:
        return np.arange(0, len(columns.blocks) - BLOCK_END + 1, stride)
    return columns.block_start.astype(np.int64)


def block_start_of(
    columns: Columns, conjunctions: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Where the blocks of some conjunctions begin."""
    stride = int(columns.block_stride[0])
    if stride:
        return conjunctions.astype(np.int64) * np.int64(stride)
    starts: npt.NDArray[np.int64] = columns.block_start[conjunctions].astype(np.int64)
    return starts


def block_count(columns: Columns) -> int:
    """How many blocks there are."""
    stride = int(columns.block_stride[0])
    return (len(columns.blocks) - BLOCK_END) // stride if stride else len(columns.block_start) - 1
