"""Subscriptions around observed records: each meets one, and all kinds of constraints occur."""

from __future__ import annotations

import pickle

import pytest

from sapwood.errors import InvalidValueError
from sapwood.language import parse_filter
from sapwood.model.publication import Value
from sapwood_lab.workload.records.observed import PREDICATES_MAX, PREDICATES_MIN, observed

RECORDS: list[dict[str, Value]] = [
    {"name": f"n{i % 7}{'x' * (i % 3)}", "level": i / 4, "whole": 2**53 + i, "on": i % 2 == 0}
    for i in range(40)
]
RECORDS += [{"level": 3, "name": ""}, {"on": False}]
SOURCE = observed("seen", "what was seen", RECORDS)
FILTERS = [s.record_filter for s in SOURCE.subscriptions(600, 3)]


def test_every_subscription_accepts_a_record_that_was_observed() -> None:
    for wanted in FILTERS:
        assert any(wanted.accepts(record) for record in RECORDS), wanted


def test_filters_are_single_conjunctions_in_normal_form() -> None:
    for wanted in FILTERS:
        assert len(wanted.conjunctions) == 1
        assert parse_filter(str(wanted)) == wanted
    widths = {len(wanted.attributes) for wanted in FILTERS}
    # One record has a single attribute, and every other four at the most.
    assert widths == {1, 2, PREDICATES_MIN, min(PREDICATES_MAX, 4)}


@pytest.mark.parametrize(
    "kind", [" in (", " like 'n", "name = ", " between ", "level >= ", "level <= ", "on = "]
)
def test_filters_have_constraints_of_every_kind(kind: str) -> None:
    assert any(kind in str(wanted) for wanted in FILTERS)


def test_publications_are_the_records_all_of_them_in_time() -> None:
    published = [p.record for p in SOURCE.publications(1000, 3)]
    assert all(record in RECORDS for record in published)
    assert all(record in published for record in RECORDS)


def test_a_stream_is_the_beginning_of_a_longer_one_and_travels_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(SOURCE))
    assert [s.record_filter for s in again.subscriptions(300, 3)] == FILTERS[:300]
    assert [s.record_filter for s in SOURCE.subscriptions(600, 4)] != FILTERS


@pytest.mark.parametrize("records", [[], [{"a": 1}, {}]])
def test_records_without_attributes_are_refused(records: list[dict[str, Value]]) -> None:
    with pytest.raises(InvalidValueError, match="each with an attribute"):
        observed("none", "", records)
