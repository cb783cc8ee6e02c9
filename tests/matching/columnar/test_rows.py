"""Conjunctions as columns: written."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.kernels import compiled
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.packed_forms import read_forms
from sapwood.matching.columnar.rows import RowWriter, selection
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import NOTHING, equal_to
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.columnar.made import made, shown
from tests.strategies import filters


def test_rows_keep_constants_once_a_use() -> None:
    rows = made(["a = 5 and b between 1 and 2", "c = 'x' or c = 'y' and d like '%z%'"]).rows
    assert rows.slot.tolist() == [0, 1, 1]
    assert rows.numbers.tolist() == [5, 1, 2]
    assert sorted(rows.texts) == [b"x", b"y"]
    assert rows.checks.owner.tolist() == [2]


def test_conjunction_that_accepts_nothing_is_left_out() -> None:
    writer = RowWriter({"a": 0, "b": 1}, LikePredicates())
    writer.add(0, Filter((Conjunction((("a", equal_to(1)), ("b", NOTHING))),)))
    writer.add(1, Filter((Conjunction((("a", equal_to(2)),)),)))
    rows = writer.rows()
    assert rows.slot.tolist() == [1]
    assert rows.numbers.tolist() == [2]


def test_no_filters_make_no_rows() -> None:
    rows = made([]).rows
    assert len(rows.slot) == 0
    assert rows.constraint_start.tolist() == [0]
    assert rows.range_start.tolist() == [0]


@settings(max_examples=examples(60))
@given(wanted=st.lists(filters(), max_size=8), before=st.lists(filters(), max_size=2))
def test_many_filters_are_written_as_they_are_one_by_one(
    wanted: list[Filter], before: list[Filter]
) -> None:
    attributes: dict[Attribute, int] = {}
    predicates = LikePredicates()
    writers = [RowWriter(attributes, predicates) for _ in range(2)]
    for writer in writers:
        for slot, one in enumerate(before):
            writer.add(slot, one)
    together, alone = writers
    numbered = list(enumerate(wanted, len(before)))
    together.add_many(numbered, compiled.read_forms)
    for slot, one in numbered:
        alone.add(slot, one)
    assert sorted(map(repr, shown(together.rows()))) == sorted(map(repr, shown(alone.rows())))
    assert sorted(together.slots_from(0).tolist()) == sorted(alone.slots_from(0).tolist())


def test_names_that_share_a_place_are_told_apart() -> None:
    texts = [f"n{number} = {number} and m{number % 7} > 'x'" for number in range(300)]
    wanted = [(slot, parse_filter(text)) for slot, text in enumerate(texts)]
    forms = read_forms(compiled.read_forms, [one.packed or b"" for _, one in wanted])
    assert not forms.is_odd.any()
    names = {forms.attribute(number) for number in range(len(forms.names))}
    assert len(names) == len(forms.names) == 307
    shown_names = [forms.attribute(number) for number in forms.name.tolist()]
    assert shown_names == [name for _, one in wanted for name in one.attributes]


def test_selection_lists_the_members_of_groups() -> None:
    members, starts = selection(np.array([0, 2, 2, 5]), np.array([2, 1, 0, 2]))
    assert members.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert starts.tolist() == [0, 3, 3, 5, 8]
    members, starts = selection(np.array([0, 2]), np.array([], np.int64))
    assert members.tolist() == []
    assert starts.tolist() == [0]


def test_equal_filters_make_equal_rows() -> None:
    one, other = parse_filter("a > 1 and not (b <> 2)"), parse_filter("b = 2 and a > 1")
    assert shown(made([one]).rows) == shown(made([other]).rows)


def test_new_attributes_are_numbered_as_they_are_written() -> None:
    numbers: dict[Attribute, int] = {"z": 0}
    RowWriter(numbers, LikePredicates()).add(0, parse_filter("b = 1 and a = 1 and z = 1"))
    assert numbers == {"z": 0, "a": 1, "b": 2}
