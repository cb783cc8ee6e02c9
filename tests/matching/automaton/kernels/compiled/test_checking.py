"""Conditions that are checked for all elements of a document at once."""

from __future__ import annotations

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton import PathAutomatonEngine

WIDE = "".join(f"<b n='{at}'><c><d>{at}</d></c></b>" for at in range(150))


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("/a[b[@n = 149]][b[@n = 0]]", True),
        ("/a[b[@n = 149]/c/d = 149]/b[@n = 3]", True),
        ("/a[b[@n = 149]/c/d = 148]/b[@n = 3]", False),
        ("/a[.//*[. = 77]]/*[*]", True),
        ("/a[*/*/*[. > 149]]/b", False),
        ("/a[*/*/*[. > 148]]/b", True),
        ("//b[c][.//d = 64][@n != 64]", False),
        ("//b[c][.//d = 64 or @n = 7][not-there or @n < 8]", True),
        ("/*[.//*][b]/b[@n = 63]/*/d", True),
    ],
)
def test_conditions_are_checked_beyond_the_first_word(expression: str, *, holds: bool) -> None:
    engine = PathAutomatonEngine()
    engine.add(0, parse_xpath(expression))
    data = f"<a>{WIDE}</a>".encode()
    assert parse_xpath(expression).matches(data) is holds
    assert engine.match(data) == [0] * holds
    assert engine.match(b"<a/>") == []
    assert engine.match(data) == [0] * holds
