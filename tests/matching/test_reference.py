"""The reference engine: a second, independent reading of the language."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.matching.reference import ReferenceEngine, holds
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests import oracles
from tests.strategies import records, written_trees


@given(written=written_trees(), record=records())
def test_holds_agrees_with_the_oracle_of_the_language(
    written: tuple[str, Node], record: Record
) -> None:
    text, tree = written
    assert holds(parse(text), record) is oracles.holds(tree, record)
    assert holds(tree, record, negated=True) is oracles.holds(tree, record, negated=True)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("%", "", True),
        ("%%", "x", True),
        ("_%", "", False),
        ("%_", "ab", True),
        ("a%a", "a", False),
        ("a%a", "aa", True),
        ("%aab", "aaab", True),
        ("%a_b%", "xaab", True),
        ("a!", "a!", True),
    ],
)
def test_like_follows_all_positions(pattern: str, text: str, fits: bool) -> None:
    assert holds(parse(f"a like '{pattern}'"), {"a": text}) is fits


def test_engine_reads_the_source_and_not_the_normal_form() -> None:
    engine = ReferenceEngine()
    engine.add(0, Filter(parse_filter("a = 1").conjunctions, source="a = 2"))
    assert engine.match({"a": 2}) == [0]


def test_engine_reads_the_printed_form_where_there_is_no_source() -> None:
    engine = ReferenceEngine()
    engine.add(3, Filter(parse_filter("a = 1 or b like '%x%'").conjunctions))
    assert engine.match({"a": 1}) == [3]
    assert engine.match({"b": "axe"}) == [3]
    assert engine.match({"b": "a"}) == []


def test_engine_saves_nothing_and_loads_the_filters(tmp_path: Path) -> None:
    engine = ReferenceEngine()
    engine.save(tmp_path)
    assert list(tmp_path.iterdir()) == []
    engine.load(tmp_path, [(2, parse_filter("a = 1"))])
    assert engine.match({"a": 1}) == [2]


@example(slot=-1)
@given(slot=...)
def test_validate_refuses_negative_slots_only(slot: int) -> None:
    engine = ReferenceEngine()
    engine.add(slot, parse_filter("true"))
    if slot < 0:
        with pytest.raises(InvariantError):
            engine.validate()
    else:
        engine.validate()
