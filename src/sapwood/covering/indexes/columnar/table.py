"""Hulls as columns of rows, in blocks, and their arrangement.

Every attribute that was ever constrained has a field of kinds (`hulls.py`) and, from the first
number or text on, two columns of ends each. Where a row says nothing about an attribute its field
is `FREE` and its ends are infinite. Rows come in blocks of `BLOCK`; for each block the extremes of
its rows are known, so that a search passes by most blocks.

New rows are appended to a tail. A full tail is *packed* together with the packed stretches before
it that are not larger (the logarithmic method of Bentley and Saxe): dead rows are dropped and the
rest is arranged along a k-d tree, whose leaves are the blocks, so that extremes are narrow. Each row
is packed again as often as the table doubles.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.covering.indexes.columnar.hulls import FREE, NUMBER, TEXT, Hull
from sapwood.errors import InvariantError

Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]
Keys: TypeAlias = npt.NDArray[np.int64]

BLOCK: Final = 64
"""Rows of a block: one compare instruction over it costs about as much as passing it by."""

TAIL_ROWS: Final = 512
"""Rows that are searched in the order of arrival."""

DEAD: Final = -1
"""The key of a row that nobody has (any more)."""

_FIELD_BITS: Final = 6
_FIELDS_A_WORD: Final = 64 // _FIELD_BITS
_ALL_FREE: Final = (1 << 64) - 1


class Columns(NamedTuple):
    """The arrays of a table with room for `r` rows in `b = r / BLOCK` blocks.

    `keys[i]` is the key of row `i`, or DEAD. `ends[c, i]` are ends, `offers[w, i]` and `needs[w, i]`
    words of fields. For each block `largest` and `smallest` are the extremes of its ends, `any_offers`
    the union of its offers and `all_needs` the intersection of its needs; dead rows may still count.
    """

    keys: Keys  # [r]
    ends: Floats  # [c, r]
    offers: Words  # [w, r]
    needs: Words  # [w, r]
    largest: Floats  # [c, b]
    smallest: Floats  # [c, b]
    any_offers: Words  # [w, b]
    all_needs: Words  # [w, b]


class Question(NamedTuple):
    """What a search compares rows with: words of fields, and ends in some columns."""

    words: Words  # [w]
    columns: Keys  # [q]
    ends: Floats  # [q]


class HullTable:
    """Hulls by key.

    #: `_row_of[key]` is the row of each key that is held, and `columns.keys[row]` that key
    #: rows from `_used` on are dead and their blocks are as if empty
    #: `_stretches` are the first rows of packed stretches, ascending, each the first of a block;
    #: rows from `_tail` on (a block's first as well) are in the order of arrival
    """

    __slots__ = ("_columns_of", "_fields", "_live", "_row_of", "_stretches", "_tail", "_used", "columns")

    def __init__(self) -> None:
        self._fields: dict[str, int] = {}
        #: attribute and kind (NUMBER or TEXT) -> the first of its two columns
        self._columns_of: dict[tuple[str, int], int] = {}
        self._row_of: dict[int, int] = {}
        self._stretches: list[int] = []
        self._tail = self._used = 0
        self.columns = _empty_columns(rows=2 * TAIL_ROWS, columns=2, words=1)

    def __len__(self) -> int:
        """The number of hulls."""
        return len(self._row_of)

    @property
    def blocks(self) -> int:
        """The blocks that hold rows."""
        return -(-self._used // BLOCK)
