"""Building segments: everything in cluster order, nothing lost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import NO_PATTERNS
from sapwood.matching.columnar.restoring import filter_of
from sapwood.matching.columnar.rows import RowWriter
from sapwood.model.filter import Filter
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made, shown
from tests.matching.columnar.unranking import rows_of
from tests.strategies import filters


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=8))
def test_built_segment_is_consistent_and_can_be_built_again(wanted: list[Filter]) -> None:
    whole = made(wanted)
    segment = whole.segment()
    segment.validate()
    again = build(rows_of(segment), len(whole.attributes), plain, whole.patterns())
    again.validate()
    assert shown(rows_of(again)) == shown(whole.rows)


def test_conjunctions_are_numbered_in_the_order_of_their_clusters() -> None:
    texts = [f"a in (1, {number % 7}) and b > {number}" for number in range(40)]
    columns = made(texts).segment().columns
    first = np.unique(columns.entry_conjunction, return_index=True)[1]
    assert np.all(np.diff(first) > 0)


def test_entries_of_an_ordered_cluster_are_sorted_by_key() -> None:
    texts = [f"a > {number * 37 % 40}" for number in range(40)]
    columns = made([*texts, "a < 5", "a = 3"]).segment().columns
    for cluster in range(len(columns.ordered_reach)):
        first, last = columns.cluster_start[cluster : cluster + 2].tolist()
        assert np.all(np.diff(columns.entry_key[first:last].astype(np.int64)) >= 0)
    assert len(columns.entry_key) == 41


def test_entries_are_left_out_where_each_conjunction_has_one() -> None:
    assert len(made(["a = 1", "a > 2"]).segment().columns.entry_conjunction) == 0
    assert len(made(["a = 1", "a in (2, 3)"]).segment().columns.entry_conjunction) == 3


def test_numbers_take_32_bits_where_these_hold_them_exactly() -> None:
    columns = made([f"a = 1 and b = 0.1 and c = {2**53 + 1} and d = 0.5"]).segment().columns
    assert columns.singles.tolist() == [1.0, 0.5]
    assert columns.numbers.tolist() == [0.1, 2.0**53]
    assert columns.remainders.tolist() == [0, 1]
    assert len(made(["a = 0.1"]).segment().columns.remainders) == 0


@pytest.mark.parametrize(("others", "bits"), [(0, 8), (255, 8), (256, 16), (65_536, 32)])
def test_numbers_of_attributes_take_as_many_bits_as_they_need(others: int, bits: int) -> None:
    writer = RowWriter({f"x{number}": number for number in range(others)}, LikePredicates())
    wanted = [parse_filter("a > 1 and b > 2 and c between 3 and 4 and d = 'x' and e = 5")]
    wanted.append(parse_filter("x0 = 1 and a < 5") if others else parse_filter("a = 7"))
    for slot, each in enumerate(wanted):
        writer.add(slot, each)
    names = {**{f"x{number}": number for number in range(others)}}
    names |= {name: others + at for at, name in enumerate("abcde")}
    rows = writer.rows()
    segment = build(rows, len(names), plain, NO_PATTERNS)
    segment.validate()
    assert segment.columns.attribute_bits.tolist() == [bits if others != 255 else 16]
    assert shown(rows_of(segment)) == shown(rows)
    for slot, each in enumerate(wanted):
        assert filter_of(segment, slot, list(names), LikePredicates()) == each


def test_segment_of_nothing_can_be_built() -> None:
    segment = made([]).segment()
    segment.validate()
    assert segment.conjunctions == 0
