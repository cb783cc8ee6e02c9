"""The costs of filters: by the way each is found, the same whichever other filters there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.matching.columnar.explaining import lookups
from sapwood.matching.costs import (
    COMPARED_NS,
    PRICES,
    TEXT_NS,
    VALUE_SHARE,
    cost_of,
    parts_of,
    way_of,
)
from sapwood.matching.lookups import LookupKind
from sapwood.model.filter import NOTHING

ASCENDING = (
    "a = 1",
    "a = 1 and b > 2",
    "a in (1, 2, 3)",
    "name like '%abc%'",
    "b > 1 and b < 5",
    "b > 1 and c > 1",
    "name like '%ab%'",
    "b > 1",
    "exists b",
    "name like '%abc%abc%' or name like '%abcd_efgh%'",
    "name not like '%ab%'",
    "name not like '%a_b%'",
)
"""Filters, each dearer than the one before."""


def test_what_is_found_by_more_costs_less() -> None:
    costs = [cost_of(parse_filter(text)).ns for text in ASCENDING]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ("//a[@x = 'v']", "//a[@x > 1]"),
        ("//b", "//b[@x > 1]"),
        ("//b[@x > 1]", "//*[@x > 1]"),
        ("//*[@x > 1]", "//*[@x > 1 and .//c]"),
    ],
)
def test_a_pattern_costs_by_the_elements_at_which_it_is_checked(cheaper: str, dearer: str) -> None:
    assert cost_of(parse_xpath(cheaper)).ns < cost_of(parse_xpath(dearer)).ns


_PREDICATES = st.sampled_from(
    ("a = 1", "b > 2", "b < 9", "c is null", "exists d", "name like 'x%'", "name like '%x%'")
)
_CONJUNCTIONS = st.lists(_PREDICATES, min_size=1, max_size=4, unique=True).map(" and ".join)


@given(_CONJUNCTIONS, _CONJUNCTIONS)
def test_a_filter_costs_what_its_conjunctions_do(one: str, other: str) -> None:
    both = parse_filter(f"({one}) or ({other})")
    cost = cost_of(both)
    assert cost.ns == pytest.approx(sum(part.ns for part in parts_of(both)))
    dearest = cost.dearest
    assert (dearest is None) == (not both.conjunctions)
    assert dearest is None or all(part.ns <= dearest.ns for part in parts_of(both))


@given(_CONJUNCTIONS)
def test_a_value_beside_a_filter_adds_a_comparison_at_most(text: str) -> None:
    asked = parse_filter(text)
    with_value = parse_filter(f"({text}) and e = 1")
    # A literal decides a pattern by itself; with a value the pattern is tried on what has that.
    spared = TEXT_NS * any(part.way is LookupKind.LITERAL for part in parts_of(asked))
    compared = len(asked.conjunctions) * VALUE_SHARE * (COMPARED_NS + spared)
    assert cost_of(with_value).ns <= cost_of(asked).ns + compared


@pytest.mark.parametrize(
    ("text", "way", "is_tried"),
    [
        ("name like '%abc'", LookupKind.SUFFIX, False),
        ("name like '%abc%'", LookupKind.LITERAL, False),
        ("name like '%abc%abd%'", LookupKind.LITERAL, True),
        ("name like '%abc' and name like '%abd%'", LookupKind.LITERAL, False),
        ("name like '%abcd%efg%' and name like '%abd%'", LookupKind.LITERAL, True),
        ("name not like '%abc%'", LookupKind.PRESENCE, True),
        ("name not like '%abc'", LookupKind.PRESENCE, False),
        ("name is null or name like '%abc%'", LookupKind.SCAN, True),
        ("lower(name) = 'abc'", LookupKind.HASH, False),
        ("lower(name) like '%abc%'", LookupKind.LITERAL, False),
        ("integer(name) < 5", LookupKind.INTERVAL, False),
        ("e = 1 and name like '%abc'", LookupKind.HASH, False),
        ("e = 1 and name like '%abc%'", LookupKind.LITERAL, False),
        ("e = 1 and name like '%a%'", LookupKind.HASH, True),
    ],
)
def test_texts_are_found_as_the_engine_finds_them(
    text: str, way: LookupKind, is_tried: bool
) -> None:
    asked = parse_filter(text)
    (part,) = parts_of(asked)
    (lookup,) = lookups(asked)
    assert part.way is way is lookup.way
    assert bool(part.tried) is is_tried is bool(lookup.patterns)
    assert (part.ns >= VALUE_SHARE * TEXT_NS) >= (is_tried and way is not LookupKind.LITERAL)


@given(_CONJUNCTIONS)
def test_the_way_is_one_that_the_engine_takes(text: str) -> None:
    """The engine scans where the model says so, and nowhere else."""
    asked = parse_filter(text)
    ways = [part.way is LookupKind.SCAN for part in parts_of(asked)]
    assert ways == [one.way is LookupKind.SCAN for one in lookups(asked)]


def test_what_accepts_nothing_costs_nothing() -> None:
    assert cost_of(NOTHING).ns == 0.0
    assert cost_of(NOTHING).dearest is None
    assert cost_of(NOTHING).remedy() == "it asks for nothing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name like '%ab%'", "most of it is name like '%ab%', which many texts have in them: ask"),
        (
            "name like '%a_b%'",
            "most of it is name like '%a_b%', tried on each text: ask for a value",
        ),
        ("exists b", "most of it is exists b, which nearly every publication meets"),
        ("b is null", "most of it is b is null, which nearly every publication meets"),
    ],
)
def test_a_remedy_names_the_predicate(text: str, said: str) -> None:
    assert cost_of(parse_filter(text)).remedy().startswith(said)


def test_a_remedy_names_the_pattern() -> None:
    assert "most of it is //*[@x>1]: name elements" in cost_of(parse_xpath("//*[@x > 1]")).remedy()


def test_what_has_no_price_counts_as_presence() -> None:
    for way in LookupKind:
        assert PRICES.get(way, PRICES[LookupKind.PRESENCE]) > 0


def test_values_of_any_type_are_looked_up_alike() -> None:
    for text in ("a = 'x'", "a = 1", "a = true", "a = 'x' or a = 1"):
        ((_, constraint),) = parse_filter(text).conjunctions[0].constraints
        assert way_of(constraint)[0] is LookupKind.HASH
