"""Plain filters from text to normal form and back, without a syntax tree and without filters.

Most filters of large sets are conjunctions of comparisons with literals: `symbol = 'IBM' and price
between 10 and 20`. Their normal form can be read off the text, in a tenth of the time. Whatever
else there is in a text (`or`, `not`, lists, patterns, quotes in texts, names beyond ASCII, errors,
contradictions) is left to the parser and to the algebra. So this module decides nothing about the
language: where it gives an answer, they give the same one.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, Final

import msgspec

from sapwood.language.written import Written, canonical
from sapwood.limits import FILTER_TEXT_CHARS_MAX, INTEGER_MAX, INTEGER_MIN
from sapwood.model.numbers import Number
from sapwood.model.printing import KEYWORDS, print_attribute, print_value
from sapwood.pipeline.normalforms import (
    HIGH_OPEN,
    LOW_OPEN,
    decode_interest,
    is_pattern_form,
    read_form,
)

_CHARS_MAX: Final = FILTER_TEXT_CHARS_MAX // 64
"""Longer texts could pass a limit in their normal form, which only the parser looks after."""

_NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NAME: Final = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_PREDICATE: Final = re.compile(
    rf"""
    \s*+ ({_NAME}) \s*+
    (?: = \s*+ '([^'\0]*+)'
      | (=|<=|>=|<|>) \s*+ ({_NUMBER})
      | (?<=\s) [bB][eE][tT][wW][eE][eE][nN] \s++ ({_NUMBER}) \s++ [aA][nN][dD] \s++ ({_NUMBER})
    )
    (?: (\s++ [aA][nN][dD] (?=\s)) | \s*+ \Z )
    """,
    re.VERBOSE | re.ASCII,
)
"""One predicate, and what joins it to the next one or that it is the last."""

_NAMES_REMEMBERED: Final = 1024
"""Attribute names whose printed form a worker remembers."""

_FRACTION: Final = frozenset(".eE")
_ENCODER: Final = msgspec.msgpack.Encoder()

_Interval = tuple[Number, Number, int]


def plain_form(text: str) -> bytes | None:
    """The normal form (`normalforms`) of a record filter, or `None` for one that is not plain.

    Never raises: a text that is no filter is not plain.
    """
    if len(text) > _CHARS_MAX or not text.isascii():
        return None
    intervals: dict[str, _Interval] = {}
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
            given = _interval(operator, value, low, high)
            if name in intervals:
                given = _both(intervals[name], given)
            if given is None:
                return None
            intervals[name] = given
        if joined is None:
            break
        position = match.end()
    return _encoded(intervals, texts)


def written_form(form: bytes) -> Written:
    """The canonical text of the filter or tree pattern with this normal form."""
    if not is_pattern_form(form):
        parts, is_exact = read_form(form)
        if is_exact and len(parts) == 1 and parts[0]:
            texts = [text for one in parts[0] if (text := _condition(*one)) is not None]
            if len(texts) == len(parts[0]):
                return Written("filter", " and ".join(texts))
    return canonical(decode_interest(form))


def _condition(name: str, flags: int, intervals: Any, ranges: Any) -> str | None:
    """The text of one constraint: of one interval or one text, and `None` of any other."""
    if flags or len(intervals) + len(ranges) != 1:
        return None
    name = _attribute(name)
    if ranges:
        low, high = ranges[0]
        return f"{name} = {print_value(low)}" if high == f"{low}\0" else None
    low, high, ends = intervals[0]
    if low == high:
        return f"{name} = {low!r}"
    if not ends and low != -math.inf and high != math.inf:
        return f"{name} between {low!r} and {high!r}"
    if low == -math.inf and high == math.inf:
        return None
    above = f"{name} {'>' if ends & LOW_OPEN else '>='} {low!r}"
    below = f"{name} {'<' if ends & HIGH_OPEN else '<='} {high!r}"
    if low == -math.inf:
        return below
    return above if high == math.inf else f"{above} and {below}"


@lru_cache(maxsize=_NAMES_REMEMBERED)
def _attribute(name: str) -> str:
    """A name as it is printed; sets have few of them."""
    return print_attribute(name)


def _encoded(intervals: dict[str, _Interval], texts: dict[str, str]) -> bytes | None:
    names = sorted((*intervals, *texts))
    if any(name.lower() in KEYWORDS for name in names) or not texts.keys().isdisjoint(intervals):
        return None
    return _ENCODER.encode(
        [
            [
                (name, 0, (intervals[name],), ())
                if name in intervals
                else (name, 0, (), ((texts[name], f"{texts[name]}\0"),))
                for name in names
            ]
        ]
    )


def _interval(
    operator: str | None, value: str | None, low: str | None, high: str | None
) -> _Interval | None:
    """What one predicate accepts; `None` for nothing, and for numbers that are none."""
    if operator is None:
        assert low is not None, "it is between"
        assert high is not None, "it is between"
        first, last = _number(low), _number(high)
        if first is None or last is None or first > last:
            return None
        return first, last, 0
    assert value is not None, "an operator has a number"
    only = _number(value)
    if only is None:
        return None
    if operator == "=":
        return only, only, 0
    if operator[0] == ">":
        return only, math.inf, LOW_OPEN if operator == ">" else 0
    return -math.inf, only, HIGH_OPEN if operator == "<" else 0


def _both(one: _Interval, other: _Interval | None) -> _Interval | None:
    """The numbers in both intervals; `None` for none."""
    if other is None:
        return None
    # Of two equal ends the open one is the narrower.
    low, low_open = max((one[0], one[2] & LOW_OPEN), (other[0], other[2] & LOW_OPEN))
    high, high_shut = min((one[1], ~one[2] & HIGH_OPEN), (other[1], ~other[2] & HIGH_OPEN))
    flags = low_open | (HIGH_OPEN ^ high_shut)
    return None if low > high or (low == high and flags) else (low, high, flags)


def _number(written: str) -> Number | None:
    """The number in its one form, as `model.numbers`; `None` for one that is too large."""
    if _FRACTION.isdisjoint(written):
        whole = int(written) if len(written) <= 20 else INTEGER_MAX + 1
        return whole if INTEGER_MIN <= whole <= INTEGER_MAX else None
    value = float(written)
    if value.is_integer():
        return int(value) if INTEGER_MIN <= value <= INTEGER_MAX else value
    return value if math.isfinite(value) else None
