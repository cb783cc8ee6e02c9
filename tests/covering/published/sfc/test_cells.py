"""Boxes as cells: covering as dominance (Shen T-10)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.cells import cell_of

BITS = 4
SPANS = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 15)).map(lambda ends: (min(ends), max(ends))),
    min_size=2,
    max_size=2,
)


def test_cell_counts_low_ends_from_the_top() -> None:
    assert cell_of([(0, 15), (3, 5)], BITS) == (15, 15, 12, 5)


def test_cell_of_an_axis_without_values_is_the_lowest() -> None:
    assert cell_of([None, (3, 5)], BITS) == (0, 0, 12, 5)


@given(SPANS, SPANS)
def test_cell_dominates_exactly_if_every_span_holds_the_other(
    upper: list[tuple[int, int]], lower: list[tuple[int, int]]
) -> None:
    holds = all(a[0] <= b[0] and b[1] <= a[1] for a, b in zip(upper, lower, strict=True))
    pairs = zip(cell_of(upper, BITS), cell_of(lower, BITS), strict=True)
    assert all(a >= b for a, b in pairs) == holds
