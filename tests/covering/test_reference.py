"""The covering index `reference` finds what `Filter.covers` finds."""

from __future__ import annotations

from hypothesis import settings

from sapwood import parse_filter
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.model.filter import Filter
from tests.covering.laws import IndexMachine, check_all_pairs
from tests.examples import examples


def test_index_answers_for_every_shape() -> None:
    check_all_pairs(ReferenceCovering())


def test_index_never_reports_the_filter_that_is_asked_about() -> None:
    index = ReferenceCovering()
    index.add(0, parse_filter("a < 5"))
    index.add(1, parse_filter("a < 9"))
    assert index.cov(parse_filter("a < 5"), 2) == [1]
    assert index.covered(parse_filter("a < 9")) == [0]
    index.remove(1)
    assert index.cov(parse_filter("a < 5"), 2) == []


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return ReferenceCovering()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)
