"""Counting the paths that XPEs accept, and the degree of imperfection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.merging import PathUniverse
from sapwood.covering.xpe import XPE
from sapwood.xml.dtd import read_dtd
from tests.covering.merging.worlds import LEVELS, accepts, small_dtd, xpe, xpes

PATHS = tuple(small_dtd().paths.up_to(LEVELS))
UNIVERSE = PathUniverse(small_dtd().paths, LEVELS)


@given(st.lists(xpes(), min_size=1, max_size=4))
def test_count_is_that_of_a_list_of_all_paths(known: list[XPE]) -> None:
    expected = sum(any(accepts(one, path) for one in known) for path in PATHS)
    assert UNIVERSE.count(known) == expected


@given(xpes(), st.lists(xpes(), min_size=1, max_size=4), st.sampled_from((0.0, 0.1, 0.5)))
def test_degree_is_the_share_that_no_member_accepts(
    merger: XPE, members: list[XPE], budget: float
) -> None:
    accepted = [path for path in PATHS if accepts(merger, path)]
    inside = [one for one in members if all(accepts(merger, p) for p in PATHS if accepts(one, p))]
    if not accepted or not inside:
        return
    missed = [path for path in accepted if not any(accepts(one, path) for one in inside)]
    degree = UNIVERSE.degree(merger, inside)
    assert degree == pytest.approx(len(missed) / len(accepted))
    assert UNIVERSE.is_within(budget, merger, inside) == (degree <= budget)
    assert UNIVERSE.degree(merger, [*inside, merger]) == 0.0


def test_degree_is_that_of_the_works_example() -> None:
    names = "|".join("abcde")
    flat = "".join(f"<!ELEMENT {name} EMPTY>" for name in "bde")
    dtd = read_dtd(
        f"<!ELEMENT r (p)><!ELEMENT p (q)><!ELEMENT q ({names})><!ELEMENT a EMPTY>"
        f"<!ELEMENT c EMPTY>{flat}".encode(),
        "r",
    )
    universe = PathUniverse(dtd.paths)
    members = [xpe("/r/*/q/d"), xpe("/r/*/q/e")]
    assert universe.degree(xpe("/r/*/q/*"), members) == pytest.approx(0.6)


def test_a_merger_that_accepts_nothing_is_perfect() -> None:
    assert UNIVERSE.degree(xpe("/x/*"), [xpe("/x/y")]) == 0.0
    assert UNIVERSE.is_within(0.0, xpe("/x/*"), [xpe("/x/y")])
