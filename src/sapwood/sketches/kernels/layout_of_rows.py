"""The format of sliced filters on the wire, and the layout of the rows that they are searched for.

A *sliced* filter of 64 places with 2 probes has two slices of 32: the first probe of each element
lies in places 0 to 31, the second in 32 to 63. Three elements a, b and c, with the probes

    a   3  40        b   3  51        c   17  40

The filter of {a, b} has the places 3, 40 and 51. It travels as a head of 8 bytes, the second of
which is its form, and the places, ascending, two bytes each (four, where there are more than 2^16
places); or as all words of its bits, where that is no longer (`DENSE`):

    head  03 00  28 00  33 00            three places take 6 bytes
    head' 08 00 00 00 00 01 08 00        the one word would take 8

A *row* is an element and the set of its holders, one bit each. Rows lie in chains by their first
probe. With a in row 0 for the holders 1 and 2, b in row 1 for 2, c in row 2 for 4:

    heads      [3] 1  [17] 2  others NONE      a was added first, so b stands before it
    nexts      NONE  0  NONE
    masks      3     2  4

The filter of {a, b} leads to the chain of place 3 alone (40 and 51 are in no first slice): row 1
needs place 51, which is set, so holder 2 is found; row 0 has holder 1 that is not found yet, and
needs place 40: found are 1 and 2. Row 2 is never read: 17 is not set.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]

HEAD_BYTES: Final = 8
FORM_SHIFT: Final = 8
SPARSE: Final = 0
DENSE: Final = 1
NARROW_MAX: Final = 1 << 16
"""The number of places that two bytes can name."""

NONE: Final = -1
"""The end of a chain."""
