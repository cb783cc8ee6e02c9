"""Covers among what is advertised: a scan while it is little, and an index of interests then."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.advertised import AdvertisedIndex
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from tests.covering.laws import IndexMachine
from tests.examples import examples

FILTERS = tuple(map(parse_filter, ("true", "x > 1", "x > 2", "x > 2 and y = 1", "y = 1")))
PATTERNS = tuple(map(parse_xpath, ("//a", "/a", "/a/b", "//a//b")))
PATHS = tuple(map(parse_advertisement, ("/a(/b)+", "/a/b", "/a/b/b", "/*/b", "/a|/a/b")))
CONTENTS: tuple[AdvertisedContent, ...] = (*FILTERS, *PATTERNS, *PATHS)


@given(
    few=st.integers(0, 9),
    steps=st.lists(st.integers(0, len(CONTENTS) - 1), max_size=30),
)
@settings(max_examples=examples(200))
def test_index_reports_what_covers_finds_wherever_it_holds_it(few: int, steps: list[int]) -> None:
    """Each step adds what is not there, and removes what is."""
    index, held = AdvertisedIndex(few), dict[int, AdvertisedContent]()
    for step in steps:
        if step in held:
            del held[step]
            index.remove(step)
        else:
            held[step] = CONTENTS[step]
            index.add(step, CONTENTS[step])
        index.validate()
        assert len(index) == len(held)
    for asked in CONTENTS:
        wide = {key for key, one in held.items() if one != asked and one.covers(asked)}
        narrow = {key for key, one in held.items() if one != asked and asked.covers(one)}
        assert set(index.cov(asked, 99)) == wide
        assert set(index.covered(asked)) == narrow
        first = index.cov(asked, 1)
        assert len(first) == min(1, len(wide))
        assert set(first) <= wide


def test_index_holds_paths_where_it_looks_for_them_when_there_is_much() -> None:
    index = AdvertisedIndex(2)
    for key, one in enumerate((FILTERS[1], PATHS[0], FILTERS[2], PATTERNS[0], PATHS[1])):
        index.add(key, one)
    assert index.cov(PATHS[1], 9) == [1]
    assert index.covered(PATHS[0]) == [4]
    assert index.cov(FILTERS[2], 9) == [0]
    assert index.covered(PATTERNS[0]) == []
    index.validate()


def test_an_interest_that_nobody_would_find_is_noticed() -> None:
    index = AdvertisedIndex(0)
    index.add(0, FILTERS[0])
    index._scanned[1] = FILTERS[1]
    with pytest.raises(InvariantError, match="not in the index of interests"):
        index.validate()


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return AdvertisedIndex(3)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)


def test_a_scan_is_what_the_reference_is() -> None:
    index, reference = AdvertisedIndex(), ReferenceCovering()
    for key, one in enumerate(CONTENTS):
        index.add(key, one)
        reference.add(key, one)
    for one in CONTENTS:
        assert index.cov(one, 2) == reference.cov(one, 2)
        assert index.covered(one) == reference.covered(one)
