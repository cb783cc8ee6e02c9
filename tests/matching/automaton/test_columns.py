"""Arrays that grow."""

from __future__ import annotations

import numpy as np

from sapwood.matching.automaton.columns import Column


def test_column_grows_and_keeps_its_values() -> None:
    column = Column(np.int32)
    for value in range(100):
        column.append(value)
    column.extend(np.arange(100, 1000))
    assert len(column) == 1000
    assert column.view.tolist() == list(range(1000))
    assert column.view.dtype == np.int32


def test_column_is_resized_with_its_fill_value() -> None:
    column = Column(np.int64, -1)
    column.append(7)
    column.resize(40)
    assert column.view.tolist() == [7] + [-1] * 39
    column.resize(0)
    column.resize(3)
    assert column.view.tolist() == [-1] * 3
    assert len(column.room) >= 40
