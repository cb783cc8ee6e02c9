"""Pattern checks after the ranks have had their say."""

from __future__ import annotations

import numpy as np

from sapwood.matching.columnar.like_checks import LikePredicates, verify
from sapwood.model.like import Pattern
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made


def test_like_predicates_are_numbered_once() -> None:
    predicates = LikePredicates()
    for attribute, text in (("a", "%x%"), ("b", "%x%"), ("a", "%x%"), ("a", "_%")):
        predicates.number(attribute, Pattern.parse(text))
    assert len(predicates) == 3
    assert predicates.number("b", Pattern.parse("%x%")) == 1


def test_like_predicates_of_one_moment_stay_what_they_were() -> None:
    predicates = LikePredicates()
    assert predicates.known() == ()
    first = predicates.number("a", Pattern.parse("%x%"))
    known = predicates.known()
    assert known == (predicates.predicate(first),)
    assert predicates.known() is known
    predicates.number("b", Pattern.parse("%x%"))
    assert len(known) == 1
    assert len(predicates.known()) == 2


def test_like_predicates_are_restored_from_their_texts() -> None:
    predicates = LikePredicates()
    patterns = [Pattern.parse(r"%\%\_\\_%", "\\"), Pattern.parse("a%b"), Pattern.parse("%!%", "!")]
    for pattern in patterns:
        predicates.number("a", pattern)
    again = LikePredicates()
    again.restore(list(predicates.texts()))
    assert [again.number("a", pattern) for pattern in patterns] == [0, 1, 2]


def passing(texts: list[str], records: list[Record]) -> list[tuple[int, int]]:
    """Pairs of record and slot that pass, with those that literals leave in no doubt."""
    whole = made(texts)
    segment = whole.segment()
    found = whole.found(plain, segment, records)
    passes = verify(found, segment.annex, whole.predicates.known(), records)
    record = np.repeat(np.arange(len(records)), np.diff(found.unverified_offsets))[passes]
    slots = segment.slots_of(found.unverified[passes])
    sure = zip(np.repeat(np.arange(len(records)), np.diff(found.offsets)), found.slots, strict=True)
    return sorted([*zip(record.tolist(), slots.tolist(), strict=True), *sure])


def test_required_and_forbidden_patterns_decide() -> None:
    texts = ["a like '%x%'", "a not like '%x%'", "a like '%x%' and a not like '%y%'"]
    assert passing(texts, [{"a": "x"}, {"a": "xy"}, {"a": "z"}]) == [
        (0, 0),
        (0, 2),
        (1, 0),
        (2, 1),
    ]


def test_values_that_are_no_texts_pass() -> None:
    texts = ["a like '%x%' or a > 5", "a not like '%x%' or a is null"]
    assert passing(texts, [{"a": 6}, {}, {"a": "x"}, {"a": "y"}]) == [
        (0, 0),
        (1, 1),
        (2, 0),
        (3, 1),
    ]


def test_patterns_on_several_attributes_must_all_pass() -> None:
    assert passing(
        ["a like '%x%' and b like '%y%'"], [{"a": "x", "b": "y"}, {"a": "x", "b": ""}]
    ) == [(0, 0)]
