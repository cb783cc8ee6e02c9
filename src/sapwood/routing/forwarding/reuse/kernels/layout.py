"""The memory layout of the key table, and of the digests that are read with it.

Two columns, as long as a power of two: the hash of a key, and its place (`key_table`). A key stands
in the row given by the lowest bits of its hash, or behind, if that was taken; behind the last row
comes the first. Of eight rows, with the hashes 0x12, 0x0a and 0x15 in that order:

    row      0     1     2     3     4     5     6     7
    hashes                0x12  0x0a        0x15
    places   -1    -1    7     9     -1    4     -1    -1

0x0a would stand in row 2. A row that was taken stays `GONE`: those behind it are found past it. At
least a third of the rows are `UNKNOWN`, so that every search ends.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

I64: TypeAlias = npt.NDArray[np.int64]
U64: TypeAlias = npt.NDArray[np.uint64]
U8: TypeAlias = npt.NDArray[np.uint8]

UNKNOWN: Final = -1
SHARED: Final = -2
GONE: Final = -3
"""The places of no such key, of more than one key with the hash, and of one that was removed."""

NUMBER_BITS: Final = 32
"""A place is a side's serial number, and behind it the number of a key in this many bits."""
