"""The similarity proximity f_s, row by row (section 7.4.1).

A similarity is a callable of two filters: the chance that a publication that the first accepts is
accepted by the second, in [0, 1] and not symmetric. f_s is the mean of both directions: symmetric,
1 for equals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sapwood.errors import InputError
from sapwood.limits.semantic import PROXIMITY_BYTES_MAX
from sapwood.overlay.semantic.interests import Coverable, Interests

F = TypeVar("F", bound=Coverable)

Similarity: TypeAlias = Callable[[F, F], float]

Row: TypeAlias = NDArray[np.float32]


class ProximityRows(Protocol):
    """f_s of any two interests, by their numbers."""

    def row(self, of: int) -> Row:
        """f_s of an interest with each there is at least, by number."""


class KnownProximities:
    """f_s of all interests that there will be, as a square of numbers in their order."""

    __slots__ = ("rows",)

    def __init__(self, rows: NDArray[np.float32]) -> None:
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
            raise InputError(f"proximities are as many rows as columns, not {rows.shape}")
        self.rows = rows

    def row(self, of: int) -> Row:
        """f_s of an interest with each."""
        if of >= len(self.rows):
            raise InputError(f"there are {len(self.rows):,} interests known, and none number {of}")
        row: Row = self.rows[of]
        return row


class Proximities(Generic[F]):
    """f_s of every two interests; computed rows are kept within a bound.

    As 32-bit floats, so that a score that was stored equals the same one computed again.
    """

    __slots__ = ("_bytes", "_rows", "interests", "similarity")

    def __init__(self, interests: Interests[F], similarity: Similarity[F]) -> None:
        self.interests = interests
        self.similarity = similarity
        #: for some interests, f_s with all interests up to the length of the row
        self._rows: dict[int, Row] = {}
        self._bytes = 0

    def row(self, of: int) -> Row:
        """f_s of an interest with each there is, by number."""
        row = self._rows.get(of, np.empty(0, np.float32))
        known = len(row)
        if known == len(self.interests):
            return row
        more = np.array(
            [self._proximity(of, other) for other in range(known, len(self.interests))],
            dtype=np.float32,
        )
        if self._bytes > PROXIMITY_BYTES_MAX:
            self._rows.clear()
            self._bytes = 0
        self._rows[of] = row = np.concatenate((row, more))
        self._bytes += row.nbytes
        return row

    def _proximity(self, one: int, other: int) -> float:
        if one == other:
            return 1.0
        behind = self._rows.get(other)
        if behind is not None and one < len(behind):
            return float(behind[one])
        this, that = self.interests[one], self.interests[other]
        there, back = self.similarity(this, that), self.similarity(that, this)
        if not (0 <= there <= 1 and 0 <= back <= 1):
            raise InputError(f"a similarity is between 0 and 1, not {there} and {back}")
        return (there + back) / 2
