"""Arrays that grow."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


class Column:
    """A numpy array with room to grow; appending is amortized constant."""

    def __init__(self, dtype: npt.DTypeLike, fill: int = 0) -> None:
        self._fill = fill
        self._data: Array = np.full(16, fill, dtype)
        self._size = 0

    @classmethod
    def of(cls, data: Array, fill: int = 0) -> Column:
        """A column that begins as an array and takes it over, mapped into memory or not."""
        column = cls(data.dtype, fill)
        column._data, column._size = data, len(data)
        return column

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> Array:
        """The values, without a copy; valid until the next change of length."""
        return self._data[: self._size]

    @property
    def room(self) -> Array:
        """The values and, after them, room with the fill value."""
        return self._data

    def append(self, value: float) -> None:
        """Add one value."""
        if self._size == len(self._data):
            self.reserve(self._size + 1)
        self._data[self._size] = value
        self._size += 1

    def extend(self, values: Array) -> None:
        """Add several values."""
        end = self._size + len(values)
        self.reserve(end)
        self._data[self._size : end] = values
        self._size = end

    def reserve(self, size: int) -> None:
        """Make room for `size` values in all."""
        if size > len(self._data):
            grown = np.full(max(size, 2 * len(self._data)), self._fill, self._data.dtype)
            grown[: self._size] = self._data[: self._size]
            self._data = grown

    def resize(self, size: int) -> None:
        """Set the length to `size`; new places have the fill value."""
        self.reserve(size)
        self._data[size : self._size] = self._fill
        self._size = size
