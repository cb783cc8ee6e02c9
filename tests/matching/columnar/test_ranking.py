"""Domains: a value's rank is in a constraint's ranges iff the constraint accepts the value."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.batch import name_table
from sapwood.matching.columnar.domains import FIRST_NUMBER_RANK, FIRST_TEXT_RANK
from sapwood.matching.columnar.ranking import rank
from sapwood.model.filter import Filter
from sapwood.model.publication import Value
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made, shown
from tests.matching.columnar.unranking import unrank
from tests.strategies import filters, values


def test_domain_has_a_rank_for_every_constant_and_every_gap() -> None:
    rows = made(["a between 1 and 5", "a = 3 or a = 'x'", "b > 'k'"]).rows
    ranked = rank(rows, 2)
    domains = ranked.domains
    assert domains.numbers.tolist() == [1, 3, 5]
    assert domains.number_counts().tolist() == [3, 0]
    assert domains.text_counts().tolist() == [1, 1]
    assert domains.texts == [b"k\0", b"x"]
    assert domains.text_ranks().tolist() == [FIRST_TEXT_RANK + 6, FIRST_TEXT_RANK]
    assert domains.last_ranks().tolist() == [FIRST_TEXT_RANK + 8, FIRST_TEXT_RANK + 2]
    first = FIRST_NUMBER_RANK + 1
    assert ranked.low.tolist() == [first, first + 2, FIRST_TEXT_RANK + 7, FIRST_TEXT_RANK + 1]
    assert ranked.high.tolist() == [first + 4, first + 2, FIRST_TEXT_RANK + 7, FIRST_TEXT_RANK + 2]


def test_equal_constants_share_a_rank_whatever_their_type() -> None:
    ranked = rank(made(["a = 5", "a = 5.0", "a > 5", "a <= 5.0"]).rows, 1)
    assert ranked.domains.numbers.tolist() == [5]


def test_neighbors_beyond_the_floats_have_ranks_of_their_own() -> None:
    ranked = rank(made([f"a = {2**53}", f"a = {2**53 + 1}", f"a = {2**53 + 2}"]).rows, 1)
    assert len(ranked.domains.numbers) == 3
    assert ranked.low.tolist() == ranked.high.tolist() == [5, 7, 9]


def test_domain_without_filters_is_empty() -> None:
    ranked = rank(made([]).rows, 2)
    assert ranked.domains.last_ranks().tolist() == [FIRST_TEXT_RANK] * 2
    assert len(ranked.low) == 0


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=6))
def test_unrank_is_the_inverse_of_rank(wanted: list[Filter]) -> None:
    whole = made(wanted)
    rows = whole.rows
    ranked = rank(rows, len(whole.attributes))
    on = np.repeat(rows.attribute, np.diff(rows.range_start))
    low, low_at, high, high_at = unrank(ranked, on)
    again = rows._replace(
        low=low,
        low_at=low_at,
        high=high,
        high_at=high_at,
        numbers=ranked.domains.numbers,
        remainders=ranked.domains.remainders,
        texts=ranked.domains.texts,
    )
    assert shown(again) == shown(rows)


@settings(max_examples=examples(60))
@given(wanted=st.lists(filters(patterns=False), min_size=1, max_size=4), value=values())
@example(wanted=[parse_filter(f"a > {2**53}")], value=2**53 + 1)
@example(wanted=[parse_filter("a > ''")], value="\0")
def test_rank_is_in_the_ranges_iff_the_constraint_accepts(
    wanted: list[Filter], value: Value
) -> None:
    whole = made(wanted)
    rows = whole.rows
    ranked = rank(rows, len(whole.attributes))
    columns, names = whole.segment().columns, whole.attributes
    present, absent = (np.zeros(len(names) + 1, np.uint32) for _ in range(2))
    own = (name for name in names if isinstance(name, str))
    every: plain.Readable = dict.fromkeys(own, value)
    plain.rank_record(columns, name_table(names), every, present)
    constraints = [c for conjunction in whole.conjunctions for _, c in conjunction.constraints]
    for at, constraint in enumerate(constraints):
        ranges = slice(*rows.range_start[at : at + 2].tolist())
        attribute = rows.attribute[at]
        for ranks, given_value in ((present, value), (absent, None)):
            inside = (ranked.low[ranges] <= ranks[attribute]) & (
                ranks[attribute] <= ranked.high[ranges]
            )
            assert bool(inside.any()) is constraint.accepts(given_value)
            assert inside.sum() <= 1
