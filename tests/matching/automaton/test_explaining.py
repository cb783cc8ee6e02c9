"""The lookups of tree patterns: by a path, or by an equality at its end."""

from __future__ import annotations

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.matching.automaton.explaining import lookup
from sapwood.matching.lookups import Lookup, LookupKind


@pytest.mark.parametrize(
    ("text", "way", "by", "is_left"),
    [
        ("//a//c", LookupKind.PATH, "//a//c", False),
        ("/a/*/c", LookupKind.PATH, "/a/*/c", False),
        ("//a[@b='1']", LookupKind.HASH, "//a[@b='1']", False),
        ("//a[@b='1']/c", LookupKind.HASH, "//a[@b='1']", True),
        ("//a[text()='x']", LookupKind.HASH, "//a[text()='x']", False),
        ("//a[c]//d[e]", LookupKind.PATH, "//a//d/e", True),
        ("//a[@b > 3]", LookupKind.PATH, "//a", True),
    ],
)
def test_a_pattern_is_found_by_a_path_or_by_an_equality_at_its_end(
    text: str, way: LookupKind, by: str, is_left: bool
) -> None:
    pattern = parse_xpath(text)
    left = (str(pattern),) if is_left else ()
    assert lookup(pattern) == Lookup(str(pattern), way, (by,), left, (), None)
