"""Text to tokens, each with its position (XPath 1.0, section 3.7).

Names are those of XML 1.0, fifth edition (`sapwood.xml.names`), as in documents. libxml2 reads
documents by these rules, too, but in XPath still names of the fourth edition: an element `ŉ`
(U+0149) is in documents that it reads, and `//ŉ` is a syntax error there. Every name that it
accepts is a name here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sapwood.errors import FilterSyntaxError
from sapwood.xml.names import NCNAME, may_go_on


class Kind(Enum):
    """The kinds of tokens."""

    NAME = auto()
    NUMBER = auto()
    TEXT = auto()
    SYMBOL = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `text` as written, of a string literal without its quotes."""

    kind: Kind
    text: str
    position: int


_TOKEN: Final = re.compile(
    rf"""
      (?P<space>   [ \t\r\n]+ )
    | (?P<number>  [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ )
    | (?P<name>    {NCNAME} )
    | (?P<text>    "[^"]*" | '[^']*' )
    | (?P<symbol>  // | :: | \.\. | != | <= | >= | [/.@\[\]()|,:*=<>+$-] )
    """,
    re.VERBOSE,
)
_INVALID: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_HINTS: Final = (
    ("'", "this text is never closed; it ends with '"),
    ('"', 'this text is never closed; it ends with "'),
    ("!", "negation is not supported; inequality is written !="),
    ("&", "write and"),
)


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of an expression, then one `Kind.END`.

    Raises `FilterSyntaxError` at the first character that begins no token, or that no document
    can hold.
    """
    broken = _INVALID.search(text)
    if broken is not None:
        shown = _INVALID.sub("\ufffd", text)
        raise FilterSyntaxError(shown, broken.start(), "no XML document holds this character")
    position = 0
    while position < len(text):
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
            return Token(Kind.NUMBER, written, position)
        case "name":
            return Token(Kind.NAME, written, position)
        case "text":
            return Token(Kind.TEXT, written[1:-1], position)
        case _:
            return Token(Kind.SYMBOL, written, position)


def _explain(text: str, position: int) -> str:
    for start, hint in _HINTS:
        if text.startswith(start, position):
            return hint
    if may_go_on(text[position]):
        return f"a name cannot begin with {text[position]!a}; a letter or _ goes before it"
    return f"the character {text[position]!r} has no meaning here"
