"""Marks from one document to the next."""

from __future__ import annotations

import pytest

from sapwood.matching.documents.automaton import search
from sapwood.matching.documents.automaton.search import MarkBook


def test_rounds_and_node_marks_never_repeat() -> None:
    book = MarkBook()
    one = book.begin(slots=100, targets=3, nodes=5, conditions=2, states=4)
    other = book.begin(slots=200, targets=4, nodes=6, conditions=2, states=1)
    assert other.round == one.round + 1
    assert other.first_node_mark == one.first_node_mark + 4
    assert [len(column) for column in other[:6]] == [4, 4, 6, 6, 2, 2]


def test_marks_begin_anew_before_their_numbers_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_ROUND_MAX", 10)
    book = MarkBook()
    for _ in range(30):
        marks = book.begin(slots=1, targets=1, nodes=1, conditions=1, states=3)
        assert marks.first_node_mark + 3 <= 10
        assert marks.targets[0] != marks.round
        assert marks.nodes[0] < marks.first_node_mark
        marks.targets[0] = marks.round
        marks.nodes[0] = marks.first_node_mark + 2
