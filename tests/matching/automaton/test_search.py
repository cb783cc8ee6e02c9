"""Marks from one document to the next."""

from __future__ import annotations

import pytest

from sapwood.matching.automaton import search
from sapwood.matching.automaton.search import MarkBook, Marks, Sizes


def begun(book: MarkBook, count: int, states: int) -> Marks:
    """The marks of a new round, for so many of everything."""
    return book.begin(Sizes(count, count, count, count, count, states))


def test_rounds_and_marks_never_repeat() -> None:
    book = MarkBook()
    one = begun(book, 100, states=4)
    other = begun(book, 200, states=1)
    assert other.round == one.round + 1
    assert other.first_mark == one.first_mark + 4
    assert len(other.targets) == len(other.nodes) == len(other.equalities) == len(other.rows) == 200
    assert len(other.words) == len(other.reached) == len(other.conditions) == 4


def test_marks_begin_anew_before_their_numbers_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_ROUND_MAX", 10)
    book = MarkBook()
    for _ in range(30):
        marks = begun(book, 1, states=3)
        assert marks.first_mark + 3 <= 10
        assert marks.targets[0] != marks.round
        assert max(marks.nodes[0], marks.equalities[0]) < marks.first_mark
        marks.targets[0] = marks.round
        marks.nodes[0] = marks.equalities[0] = marks.first_mark + 2
