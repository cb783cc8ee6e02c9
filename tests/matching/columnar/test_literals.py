"""Literals of patterns, and the automata that find them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.columns import CHECKED, Columns
from sapwood.matching.columnar.literals import BYTES_MAX, LikePredicate, Literal, literal_of
from sapwood.model.like import Pattern
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made


def predicate_of(text: str) -> LikePredicate:
    (conjunction,) = parse_filter(text).conjunctions
    ((name, constraint),) = conjunction.constraints
    (test,) = constraint.strings.required
    return name, test


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("a like '%err%'", Literal("a", False, b"err", True)),
        ("a like '%err_r%'", Literal("a", False, b"err", False)),
        ("a like 'x%err%'", Literal("a", False, b"err", False)),
        ("a like '%é%'", Literal("a", False, "é".encode(), True)),
        ("lower(a) like '%err%'", Literal("a", True, b"err", True)),
        ("lower(a) like '%err%or'", Literal("a", True, b"err", False)),
        (f"a like '%{'x' * 300}%'", Literal("a", False, b"x" * BYTES_MAX, False)),
        ("lower(a) = 'ibm'", None),
        ("integer(a) = 5", None),
        ("a like '_'", None),
        ("a like '%_'", None),
    ],
)
def test_longest_run_of_characters_is_the_literal(text: str, literal: Literal | None) -> None:
    assert literal_of(predicate_of(text)) == literal


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "é", "%", "_"]), max_size=8).map("".join),
    text=st.text("abé", max_size=8),
)
def test_what_fits_has_the_literals_in_their_order(pattern: str, text: str) -> None:
    read = Pattern.parse(pattern)
    if read.matches(text):
        at = 0
        for literal in read.literals:
            at = text.index(literal, at) + len(literal)
    if read.is_infix:
        (only,) = read.literals
        assert read.matches(text) == (only in text)
    if read.is_suffix:
        assert read.matches(text) == text.endswith(read.suffix)


@given(
    wanted=st.lists(st.text("abé", min_size=1, max_size=4), min_size=1, max_size=12),
    text=st.text("abcé", max_size=12),
)
def test_automaton_finds_what_is_in_a_text(wanted: list[str], text: str) -> None:
    segment = made([f"a like '%{one}%'" for one in wanted]).segment()
    columns = segment.columns
    literals = [one for _, _, one in plain.literals_of(columns)]
    assert sorted(literals) == sorted({one.encode() for one in wanted})
    assert not (segment.marks & CHECKED).any()
    found: set[bytes] = set()
    state, output = 0, 0
    for letter in text.encode():
        state = step(segment.columns, state, letter)
        output = int(columns.literal_output[state])
        while output:
            found.add(literals[output - 1])
            output = int(columns.literal_next[output - 1])
    assert found == {one for one in literals if one in text.encode()}


def step(columns: Columns, state: int, letter: int) -> int:
    """The obvious step: along a child, or from the fail state; the root has a table beside it."""
    while True:
        begin, end = columns.literal_child[state : state + 2].tolist()
        labels = columns.literal_label[begin:end].tolist()
        assert labels == sorted(labels)
        if letter in labels:
            child: int = begin + labels.index(letter)
            assert state or columns.literal_root[letter] == child
            return child
        if state == 0:
            assert columns.literal_root[letter] == 0
            return 0
        state = int(columns.literal_fail[state])


def test_rarer_constraint_is_looked_up_instead() -> None:
    others = [f"b = {number} and a like '%x%'" for number in range(50)]
    segment = made([*others, "a like '%longer%' and b > 0"]).segment()
    columns = segment.columns
    assert [literal for _, _, literal in plain.literals_of(columns)] == [b"longer"]
    assert np.count_nonzero(segment.marks & CHECKED) == 50
