"""The batch form of matches."""

from __future__ import annotations

import numpy as np

from sapwood.matching.protocol import batch_of


def test_batch_of_groups_slots_by_record() -> None:
    offsets, slots = batch_of([[1, 4], [], [2]])
    assert offsets.tolist() == [0, 2, 2, 3]
    assert slots.tolist() == [1, 4, 2]


def test_batch_of_has_fixed_types_when_nothing_matches() -> None:
    for records in (0, 2):
        offsets, slots = batch_of([()] * records)
        assert offsets.tolist() == [0] * (records + 1)
        assert offsets.dtype == np.int64
        assert slots.dtype == np.int32
        assert slots.tolist() == []
