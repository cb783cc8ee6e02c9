"""Lists of values by key, in one array: the values of a key lie together.

New entries go to a short tail, which readers search as a whole; when it has grown to a sixty-fourth
of all, everything is sorted by key again. Removing leaves a gap (-1) until then.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.automaton.columns import Column

GAP: Final = -1
"""The value of a place without one."""

FIRST_TARGET: Final = -2
"""In numbers that are a value, a gap or a key, key `k` is `FIRST_TARGET - k`."""

_TAIL_MIN: Final = 1024
_TAIL_SHARE: Final = 64


class Lists(NamedTuple):
    """`values[starts[key]:starts[key + 1]]`, and the pairs `tail_keys`, `tail_values`.

    Keys beyond `len(starts) - 2` have values in the tail only; `GAP` values are to be skipped.
    """

    starts: npt.NDArray[np.int64]
    values: npt.NDArray[np.int32]
    tail_keys: npt.NDArray[np.int32]
    tail_values: npt.NDArray[np.int32]


class Postings:
    """Values by key; a value is there at most once, and only with one key."""

    def __init__(self) -> None:
        self._starts: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        self._values: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._tail_keys = Column(np.int32)
        self._tail_values = Column(np.int32)
        #: value -> its key, GAP for a value that is not there
        self._keys = Column(np.int32, GAP)
        #: value -> its place in `_values`, or past their end in the tail
        self._places = Column(np.int64, GAP)
        self._count = 0

    @classmethod
    def of(cls, keys: npt.NDArray[np.int32]) -> Postings:
        """The postings for the key of each value (`GAP` for none); takes the array over."""
        postings = cls()
        postings._keys = Column.of(keys, GAP)
        postings._places.resize(len(keys))
        postings._count = int(np.count_nonzero(keys != GAP))
        postings._sort()
        return postings

    @property
    def keys(self) -> npt.NDArray[np.int32]:
        """The key of each value, `GAP` for none; `of` makes the same lists of it."""
        keys: npt.NDArray[np.int32] = self._keys.view
        return keys

    def __len__(self) -> int:
        """The number of values."""
        return self._count

    @property
    def capacity(self) -> int:
        """A number above every value that was ever there."""
        return len(self._keys)

    def key(self, value: int) -> int:
        """The key of a value, `GAP` if it is not there."""
        return int(self._keys.room[value]) if value < len(self._keys) else GAP

    def add(self, key: int, value: int) -> None:
        """Add a value that is not there."""
        if value >= len(self._keys):
            self._keys.resize(value + 1)
            self._places.resize(value + 1)
        assert self._keys.room[value] == GAP, f"{value} is there"
        self._keys.room[value] = key
        self._places.room[value] = len(self._values) + len(self._tail_keys)
        self._tail_keys.append(key)
        self._tail_values.append(value)
        self._count += 1

    def remove(self, value: int) -> int:
        """Remove a value that is there, and return its key."""
        key = self.key(value)
        assert key != GAP, f"{value} is not there"
        place = int(self._places.room[value])
        if place < len(self._values):
            self._values[place] = GAP
        else:
            self._tail_values.room[place - len(self._values)] = GAP
        self._keys.room[value] = GAP
        self._count -= 1
        return key

    def lists(self) -> Lists:
        """The lists as they are now, sorted again if that is due."""
        if len(self._tail_keys) > max(_TAIL_MIN, len(self._values) // _TAIL_SHARE):
            self._sort()
        return Lists(self._starts, self._values, self._tail_keys.view, self._tail_values.view)

    def fold(self) -> None:
        """Sort again if the tail is not empty."""
        if len(self._tail_keys):
            self._sort()

    def _sort(self) -> None:
        keys = self._keys.view
        values = np.flatnonzero(keys != GAP).astype(np.int32)
        values = values[np.argsort(keys[values], kind="stable")]
        sizes = np.bincount(keys[values], minlength=0)
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self._values = values
        self._places.view[values] = np.arange(len(values))
        self._tail_keys = Column(np.int32)
        self._tail_values = Column(np.int32)

    def validate(self) -> None:
        """Raise `InvariantError` unless every value is once in its list and place."""
        starts, values, tail_keys, tail_values = Lists(
            self._starts, self._values, self._tail_keys.view, self._tail_values.view
        )
        keys = np.concatenate([np.repeat(np.arange(len(starts) - 1), np.diff(starts)), tail_keys])
        every = np.concatenate([values, tail_values])
        there = every != GAP
        if there.sum() != self._count or len(np.unique(every[there])) != self._count:
            raise InvariantError("a value is lost, or there twice")
        if not np.array_equal(self._keys.view[every[there]], keys[there]):
            raise InvariantError("a value is in another list than it should be")
        if not np.array_equal(self._places.view[every[there]], np.flatnonzero(there)):
            raise InvariantError("a value is in another place than it should be")
