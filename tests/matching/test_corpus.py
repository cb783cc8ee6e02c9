"""The corpus: large enough, readable, and complete in what it claims to cover."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood import parse_filter
from sapwood.language.parser import parse
from sapwood.matching.corpus import Case, cases
from sapwood.matching.reference import holds
from sapwood.model.publication import flatten
from tests import oracles

CASES = tuple(cases())


def test_corpus_has_hundreds_of_cases_on_every_topic() -> None:
    topics = Counter(case.topic for case in CASES)
    assert len(CASES) > 1000
    assert len(topics) == 13
    assert min(topics.values()) >= 40


def test_corpus_asks_nothing_twice() -> None:
    asked = Counter((case.filter, repr(case.record)) for case in CASES)
    assert [question for question, times in asked.items() if times > 1] == []


def test_corpus_gives_a_reason_for_every_filter() -> None:
    assert all(case.why and case.topic for case in CASES)


@pytest.mark.parametrize(
    "piece",
    [
        *("=", "<>", "!=", "<=", ">=", " < ", " > ", "between", "not between", " in (", "not in"),
        *("like", "not like", "escape", "exists", "is null", "is not null", "not (", " or "),
        *(" and ", "true", "false", '"'),
    ],
)
def test_corpus_uses_every_piece_of_the_language(piece: str) -> None:
    outcomes = {case.accepted for case in CASES if piece in case.filter}
    assert outcomes == {True, False}


@pytest.mark.parametrize("text", sorted({case.filter for case in CASES}))
def test_corpus_agrees_with_every_evaluation_of_the_language(text: str) -> None:
    tree, parsed = parse(text), parse_filter(text)
    for case in CASES:
        if case.filter == text:
            record = flatten(case.record).record
            assert holds(tree, record) is case.accepted, case
            assert oracles.holds(tree, record) is case.accepted, case
            assert parsed.accepts(record) is case.accepted, case


def test_case_reads_as_a_sentence() -> None:
    case = Case("order", "a < 1", {"a": 0}, accepted=True, why="below")
    assert str(case) == "order: 'a < 1' accepts {'a': 0} (below)"
