"""Text to tokens, each with its position."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.limits import FILTER_TEXT_CHARS_MAX, INTEGER_MAX, INTEGER_MIN
from sapwood.model.printing import KEYWORDS


class Kind(Enum):
    """What a token is."""

    NAME = auto()
    KEYWORD = auto()
    NUMBER = auto()
    TEXT = auto()
    OPERATOR = auto()
    PUNCTUATION = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `text` as written (keywords in lower case), `value` of a name or a literal."""

    kind: Kind
    text: str
    position: int
    value: str | int | float | None = None


_TOKEN: Final = re.compile(
    r"""
      (?P<space>   \s+ )
    | (?P<number>  [+-]? (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? )
    | (?P<name>    [^\W\d]\w* (?: \.[^\W\d]\w* )* )
    | (?P<quoted>  " (?: [^"]++ | "" )*+ " )
    | (?P<text>    ' (?: [^']++ | '' )*+ ' )
    | (?P<operator> <= | >= | <> | != | = | < | > )
    | (?P<punctuation> [(),] )
    """,
    re.VERBOSE,
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HINTS: Final = (
    ("==", "equality is written ="),
    ("&&", "write and"),
    ("||", "write or"),
    ("!", "negation is written not, inequality <> or !="),
    ("'", "this text is never closed; texts end with ' and hold a quote as ''"),
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
    broken = _SURROGATE.search(text)
    if broken is not None:
        shown = _SURROGATE.sub("\ufffd", text)
        raise FilterSyntaxError(shown, broken.start(), "half of a surrogate pair is no character")
    position = 0
    while position < len(text):
        for start, hint in _HINTS[:3]:
            if text.startswith(start, position):
                raise FilterSyntaxError(text, position, hint)
        match = _TOKEN.match(text, position)
        if match is None:
            raise FilterSyntaxError(text, position, _explain(text, position))
        if match.lastgroup != "space":
            yield _token(match)
        position = match.end()
    yield Token(Kind.END, "", len(text))


def _token(match: re.Match[str]) -> Token:
    written, position = match.group(), match.start()
    match match.lastgroup:
        case "number":
            return Token(Kind.NUMBER, written, position, _number(match))
        case "name":
            lowered = written.lower()
            if lowered in KEYWORDS:
                return Token(Kind.KEYWORD, lowered, position)
            return Token(Kind.NAME, written, position, written)
        case "quoted":
            return Token(Kind.NAME, written, position, written[1:-1].replace('""', '"'))
        case "text":
            return Token(Kind.TEXT, written, position, written[1:-1].replace("''", "'"))
        case "operator":
            return Token(Kind.OPERATOR, "<>" if written == "!=" else written, position)
        case _:
            return Token(Kind.PUNCTUATION, written, position)


def _number(match: re.Match[str]) -> int | float:
    written, text, position = match.group(), match.string, match.start()
    end = match.end()
    if end < len(text) and (text[end].isalnum() or text[end] in "_."):
        raise FilterSyntaxError(text, position, "this is not a number")
    if not any(c in written for c in ".eE"):
        if len(written) <= 20 and INTEGER_MIN <= int(written) <= INTEGER_MAX:
            return int(written)
        raise FilterSyntaxError(text, position, "this integer needs more than 64 bits")
    value = float(written)
    if math.isinf(value):
        raise FilterSyntaxError(text, position, "this number is too large for a float")
    return value


def _explain(text: str, position: int) -> str:
    for start, hint in _HINTS:
        if text.startswith(start, position):
            return hint
    return f"the character {text[position]!r} has no meaning here"
