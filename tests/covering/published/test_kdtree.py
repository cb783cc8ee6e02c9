"""The covering index `kdtree` finds what `Filter.covers` finds."""

from __future__ import annotations

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.kdtree import KdTreeCovering
from sapwood.errors import InvariantError
from sapwood.model.filter import Filter
from tests.covering.laws import IndexMachine, check_all_pairs
from tests.examples import examples


def test_index_answers_for_every_shape() -> None:
    check_all_pairs(KdTreeCovering())


def test_index_never_reports_the_filter_that_is_asked_about() -> None:
    index = KdTreeCovering()
    index.add(0, parse_filter("a < 5"))
    index.add(1, parse_filter("a < 9"))
    assert index.cov(parse_filter("a < 5"), 2) == [1]
    assert index.covered(parse_filter("a < 9")) == [0]
    index.remove(1)
    assert index.cov(parse_filter("a < 5"), 2) == []


def test_validate_finds_a_box_that_is_missing_from_its_tree() -> None:
    index = KdTreeCovering()
    index.add(0, parse_filter("a < 5"))
    index.add(1, parse_filter("a < 9"))
    index._trees["a",].remove(0)
    with pytest.raises(InvariantError, match="do not hold the boxes"):
        index.validate()


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return KdTreeCovering()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)
