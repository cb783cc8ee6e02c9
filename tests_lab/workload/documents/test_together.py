"""Children that an element can have at once, against all words of its model."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement, product

import pytest

from sapwood.xml.dtd import read_dtd
from sapwood_lab.workload.documents.together import can_have

MODELS = (
    ("(a|b)", ("a", "b")),
    ("(a,b?)", ("a", "ab")),
    ("((a,b)|(b,c)|(a,c))", ("ab", "bc", "ac")),
    ("((a,c)|b)", ("ac", "b")),
    ("(a,a)", ("aa",)),
    ("(a,(b|c),a?)", ("ab", "ac", "aba", "aca")),
)


@pytest.mark.parametrize(("model", "words"), MODELS)
def test_children_are_those_of_some_word(model: str, words: tuple[str, ...]) -> None:
    text = f"<!ELEMENT r {model}><!ELEMENT a EMPTY><!ELEMENT b EMPTY><!ELEMENT c EMPTY>"
    dtd = read_dtd(text.encode(), root="r")
    for size in range(4):
        for wanted in combinations_with_replacement("abc", size):
            expected = any(Counter(wanted) <= Counter(word) for word in words)
            assert can_have(dtd, "r", wanted) == expected, (model, wanted)


@pytest.mark.parametrize("model", ["(a|b)*", "(a,b)+", "(a*,b*)"])
def test_what_repeats_has_room_for_all(model: str) -> None:
    text = f"<!ELEMENT r {model}><!ELEMENT a EMPTY><!ELEMENT b EMPTY>"
    dtd = read_dtd(text.encode(), root="r")
    for wanted in product("ab", repeat=3):
        assert can_have(dtd, "r", tuple(sorted(wanted)))
