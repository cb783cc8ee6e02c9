"""The covering index `counting` finds what `Filter.covers` finds."""

from __future__ import annotations

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.counting import CountingCovering
from sapwood.errors import InvariantError
from sapwood.model.filter import Filter
from tests.covering.laws import IndexMachine, check_all_pairs
from tests.examples import examples


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


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a < 5 and b < 5", "intervals are not those"),
        ("a = 5 and b < 5", "constraints are not those"),
        ("a in (5, 7) and b < 5", "constraints are not those"),
    ],
)
def test_validate_finds_a_constraint_that_is_missing(text: str, complaint: str) -> None:
    index = CountingCovering()
    wanted = parse_filter(text)
    index.add(0, wanted)
    index._attributes["a"].remove(wanted.conjunctions[0].constraint("a"), 0)
    with pytest.raises(InvariantError, match=complaint):
        index.validate()


def test_validate_finds_intervals_out_of_order() -> None:
    index = CountingCovering()
    for key, text in enumerate(("a between 1 and 5", "a between 2 and 5")):
        index.add(key, parse_filter(text))
    spans = index._attributes["a"]._spans
    for column in (spans._lows, spans._highs, spans._keys):
        column[:2] = column[1::-1].copy()
    with pytest.raises(InvariantError, match="not in order"):
        index.validate()


def test_attributes_without_constraints_are_forgotten() -> None:
    index = CountingCovering()
    texts = ("a < 5 and b = 1", "a in (1, 3)", "a < 5", "true", "a = 1 or b = 1")
    for key, text in enumerate(texts):
        index.add(key, parse_filter(text))
    assert set(index._attributes) == {"a", "b"}
    for key in range(len(texts)):
        index.remove(key)
        index.validate()
    assert not index._attributes


def test_numbers_that_differ_by_less_than_a_float_can_tell_are_told_apart() -> None:
    index = CountingCovering()
    for key in range(4):
        index.add(key, parse_filter(f"a between {2**53 + key} and {2**53 + 40}"))
    wanted = parse_filter(f"a between {2**53 + 1} and {2**53 + 40} and b = 1")
    assert index.cov(wanted, 9) == [0, 1]
    assert index.covered(parse_filter(f"a >= {2**53 + 2}")) == [2, 3]


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return CountingCovering()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)
