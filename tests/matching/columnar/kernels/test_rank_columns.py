"""Columns of values to ranks, compiled, against the plain twin."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import name_table
from sapwood.matching.columnar.columns import I64
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.lanes import LANES
from sapwood.matching.tables import Kind, RecordTable
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import present_in, rank_columns
from tests.matching.columnar.made import Made, made
from tests.matching.tabled import Tabled, column_of, tables
from tests.strategies import filters


def numbers_of(whole: Made, table: RecordTable, late: int = 99) -> I64:
    """The attributes of the columns; one that came later has the number `late`."""
    return np.array(
        [late if name == "b" else whole.attributes.get(name, -1) for name in table.columns],
        np.int64,
    )


@settings(max_examples=examples(60))
@given(wanted=st.lists(filters(), max_size=5), tabled=tables())
def test_fill_columns_is_its_twin(wanted: list[Filter], tabled: Tabled) -> None:
    whole, table = made(wanted), tabled.table
    buffer, width = whole.segment().buffer, len(whole.attributes)
    numbers = numbers_of(whole, table)
    # What is there before is written over where a column is, and only there.
    found, twin = (np.full((len(table), width), 7, np.uint32) for _ in range(2))
    bounds = (table.first, len(table))
    given = (buffer, whole.names(), table.places, numbers, *bounds)
    rank_columns(*given, found.reshape(-1), np.empty(FOLDED_BYTES, np.uint8))
    plain.rank_columns(*given, twin.reshape(-1))
    assert found.tolist() == twin.tolist()


def test_fill_columns_gives_the_ranks_of_records() -> None:
    whole = made(["a > 5 and b = 'x' and c", f"d = {2**53 + 1} or a = 0.1"])
    table = RecordTable.of(
        {
            "c": column_of(Kind.BOOLEAN, [False, True, None], 5),
            "d": column_of(Kind.INTEGER, [2**53 + 1, 2**53, -(2**63)], 1),
            "b": column_of(Kind.LONG_TEXT, ["x", "", None]),
            "a": column_of(Kind.FLOAT, [0.1, -0.0, 6.0], 2),
        },
        3,
    )
    columns = whole.segment().columns
    numbers = np.array([whole.attributes[name] for name in table.columns], np.int64)
    found = np.zeros((3, 4), np.uint32)
    given = (whole.segment().buffer, whole.names(), table.places, numbers, 0, 3)
    rank_columns(*given, found.reshape(-1), np.empty(FOLDED_BYTES, np.uint8))
    for row, ranks in zip(table, found, strict=True):
        expected = np.zeros(4, np.uint32)
        plain.rank_record(columns, whole.names(), cast("plain.Readable", row), expected)
        assert ranks.tolist() == expected.tolist()


@pytest.mark.parametrize("width", [4, 63, 64, 65, 200, 5000])
@pytest.mark.one_in(4)
def test_find_present_names_each_attribute_that_is_there(width: int) -> None:
    present = np.zeros(width, np.uint32)
    numbers = np.array([3, -1, 0, width, 2, width - 1], np.int64)
    ranks = np.full(width + LANES, 9, np.uint32)
    ranks[:width] = 0
    ranks[[0, 3, width - 1]] = 5, 7, 2**32 - 1
    names = name_table([f"a{at}" for at in range(width)])
    found = present_in(names, ranks, width, numbers, present)
    assert sorted(present[:found].tolist()) == sorted({0, 3, width - 1})
    # Ranks of attributes that are no columns are 0.
    ranks[:width] = 0
    assert present_in(names, ranks, width, numbers, present) == 0
