"""Building segments: everything in cluster order, nothing lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.access import KEY_MAX
from sapwood.matching.columnar.build import build
from sapwood.model.filter import Filter
from tests.matching.columnar.made import made, shown
from tests.strategies import filters


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=8))
def test_built_segment_is_consistent_and_can_be_built_again(wanted: list[Filter]) -> None:
    whole = made(wanted)
    segment = whole.segment()
    segment.validate()
    again = build(segment.rows(), len(whole.attributes))
    again.validate()
    assert shown(again.rows()) == shown(whole.rows)


def test_conjunctions_are_numbered_in_the_order_of_their_clusters() -> None:
    texts = [f"a = {number % 7} and b > {number}" for number in range(40)]
    segment = made(texts).segment()
    first = np.unique(segment.columns.entry_conjunction, return_index=True)[1]
    assert np.all(np.diff(first) > 0)


def test_entries_of_a_cluster_are_sorted_by_what_they_evaluate_first() -> None:
    texts = [f"a = 1 and {'bc'[number % 2]} > {number * 37 % 40}" for number in range(40)]
    others = [f"{name} > {number}" for name in "bc" for number in range(40, 80)]
    others += [f"a = {number}" for number in range(400)]
    columns = made([*texts, *others]).segment().columns
    cluster = columns.points[0] + 2 + np.searchsorted(columns.numbers[:400], 1)
    entries = slice(*columns.cluster_start[cluster : cluster + 2].tolist())
    order = np.lexsort((columns.entry_low[entries], columns.entry_attribute[entries]))
    assert len(order) >= 40
    assert np.all(np.diff(order) == 1)


def test_entry_without_anything_to_evaluate_accepts_every_cell() -> None:
    columns = made(["a = 1", "true"]).segment().columns
    assert columns.entry_span.tolist() == [KEY_MAX, KEY_MAX]
    assert columns.rest_start.tolist() == columns.rest_stop.tolist()


def test_entry_settles_a_constraint_of_one_run_and_leaves_others_to_the_rest() -> None:
    columns = made(["a = 1 and b > 2", "a = 1 and b <> 2"]).segment().columns
    rest = dict(
        zip(columns.slot.tolist(), (columns.rest_stop - columns.rest_start).tolist(), strict=True)
    )
    assert rest == {0: 0, 1: 1}


def test_segment_of_nothing_can_be_built() -> None:
    segment = made([]).segment()
    segment.validate()
    assert segment.conjunctions == 0
