"""Plain filters, read from their text without tokens and without a syntax tree.

Most filters are conjunctions of comparisons with literals: `symbol = 'IBM' and price between 10 and
20`. The values that these accept of each attribute can be seen from left to right, in a fraction of
the time. All other constructs in a text (`or`, `not`, lists, patterns, quotes in texts, names
beyond ASCII, errors, contradictions) are left to the parser and the rewrites. So this module
decides nothing about the language: where it returns a result, they return the same one.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from sapwood.language.lexer import NUMBER, number_of
from sapwood.language.recurring import Recurring
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number, canonical_number
from sapwood.model.packing import (
    FEW,
    HIGH_OPEN,
    LOW_OPEN,
    PackedConstraint,
    packed_conjunction,
    packed_constraint,
    packed_form,
)
from sapwood.model.printing import KEYWORDS
from sapwood.model.strings import successor

_CHARS_MAX: Final = FILTER_TEXT_CHARS_MAX // 64
"""Longer texts could pass a limit in their normal form, which only the parser checks."""

_NAMES_REMEMBERED: Final = 1024
"""Names of which it is cached whether they are keywords."""

_SPANS_REMEMBERED: Final = 8192
"""Comparisons with numbers whose spans are cached; 2 MB. Sets of filters have few numbers, or many:
looking up one of many costs a tenth of reading it."""

_JOINT: Final = " and "
_BETWEEN: Final = "between"

_NAME: Final = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_PREDICATE: Final = re.compile(
    rf"""
    \s*+ ({_NAME}) \s*+
    (?: = \s*+ '([^'\0]*+)'
      | (=|<=|>=|<|>) \s*+ ({NUMBER})
      | (?<=\s) [bB][eE][tT][wW][eE][eE][nN] \s++ ({NUMBER}) \s++ [aA][nN][dD] \s++ ({NUMBER})
    )
    (?: (\s++ [aA][nN][dD] (?=\s)) | \s*+ \Z )
    """,
    re.VERBOSE | re.ASCII,
)
"""One predicate, and the word that joins it to the next one, or the end."""

Span: TypeAlias = tuple[Number, Number, bool, bool]
"""The two ends of an interval, and whether each is left out: an `Interval` not yet built."""


class Plain(NamedTuple):
    """A plain filter: number ranges of some attributes, one text each of others."""

    spans: dict[str, Span]
    texts: dict[str, str]


def plain_filter(text: str) -> Filter | None:
    """The filter with this text, or `None` for one that is not plain. Never raises."""
    packed = plain_packed(text)
    return None if packed is None else Filter.of_packed(packed, text)


def plain_packed(text: str) -> bytes | None:
    """The normal form of a text as bytes (`model.packing`), or `None` if it is not plain."""
    return _put_together(text) or _read_whole(text)


def _predicate(text: str) -> tuple[str, bytes] | None:
    """The attribute of a plain predicate and the bytes of its constraint; else `None`."""
    plain = read_plain(text)
    part = () if plain is None else _constraints(plain)
    # If there are several, another word than `_JOINT` joins them.
    return (part[0][0], packed_constraint(part[0])) if len(part) == 1 else None


_PREDICATES: Final = Recurring(_predicate)


def _put_together(text: str) -> bytes | None:
    """The bytes of a conjunction of known predicates about different attributes, else `None`.

    A text constant may have ` and ` in it, as `between` has: the parts on either side of that are
    no predicates.
    """
    if not _PREDICATES.is_looking or len(text) > _CHARS_MAX or _BETWEEN in text:
        return None
    found = _PREDICATES.known(text.split(_JOINT))
    if found is None or len(found) > FEW:
        return None
    before = ""
    for name, _ in found:
        if name <= before:
            break
        before = name
    else:  # they come in order, as in canonical texts
        return packed_conjunction([packed for _, packed in found])
    parts = dict(found)
    if len(parts) < len(found):
        return None
    return packed_conjunction([parts[name] for name in sorted(parts)])


def _read_whole(text: str) -> bytes | None:
    """The bytes of a plain filter, from the whole text."""
    plain = read_plain(text)
    if plain is None:
        return None
    return packed_form((_constraints(plain),))


def _constraints(plain: Plain) -> list[PackedConstraint]:
    """The constraints of a plain filter, by attribute."""
    spans, texts = plain
    part: list[PackedConstraint] = []
    for name in sorted((*spans, *texts)):
        if name in spans:
            low, high, low_open, high_open = spans[name]
            ends = low_open * LOW_OPEN | high_open * HIGH_OPEN
            part.append((name, 0, ((low, high, ends),), ()))
        else:
            part.append((name, 0, (), ((texts[name], successor(texts[name])),)))
    return part


def read_plain(text: str) -> Plain | None:
    """The plain filter of a text, or `None` for a text that is not plain.

    Never raises: a text that is no filter is not plain. Spans are not empty, and numbers are in
    their normal form.
    """
    if len(text) > _CHARS_MAX or not text.isascii():
        return None
    spans: dict[str, Span] = {}
    texts: dict[str, str] = {}
    scan, position = _PREDICATE.match, 0
    while True:
        match = scan(text, position)
        if match is None:
            return None
        name, equal, operator, value, low, high, joined = match.groups()
        if equal is not None:
            if name in texts:
                return None
            texts[name] = equal
        else:
            given = _span(operator, value, low, high)
            if name in spans:
                given = _both(spans[name], given)
            if given is None:
                return None
            spans[name] = given
        if joined is None:
            break
        position = match.end()
    names = (*spans, *texts)
    if any(map(_is_keyword, names)) or not texts.keys().isdisjoint(spans):
        return None
    return Plain(spans, texts)


@lru_cache(maxsize=_NAMES_REMEMBERED)
def _is_keyword(name: str) -> bool:
    """True if a name is a keyword; sets of filters have few names."""
    return name.lower() in KEYWORDS


@lru_cache(maxsize=_SPANS_REMEMBERED)
def _span(
    operator: str | None, value: str | None, low: str | None, high: str | None
) -> Span | None:
    """The numbers that one predicate accepts; `None` for no numbers, and for other texts."""
    if operator is None:
        assert low is not None, "it is between"
        assert high is not None, "it is between"
        first, last = _number(low), _number(high)
        if first is None or last is None or first > last:
            return None
        return first, last, False, False
    assert value is not None, "an operator has a number"
    only = _number(value)
    if only is None:
        return None
    if operator == "=":
        return only, only, False, False
    if operator[0] == ">":
        return only, math.inf, operator == ">", False
    return -math.inf, only, False, operator == "<"


def _both(one: Span, other: Span | None) -> Span | None:
    """The numbers in both spans; `None` if there are none."""
    if other is None:
        return None
    # Of two equal ends the open one is the narrower.
    low, low_open = max((one[0], one[2]), (other[0], other[2]))
    high, high_shut = min((one[1], not one[3]), (other[1], not other[3]))
    if low > high or (low == high and (low_open or not high_shut)):
        return None
    return low, high, low_open, not high_shut


def _number(written: str) -> Number | None:
    """The number in its normal form, as in `model.numbers`; `None` if it is too large."""
    value = number_of(written)
    return None if value is None else canonical_number(value)
