"""Why records match filters or do not: laws against the oracle, and what is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sapwood.language import parse_filter
from sapwood.language.parser import parse
from sapwood.model.explanation import SHOWN_CHARS_MAX, Explanation, explained
from sapwood.model.publication import Publication, Record
from tests import oracles
from tests.strategies import filter_texts, records


def explanation(filter: str, record: dict[str, Any]) -> Explanation:
    return explained(parse_filter(filter), Publication("p", record))


@given(text=filter_texts(), record=records())
def test_an_explanation_says_yes_exactly_where_the_syntax_tree_holds(
    text: str, record: Record
) -> None:
    found = explanation(text, dict(record))
    assert found.matches == oracles.holds(parse(text), record)
    assert all(bool(way.failures) != found.matches for way in found.ways)
    assert len(found.ways) == 1 or not found.matches


@given(text=filter_texts(), record=records())
def test_each_way_that_is_named_and_no_predicate_that_is_named_decides_as_the_oracle_does(
    text: str, record: Record
) -> None:
    for way in explanation(text, dict(record)).ways:
        assert oracles.holds(parse(way.text), record) is not bool(way.failures)
        for failure in way.failures:
            assert not oracles.holds(parse(failure.predicate), record)


@given(text=filter_texts(), record=records())
def test_all_failing_predicates_are_named_so_that_those_without_them_hold(
    text: str, record: Record
) -> None:
    by_text = {str(one): one for one in parse_filter(text).conjunctions}
    for way in explanation(text, dict(record)).ways:
        rest = by_text[way.text]
        for failure in way.failures:
            for name in parse_filter(failure.predicate).attributes:
                rest = rest.without(name)
        assert oracles.holds(parse(str(rest)), record)


def test_the_conjunction_that_comes_closest_is_first() -> None:
    found = explanation("a = 1 and b = 1 or d = 1 or b = 2 and c = 3", {"b": 2})
    assert [way.text for way in found.ways] == ["b = 2 and c = 3", "d = 1", "a = 1 and b = 1"]
    assert [len(way.failures) for way in found.ways] == [1, 1, 2]


@pytest.mark.parametrize(
    ("filter", "record", "found"),
    [
        ("price > 10", {"price": 5}, "5"),
        ("price > 10", {}, "absent"),
        ("price > 10", {"price": None}, "absent"),
        ("price > 10", {"price": "12"}, "'12', a text: only numbers can satisfy this"),
        ("flag = 'a'", {"flag": True}, "true, a boolean: only texts can satisfy this"),
        (
            "a = 1 or a = 'x'",
            {"a": True},
            "true, a boolean: only numbers or texts can satisfy this",
        ),
        ("note is null", {"note": 1}, "1: it must be absent"),
        ("tags = 'a'", {"tags": []}, "an array without an element that filters see"),
        ("a.b.c = 1", {"a": {"b.c": [None]}}, "an array without an element that filters see"),
        ("tags = 'a'", {"tags": ["b", "c"]}, "none of 2 elements: 'b', 'c'"),
        (
            "tags = 'a'",
            {"tags": [1, True]},
            "none of 2 elements: 1, true: only texts can satisfy this",
        ),
        ("tags is null", {"tags": [1, 2]}, "1, 2: it must be absent"),
        ("a.b = 1", {"a": {"b": {"c": 1}}}, "an object: filters see its members, by dotted names"),
        ("a.b = 1", {"a": {"c": 1}}, "absent"),
        ("a.b = 1", {"a": 1}, "absent"),
    ],
)
def test_what_was_there_is_said(filter: str, record: dict[str, Any], found: str) -> None:
    (way,) = explanation(filter, record).ways
    assert [failure.found for failure in way.failures] == [found]
    assert way.failures[0].place is None


def test_of_a_long_text_the_beginning_is_shown() -> None:
    (way,) = explanation("a = 'x'", {"a": "y" * 1000}).ways
    assert way.failures[0].found == "'" + "y" * (SHOWN_CHARS_MAX - 4) + "..."


def test_a_publication_without_a_record_meets_no_filter_and_that_is_said() -> None:
    document = Publication("p", document=b"<a/>")
    for text in ("true", "a is null", "a = 1"):
        asked = parse_filter(text)
        found = explained(asked, document)
        assert (found.matches, found.ways) == (asked.matches(document), ())
        assert found.note == "the publication has no record, and the filter asks for attributes"
