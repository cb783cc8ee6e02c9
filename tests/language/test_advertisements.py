"""Advertisements are read, or refused at the place that does not fit."""

from __future__ import annotations

import pytest

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.advertisements import parse_advertisement
from sapwood.limits import ADVERTISEMENT_NESTING_MAX, ADVERTISEMENT_TEXT_CHARS_MAX


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("/a/b(/c/d)+/e", "/a/b(/c/d)+/e"),
        (" / a ( /b | /c )\n + / * ", "/a(/b|/c)+/*"),
        ("/b|/a", "/a|/b"),
        ("((/a))", "/a"),
        ("(((/a)+)+)+", "(/a)+"),
        ("/a(/b(/c|/d))", "/a/b(/c|/d)"),
        ("/größe/body.head", "/größe/body.head"),
    ],
)
def test_parse_advertisement_reads_and_prints_the_normal_form(text: str, normal: str) -> None:
    found = parse_advertisement(text)
    assert str(found) == normal
    assert found.source == text


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "write (/*)+"),
        ("  ", 2, "write (/*)+"),
        ("a/b", 0, "begins at the root"),
        ("/a//b", 3, "every level is written"),
        ("/a/", 3, "expected a name or *"),
        ("/a/@b", 3, "attributes are not advertised"),
        ("/a[b]", 2, "no conditions"),
        ("/x:a", 2, "without prefix"),
        ("/a+", 2, "a + follows a parenthesis"),
        ("/a)", 2, "never opened"),
        ("/a(/b", 2, "never closed"),
        ("(/a/b[c])", 5, "no conditions"),
        ("(/a)*", 4, "only + can follow"),
        ("(/a)?", 4, "only + can follow"),
        ("/a|", 3, "begins at the root"),
        ("/a b", 3, "expected /, (, |"),
        ("()", 1, "begins at the root"),
    ],
)
def test_parse_advertisement_refuses_at_the_place(text: str, position: int, reason: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_advertisement(text)
    assert caught.value.position == position
    assert reason in caught.value.reason


def test_parse_advertisement_is_bounded() -> None:
    with pytest.raises(LimitError, match="ADVERTISEMENT_TEXT_CHARS_MAX"):
        parse_advertisement("/a" * ADVERTISEMENT_TEXT_CHARS_MAX)
    deep = ADVERTISEMENT_NESTING_MAX + 1
    with pytest.raises(LimitError, match="ADVERTISEMENT_NESTING_MAX"):
        parse_advertisement("(" * deep + "/a" + ")" * deep)
    with pytest.raises(InputError, match="not bytes"):
        parse_advertisement(b"/a")  # type: ignore[arg-type]  # what a caller may do all the same
