"""The numbers of lines in files that several tasks read, each a piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


class LineNumbers:
    """Numbers the lines of each piece of a file from 1, across batches."""

    def __init__(self) -> None:
        self._file: object = None
        self._block: object = None
        #: The number of the last line seen, in the piece named by the two fields above.
        self._last = 0

    def number(self, files: pa.Array, blocks: pa.Array) -> npt.NDArray[np.int64]:
        """The numbers of the next lines, which come from these files and pieces, in order."""
        rows = len(files)
        if not rows:
            return np.empty(0, np.int64)
        begins = np.ones(rows, np.bool_)
        begins[0] = (files[0].as_py(), blocks[0].as_py()) != (self._file, self._block)
        begins[1:] = _changes(files) | _changes(blocks)
        places = np.arange(rows)
        numbers = places + 1 - np.maximum.accumulate(np.where(begins, places, 0))
        if not begins[0]:  # The first lines go on where the batch before has ended.
            goes_on = rows if not begins.any() else int(begins.argmax())
            numbers[:goes_on] += self._last
        self._file, self._block = files[-1].as_py(), blocks[-1].as_py()
        self._last = int(numbers[-1])
        return numbers


def _changes(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where an element differs from the one before it, for all but the first."""
    import pyarrow.compute as pc

    changes: npt.NDArray[np.bool_] = pc.not_equal(column[1:], column[:-1]).to_numpy(
        zero_copy_only=False
    )
    return changes
