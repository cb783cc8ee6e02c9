"""Pairs of record and slot from several places, brought into the order of a `SlotBatch`."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.protocol import Offsets, SlotBatch, Slots

_SLOT_BITS: Final = 32
_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1


class Pairs:
    """What the parts of an engine find, in any order and perhaps more than once."""

    def __init__(self) -> None:
        self._numbers: list[npt.NDArray[np.int64]] = []
        self._slots: list[Slots] = []
        #: a pair may be there more than once
        self.repeats = False

    def add(self, numbers: npt.NDArray[np.int64], slots: Slots) -> None:
        """Add pairs, in any order."""
        self._numbers.append(numbers)
        self._slots.append(slots)

    def batch(self, records: int) -> SlotBatch:
        """All pairs of the first so many records, sorted and each once."""
        if not self._slots:
            return SlotBatch(np.zeros(records + 1, np.int64), np.zeros(0, np.int32))
        pairs = (np.concatenate(self._numbers) << _SLOT_BITS) | np.concatenate(self._slots)
        pairs.sort()
        if self.repeats:
            pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        offsets: Offsets = np.searchsorted(pairs, np.arange(records + 1) << _SLOT_BITS)
        return SlotBatch(offsets, (pairs[: offsets[-1]] & _SLOT_MASK).astype(np.int32))
