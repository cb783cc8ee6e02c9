"""Conversions of plain filters from text to normal form and back, without trees and filters."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from sapwood.language.forms import decode_interest, is_pattern_form, read_form
from sapwood.language.plain import plain_packed
from sapwood.language.written import Written, canonical
from sapwood.model.packing import HIGH_OPEN, LOW_OPEN
from sapwood.model.printing import print_attribute, print_value

_NAMES_REMEMBERED: Final = 1024
"""Attribute names whose printed form a worker caches."""


def plain_form(text: str) -> bytes | None:
    """The normal form (`language.forms`) of a record filter, or `None` for one that is not plain.

    Never raises: a text that is no filter is not plain.
    """
    return plain_packed(text)


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
    """The text of a constraint of one interval or one text; `None` for any other."""
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
    """A name as it is printed, cached; sets of filters have few names."""
    return print_attribute(name)
