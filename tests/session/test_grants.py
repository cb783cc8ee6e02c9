"""Grants: what is narrowed accepts what was asked and is granted, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.matching.engine_names import Engines
from sapwood.model.filter import EVERYTHING, NOTHING, Filter
from sapwood.model.publication import Publication, Record
from sapwood.session.grants import Gate, Grant, fields_of
from tests.strategies import filters, records

EU = parse_filter("region = 'eu'")
ORDERS = parse_xpath("//order")


@given(filters(), filters(), records())
def test_the_intersection_accepts_what_both_accept(
    one: Filter, other: Filter, record: Record
) -> None:
    both = one.intersection(other)
    assert both.matches(record) == (one.matches(record) and other.matches(record))


@given(filters(), filters(), records())
def test_nothing_is_left_of_a_filter_but_what_is_granted(
    asked: Filter,
    granted: Filter,
    record: Record,
) -> None:
    """Planted: taking the filter as it is where the two only intersect."""
    grant = Grant(subscribe=granted)
    try:
        left = grant.narrowed(asked)
    except InputError:
        assert not (asked.matches(record) and granted.matches(record))
    else:
        assert isinstance(left, Filter)
        assert grant.covers(left)
        assert left.matches(record) == (asked.matches(record) and granted.matches(record))


@given(st.lists(filters(), min_size=1, max_size=3), records())
def test_grants_add_up(some: list[Filter], record: Record) -> None:
    together = Grant()
    for one in some:
        together |= Grant(subscribe=one, publish=one)
    assert together.subscribe.matches(record) == any(one.matches(record) for one in some)
    assert together.publish == together.subscribe


def test_documents_are_granted_as_wholes() -> None:
    grant = Grant(subscribe_documents=(ORDERS,))
    within = parse_xpath("//order[item]")
    assert grant.narrowed(within) is within
    with pytest.raises(InputError, match="within //order"):
        grant.narrowed(parse_xpath("//*"))
    with pytest.raises(InputError, match="no documents"):
        Grant(subscribe=EVERYTHING).narrowed(within)
    with pytest.raises(InputError, match="no records"):
        grant.narrowed(EU)


def test_a_filter_outside_is_refused_with_what_is_granted() -> None:
    with pytest.raises(InputError, match="region = 'eu'"):
        Grant(subscribe=EU).narrowed(parse_filter("region = 'us'"))


def test_a_filter_that_is_too_long_together_is_refused_with_the_remedy() -> None:
    many = parse_filter(" or ".join(f"(a{i} = 1 and b{i} = 2)" for i in range(60)))
    with pytest.raises(InputError, match="split it"):
        Grant(subscribe=many).narrowed(many)


def test_names_of_durable_subscriptions_fit_a_pattern() -> None:
    grant = Grant(durable=("ann-*", "all"))
    assert [grant.names(one) for one in ("ann-1", "all", "", "ann", "all-1", "xann-1")] == [
        *(True, True, True),
        *(False, False, False),
    ]


@given(st.lists(records(), max_size=5), filters())
def test_what_may_not_be_published_is_found(bodies: list[Record], granted: Filter) -> None:
    gate = Gate(Grant(publish=granted), Engines())
    publications = [Publication(f"p{place}", one) for place, one in enumerate(bodies)]
    assert list(gate.refused(publications)) == [
        place for place, one in enumerate(bodies) if not granted.matches(one)
    ]


def test_each_part_of_a_publication_has_to_be_granted() -> None:
    gate = Gate(Grant(publish=EVERYTHING, publish_documents=(ORDERS,)), Engines())
    publications = [
        Publication("p0", {"a": 1}),
        Publication("p1", {"a": 1}, document=b"<order/>"),
        Publication("p2", None, document=b"<secret/>"),
        Publication("p3", {"a": 1}, document=b"<secret/>"),
    ]
    assert list(gate.refused(publications)) == [2, 3]
    assert list(Gate(Grant(publish=NOTHING), Engines()).refused(publications)) == [0, 1, 2, 3]


def test_a_tag_tells_grants_apart() -> None:
    one, same, other = (Gate(grant, Engines()) for grant in (Grant(EU), Grant(EU), Grant()))
    assert one.tag == same.tag != other.tag
    assert fields_of(Grant(EU))["subscribe"] == "region = 'eu'"
