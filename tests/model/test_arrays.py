"""The algebra of filters with attributes of several values, by the letter of syntax trees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.language.parser import parse
from sapwood.matching.reference import holds_of_all
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication, Record
from tests import oracles
from tests.strategies import filter_texts, filters, many_valued, records_with_arrays


@given(wide=filters(), narrow=filters(), record=many_valued())
def test_what_covers_a_filter_accepts_what_it_accepts(
    wide: Filter, narrow: Filter, record: Record
) -> None:
    if wide.covers(narrow) and narrow.accepts(record):
        assert wide.accepts(record)


@given(one=filters(), other=filters(), record=many_valued())
def test_a_merge_accepts_what_either_accepts(one: Filter, other: Filter, record: Record) -> None:
    merged, perfect = one.merge(other)
    either = one.accepts(record) or other.accepts(record)
    assert merged.accepts(record) >= either
    if perfect:
        assert merged.accepts(record) == either


@given(one=filters(), other=filters(), record=many_valued())
def test_an_intersection_accepts_what_both_accept_by_one_row(
    one: Filter, other: Filter, record: Record
) -> None:
    rows = oracles.rows(record)
    by_one_row = any(one.accepts(row) and other.accepts(row) for row in rows)
    assert one.intersection(other).accepts(record) is by_one_row
    assert one.intersects(other) >= by_one_row


@given(text=filter_texts(), record=records_with_arrays())
def test_all_of_a_record_is_held_iff_every_row_is_accepted(
    text: str, record: dict[str, Any]
) -> None:
    published, wanted = Publication("p", record), parse_filter(text)
    held = all(oracles.holds(parse(text), row) for row in oracles.rows(published.record))
    assert wanted.holds_all_of(published) is held
    assert holds_of_all(parse(text), published.record) is held
    assert wanted.matches(published) >= held


@pytest.mark.parametrize(
    ("text", "record", "held"),
    [
        ("region = 'eu'", {"region": ["eu"]}, True),
        ("region = 'eu'", {"region": ["eu", "us"]}, False),
        ("region in ('eu', 'us')", {"region": ["eu", "us"]}, True),
        ("x < 5 and y = 1 or x >= 5", {"x": [1, 9], "y": 1}, True),
        ("x < 5 and y = 1 or x >= 5", {"x": [1, 9], "y": [1, 2]}, False),
        ("exists x", {"x": []}, False),
        ("x < 5000", {"x": [*range(2000)], "y": [*range(2000)]}, True),
        ("x < 5 or y >= 0", {"x": [*range(2000)], "y": [*range(2000)]}, True),
        ("x < 5 and y >= 0 or x >= 5", {"x": [*range(2000)], "y": [*range(2000)]}, True),
    ],
)
def test_what_is_granted_or_advertised_has_to_hold_all_values(
    text: str, record: dict[str, Any], held: bool
) -> None:
    assert parse_filter(text).holds_all_of(Publication("p", record)) is held
