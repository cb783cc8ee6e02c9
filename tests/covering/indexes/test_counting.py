"""The covering index `counting` finds what `Filter.covers` finds."""

from __future__ import annotations

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.covering.indexes.counting import CountingCovering
from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InvariantError
from tests.covering.indexes.laws import IndexMachine, check_all_pairs


def test_index_answers_for_every_shape() -> None:
    check_all_pairs(CountingCovering())


def test_index_never_reports_the_filter_that_is_asked_about() -> None:
    index = CountingCovering()
    index.add(0, parse_filter("a < 5"))
    index.add(1, parse_filter("a < 9"))
    assert index.cov(parse_filter("a < 5"), 2) == [1]
    assert index.covered(parse_filter("a < 9")) == [0]
    index.remove(1)
    assert index.cov(parse_filter("a < 5"), 2) == []


def test_validate_finds_a_need_that_is_wrong() -> None:
    index = CountingCovering()
    index.add(0, parse_filter("a < 5 and b < 5"))
    index._needs[0] = 1
    with pytest.raises(InvariantError, match="another number of constraints"):
        index.validate()


def test_validate_finds_a_constraint_that_is_missing() -> None:
    index = CountingCovering()
    index.add(0, parse_filter("a < 5 and b < 5"))
    index._attributes["a"].remove(parse_filter("a < 5").conjunctions[0].constraint("a"), 0)
    with pytest.raises(InvariantError, match="constraints are not those"):
        index.validate()


class Machine(IndexMachine):
    def index(self) -> CoveringIndex:
        return CountingCovering()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)
