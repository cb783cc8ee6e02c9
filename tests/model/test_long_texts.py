"""Characters at distances from each other in long texts, against the obvious search."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import FilterSyntaxError
from sapwood.limits import LIKE_GAPPED_CHARS_MAX
from sapwood.model import long_texts
from sapwood.model.like import Pattern


def pieces_of(letters: str) -> list[tuple[int, str]]:
    """The literal parts of letters and `_`, with their offsets."""
    return [(found.start(), found.group()) for found in re.finditer("[^_]+", letters)]


@given(
    st.text("aé日", max_size=60),
    st.text("aé日_", min_size=1, max_size=5),
    st.integers(0, 9),
    st.data(),
)
def test_places_are_those_of_the_obvious_search(
    text: str, letters: str, start: int, data: st.DataObject
) -> None:
    start = min(start, len(text))
    end = data.draw(st.integers(start, len(text)))
    found = re.compile(letters.replace("_", "."), re.DOTALL).search(text[:end], start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_texts, "_BLOCK_CHARS", data.draw(st.integers(1, 9)))
        place = long_texts.find(text, start, end, len(letters), pieces_of(letters))
    assert place == (-1 if found is None else found.start())


def test_the_worked_example() -> None:
    assert long_texts.find("xaabab", 0, 6, 3, [(0, "a"), (2, "b")]) == 1


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [
        ("ab" * 10_000 + "axb", "%a_b", True),
        ("ab" * 10_000 + "axb", "%a_b%", True),
        ("ab" * 10_000 + "aéb", "%a_b%", True),
        ("ab" * 10_000, "%a_b%", False),
        ("ab" * 10_000, "%日_b%", False),
        ("ab" * 10_000 + "日xb", "%日_b%", True),
    ],
)
def test_patterns_on_long_texts(text: str, pattern: str, *, fits: bool) -> None:
    assert Pattern.parse(pattern).matches(text) is fits


def test_each_character_of_a_pattern_is_compared_once_with_each_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pattern = Pattern.parse("%" + "a_" * LIKE_GAPPED_CHARS_MAX + "%")
    monkeypatch.setattr(long_texts, "_BLOCK_CHARS", 10_000)
    assert pattern.matches("a" * 100_000)
    assert not pattern.matches("aab" * 50_000)


def test_too_many_characters_among_gaps_are_refused() -> None:
    letters = "a_" * (LIKE_GAPPED_CHARS_MAX + 1)
    with pytest.raises(FilterSyntaxError, match="LIKE_GAPPED_CHARS_MAX is 256"):
        parse_filter(f"t like '%{letters}%'")
    parse_filter(f"t like '%{'_' * 5000}%'")
    parse_filter(f"t like '%{'a' * 5000}%b_%'")
