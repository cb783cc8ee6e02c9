r"""The bytes of many filters (`model.packing`), read into columns by one call of a kernel.

Most filters are conjunctions of one range each for some attributes, which is what the kernel reads;
all others it marks as *odd*, and Python reads them. Two filters, `a = 5 and b > 'x'` and `a <=
7.5`, are three constraints:

    constraint   0                1                 2
    name         0                1                 0             a and b, by first occurrence
    low, high    AT_NUMBER twice  AT_TEXT,          FIRST_NUMBER,
                                  LAST_TEXT         AT_NUMBER
    low_at       0                0                 0
    high_at      0                0                 1
    numbers      5.0, 7.5
    texts        the place of "x\0": its first byte and the one beyond
    owner        0, 1             the filter of each conjunction
    starts       0, 2, 3          the begins of the constraints of each conjunction
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import I64, U8

Floats = npt.NDArray[np.float64]

CONSTRAINT_BYTES: Final = 5
"""Fewer bytes has no constraint: `a is null` has six, of which one is its name."""

CONJUNCTIONS, CONSTRAINTS, NUMBERS, TEXTS, NAMES, COUNTS = range(6)
"""The places of the numbers that a kernel counts."""


class Kernel(Protocol):
    """The compiled function that reads forms."""

    def __call__(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        data: bytes,
        ends: I64,
        table: I64,
        owner: I64,
        starts: I64,
        name: I64,
        codes: U8,
        places: I64,
        numbers: Floats,
        texts: I64,
        names: I64,
        is_odd: U8,
        counts: I64,
        /,
    ) -> None:
        """Read the forms that end at `ends` in `data`, one after the other.

        Writes the codes of both ends of each range to `codes`, their constants' places to `places`,
        the begins and ends of texts and names to `texts` and `names`, and `counts`. `table` has a
        power of two elements, all 0, at least twice as many as there may be constraints. An odd
        filter leaves nothing behind.
        """


class Forms(NamedTuple):
    """The columns that were read of some filters; see the module."""

    data: bytes
    owner: I64  # [conjunctions] ascending
    starts: I64  # [conjunctions + 1]
    name: I64  # [constraints]
    low: U8
    high: U8
    low_at: I64
    high_at: I64
    numbers: Floats
    texts: I64  # [texts, 2]
    names: I64  # [names, 2]
    is_odd: U8  # [filters]

    def constants(self) -> list[str]:
        """All text constants, in their order."""
        data = self.data
        return [data[first:last].decode() for first, last in self.texts.tolist()]

    def attribute(self, number: int) -> str:
        """The name with a number."""
        first, last = self.names[number].tolist()
        return self.data[first:last].decode()


def read_forms(kernel: Kernel, packed: Sequence[bytes]) -> Forms:
    """The columns of the bytes of packed filters."""
    data = b"".join(packed)
    count, most = len(packed), len(data) // CONSTRAINT_BYTES + 1
    owner, starts = np.empty(most + count, np.int64), np.zeros(most + count + 1, np.int64)
    name, names, texts = (np.empty(size * most, np.int64) for size in (1, 2, 4))
    codes, places = np.empty(2 * most, np.uint8), np.zeros(2 * most, np.int64)
    numbers = np.empty(2 * most)
    is_odd, counts = np.zeros(count, np.uint8), np.zeros(COUNTS, np.int64)
    kernel(
        data,
        np.cumsum(np.fromiter(map(len, packed), np.int64, count)),
        np.zeros(1 << (2 * most).bit_length(), np.int64),
        owner,
        starts,
        name,
        codes,
        places,
        numbers,
        texts,
        names,
        is_odd,
        counts,
    )
    conjunctions, constraints, many_numbers, many_texts, many_names = counts.tolist()
    sides, at = codes[: 2 * constraints], places[: 2 * constraints]
    return Forms(
        data,
        owner[:conjunctions],
        starts[: conjunctions + 1],
        name[:constraints],
        sides[::2],
        sides[1::2],
        at[::2],
        at[1::2],
        numbers[:many_numbers],
        texts[: 2 * many_texts].reshape(-1, 2),
        names[: 2 * many_names].reshape(-1, 2),
        is_odd,
    )
