"""Targets that patterns come down to, and the number of patterns for each."""

from __future__ import annotations

import numpy as np

from sapwood.matching.automaton.targets import NO_EQUALITY, Target, TargetTable

PLAIN = Target(1, 1, NO_EQUALITY, 0, at_document=False, reads_content=False)
EQUAL = Target(1, 5, 4, 0, at_document=False, reads_content=True)
CHECKED = Target(2, 2, NO_EQUALITY, 3, at_document=True, reads_content=True)


def test_equal_targets_have_one_number_and_are_told_apart_by_every_field() -> None:
    table = TargetTable()
    assert [table.number(one) for one in (PLAIN, EQUAL, PLAIN, CHECKED)] == [0, 1, 0, 2]
    assert [table[number] for number in range(len(table))] == [PLAIN, EQUAL, CHECKED]
    assert [one.is_plain for one in (PLAIN, EQUAL, CHECKED)] == [True, False, False]
    assert table.arrays().nodes.tolist() == [1, 1, 2]
    assert table.arrays().at_document.tolist() == [False, False, True]


def test_patterns_of_a_target_are_counted_and_those_that_read_content_too() -> None:
    table = TargetTable()
    plain, equal = table.number(PLAIN), table.number(EQUAL)
    assert (table.unused, table.readers) == (2, 0)
    assert [table.use(equal), table.use(equal), table.use(plain)] == [1, 2, 1]
    assert (table.unused, table.readers) == (0, 2)
    assert [table.leave(equal), table.leave(equal)] == [1, 0]
    assert (table.unused, table.readers) == (1, 0)


def test_table_of_its_columns_is_the_same_and_goes_on() -> None:
    table = TargetTable()
    for one in (PLAIN, EQUAL, EQUAL):
        table.use(table.number(one))
    table.number(CHECKED)
    again = TargetTable.of(table.columns(), np.array([0, 1, 1], np.int32))
    assert again.users.view.tolist() == [1, 2, 0]
    assert (again.unused, again.readers) == (table.unused, table.readers) == (1, 2)
    assert [again.number(one) for one in (EQUAL, CHECKED, PLAIN)] == [1, 2, 0]
    assert again.number(EQUAL._replace(node=9)) == 3
