"""Text to tokens, each with its position."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.limits import FILTER_TEXT_CHARS_MAX, INTEGER_MAX, INTEGER_MIN
from sapwood.model.printing import KEYWORDS


class Kind(Enum):
    """The kinds of tokens."""

    NAME = auto()
    KEYWORD = auto()
    NUMBER = auto()
    TEXT = auto()
    OPERATOR = auto()
    PUNCTUATION = auto()
    END = auto()


class Token(NamedTuple):
    """A token: `text` as written (keywords in lower case), `value` of a name or a literal."""

    kind: Kind
    text: str
    position: int
    value: str | int | float | None = None


NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""The regular expression of a number."""

_TOKEN: Final = re.compile(
    rf"""
    \s*+ (?:
      (?P<name>    [^\W\d]\w* (?: \.[^\W\d]\w* )* )
    | (?P<operator> <= | >= | <> | != | = (?!=) | < | > )
    | (?P<number>  {NUMBER} )
    | (?P<text>    ' (?: [^']++ | '' )*+ ' )
    | (?P<punctuation> [(),] )
    | (?P<quoted>  " (?: [^"]++ | "" )*+ " )
    | (?P<end>     \Z )
    )
    """,
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"\s*+")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_FRACTION: Final = frozenset(".eE")
_HINTS: Final = (
    ("==", "equality is written ="),
    ("&&", "write and"),
    ("||", "write or"),
    ("!", "negation is written not, inequality <> or !="),
    ("'", "this text is never closed; texts end with ' and hold a quote as ''"),
    ("~", "patterns are written like 'a%b_c'"),
    ("[", "a list stands in parentheses"),
    ("/", "what begins so is an XPath and no filter; give it to parse_xpath, or as --xpath"),
    ('"', 'this attribute name is never closed; quoted names end with "'),
)


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a filter, then one `Kind.END`.

    Raises `FilterSyntaxError` at the first character that begins no token, `LimitError` for a text
    longer than `limits.FILTER_TEXT_CHARS_MAX`.
    """
    if len(text) > FILTER_TEXT_CHARS_MAX:
        raise LimitError(
            "FILTER_TEXT_CHARS_MAX", FILTER_TEXT_CHARS_MAX, len(text), "the length of the filter"
        )
    if not text.isascii():
        _check_surrogates(text)
    scan = _TOKEN.match
    position = 0
    while True:
        match = scan(text, position)
        if match is None:
            position = _end_of_space(text, position)
            raise FilterSyntaxError(text, position, _explain(text, position))
        token = _token(match)
        yield token
        if token.kind is Kind.END:
            return
        position = match.end()


def _token(match: re.Match[str]) -> Token:
    kind = match.lastgroup
    assert kind is not None, "every alternative has a name"
    written, position = match[kind], match.start(kind)
    if kind == "name":
        lowered = written.lower()
        if lowered in KEYWORDS:
            return Token(Kind.KEYWORD, lowered, position)
        return Token(Kind.NAME, written, position, written)
    if kind == "operator":
        return Token(Kind.OPERATOR, "<>" if written == "!=" else written, position)
    if kind == "number":
        return Token(Kind.NUMBER, written, position, _number(match))
    if kind == "text":
        return Token(Kind.TEXT, written, position, written[1:-1].replace("''", "'"))
    if kind == "punctuation":
        return Token(Kind.PUNCTUATION, written, position)
    if kind == "quoted":
        return Token(Kind.NAME, written, position, written[1:-1].replace('""', '"'))
    return Token(Kind.END, "", position)


def _check_surrogates(text: str) -> None:
    broken = _SURROGATE.search(text)
    if broken is not None:
        shown = _SURROGATE.sub("\ufffd", text)
        raise FilterSyntaxError(shown, broken.start(), "half of a surrogate pair is no character")


def _end_of_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    assert space is not None, "no space is space"
    return space.end()


def _number(match: re.Match[str]) -> int | float:
    written, text, position = match["number"], match.string, match.start("number")
    end = match.end()
    if end < len(text) and (text[end].isalnum() or text[end] in "_."):
        raise FilterSyntaxError(text, position, "this is not a number")
    value = number_of(written)
    if value is None and _FRACTION.isdisjoint(written):
        raise FilterSyntaxError(text, position, "this integer needs more than 64 bits")
    if value is None:
        raise FilterSyntaxError(text, position, "this number is too large for a float")
    return value


def number_of(written: str) -> int | float | None:
    """The number of a text that matches `NUMBER`; `None` if it is too large for its type."""
    if _FRACTION.isdisjoint(written):
        whole = int(written) if len(written) <= 20 else INTEGER_MAX + 1
        return whole if INTEGER_MIN <= whole <= INTEGER_MAX else None
    value = float(written)
    return value if math.isfinite(value) else None


def _explain(text: str, position: int) -> str:
    for start, hint in _HINTS:
        if text.startswith(start, position):
            return hint
    return f"the character {text[position]!r} has no meaning here"
