"""The layout of sketches: counters one a byte, bits 64 a word, the lowest bit first.

Elements 7 and 9 in a sketch of 128 places with 2 probes, where 7 lies at 3 and 70, 9 at 3 and 64:

    counters   [3] 2   [64] 1   [70] 1      all others 0
    words      0x8     0x41                 bit 3; bits 64 and 70, which are 0 and 6 of their word
    bytes      08 00 00 00 00 00 00 00 41 00 00 00 00 00 00 00    the words, lowest byte first

When 9 is removed, [64] is 0 and so is its bit; [3] is 1 and its bit stays, for 7 needs it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
U64: TypeAlias = npt.NDArray[np.uint64]
