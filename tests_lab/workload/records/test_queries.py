"""Queries as filters."""

from __future__ import annotations

from itertools import islice

from sapwood.model.publication import Publication
from sapwood_lab.workload.records.queries import (
    ATTRIBUTE,
    SHARE_MAX,
    QueryLog,
    events,
)

LOG = QueryLog(users=5, each=3)


def test_queries_are_different_ones_and_a_longer_log_begins_as_a_shorter_one() -> None:
    some = LOG.queries(60, 1)
    assert len({one.text for one in some}) == 60
    assert LOG.queries(20, 1) == some[:20]
    assert LOG.queries(60, 2) != some
    assert {one.user for one in some} == {*range(5)}
    assert all(0 < one.share <= SHARE_MAX for one in some)


def test_an_event_matches_the_queries_that_are_in_it_and_those_within_them() -> None:
    some = LOG.queries(300, 1)
    drawn = [one[ATTRIBUTE] for one in islice(events(some, 200, 1), 200)]
    assert [one[ATTRIBUTE] for one in events(some, 200, 1)] == drawn
    text = max(drawn, key=len)
    assert text
    event = Publication("e", {ATTRIBUTE: text})
    assert [one for one in some if one.filter.matches(event)] == [
        one for one in some if one.text in text
    ]


def test_frequent_words_are_in_more_events_than_rare_ones() -> None:
    ordered = sorted(LOG.queries(300, 1), key=lambda one: max(one.text.split()))
    assert ordered[0].share > ordered[-1].share
    hits = [sum(one.share for one in part) for part in (ordered[:100], ordered[-100:])]
    assert hits[0] > hits[1]
