"""Hints: the forms of this language for constructs that only other filter languages have."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from sapwood.language.lexer import Kind, Token

_CASE: Final = "texts compare with their case; without it write lower({0}) = 'text'"
_INSIDE: Final = "for a text inside another write {0} like '%text%'"
_START: Final = "for the start of a text write {0} like 'text%'"
_END: Final = "for the end of a text write {0} like '%text'"
_PATTERN: Final = "patterns are written {0} like 'a%b_c': % stands for any text, _ for a character"
_PRESENT: Final = "for an attribute that is there write exists {0}, or {0} is not null"
_ABSENT: Final = "for an attribute that is not there write not exists {0}, or {0} is null"
_EQUAL: Final = "equality is written {0} = 'text'"

_ALTERNATIVES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("ilike", "lower", "lcase", "tolower", "upper", "ucase", "toupper"), _CASE),
        **dict.fromkeys(("contains", "includes", "has", "instr", "strpos"), _INSIDE),
        **dict.fromkeys(("startswith", "beginswith", "prefix"), _START),
        **dict.fromkeys(("endswith", "suffix"), _END),
        **dict.fromkeys(("matches", "match", "regexp", "regex", "rlike", "similar"), _PATTERN),
        **dict.fromkeys(("exist", "exists", "present", "defined", "isnotnull"), _PRESENT),
        **dict.fromkeys(("missing", "absent", "isnull"), _ABSENT),
        **dict.fromkeys(("eq", "equals", "equal"), _EQUAL),
    }
)
"""By the word, in lower case and without underscores; `{0}` stands for the attribute's name."""

_OPERATORS: Final = ("between", "in", "like", "is", "and", "or")
_MISSPELLED: Final = 0.7
"""The least ratio of `difflib` at which a word is taken for a misspelled operator."""

_SHOWN_CHARS_MAX: Final = 40
"""A word that is longer is not repeated in a hint."""

_ANY_NAME: Final = "x"


def about_call(function: str) -> str:
    """The hint for a call of a function with that name, whose argument comes next."""
    alternative = _ALTERNATIVES.get(_plain(function))
    reason = "a filter has no functions"
    return reason if alternative is None else f"{reason}; {alternative.format(_ANY_NAME)}"


def about_word(attribute: str, word: Token) -> str | None:
    """The hint for a word after an attribute's name, or `None`."""
    alternative = _ALTERNATIVES.get(_plain(word.text))
    if alternative is not None:
        return alternative.format(attribute if attribute.isidentifier() else _ANY_NAME)
    near = get_close_matches(word.text[:_SHOWN_CHARS_MAX].lower(), _OPERATORS, 1, _MISSPELLED)
    return f"did you mean {near[0]}?" if near else None


def about_text(token: Token) -> str:
    """The addition to an error where a name stands in the place of a text; else an empty text."""
    if token.kind is not Kind.NAME or len(token.text) > _SHOWN_CHARS_MAX:
        return ""
    escaped = str(token.value).replace("'", "''")
    return f"; as a text it is '{escaped}'"


def _plain(word: str) -> str:
    return word[:_SHOWN_CHARS_MAX].lower().replace("_", "")
