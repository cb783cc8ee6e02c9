"""A tree to a union of boxes."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import LimitError
from sapwood.language import parse_filter
from sapwood.language.parser import parse
from sapwood.language.rewrites.distribution import distribute
from sapwood.language.rewrites.negation import push_negation
from sapwood.language.syntax import Node
from sapwood.limits import CONJUNCTIONS_MAX, LIKE_PATTERNS_MAX
from sapwood.model.publication import Record
from tests import oracles
from tests.strategies import coarse_trees, records


@given(tree=coarse_trees(), record=records())
def test_distribute_keeps_the_meaning(tree: Node, record: Record) -> None:
    boxes = list(distribute(push_negation(tree)))
    assert any(box.accepts(record) for box in boxes) == oracles.holds(tree, record)


def test_distribute_drops_contradictions() -> None:
    assert [str(b) for b in distribute(parse("(a = 1 or b = 1) and a = 2"))] == ["a = 2 and b = 1"]
    assert list(distribute(parse("a > 1 and a < 1"))) == []


def test_distribute_stops_when_too_many_boxes_are_needed() -> None:
    text = " or ".join(f"a{n} = 1" for n in range(CONJUNCTIONS_MAX + 1))
    with pytest.raises(LimitError, match="CONJUNCTIONS_MAX"):
        distribute(parse(text))


def test_patterns_on_one_attribute_are_limited_and_counted_for_each() -> None:
    def patterns(name: str, count: int) -> str:
        return " and ".join(f"{name} like '%{n}%'" for n in range(count))

    parse_filter(f"{patterns('a', LIKE_PATTERNS_MAX)} and {patterns('b', LIKE_PATTERNS_MAX)}")
    with pytest.raises(LimitError, match="LIKE_PATTERNS_MAX"):
        parse_filter(patterns("a", LIKE_PATTERNS_MAX + 1))
