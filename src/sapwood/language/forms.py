"""Normal forms of filters as bytes, so that the stages of a job need not parse a text again.

Reading a filter's text costs some hundred microseconds, reading its normal form back some ten. The
bytes are MessagePack: a list of conjunctions, each a list of (attribute, constraint), or, for a
filter with general `like` patterns, its canonical text. A tree pattern is a map with its canonical
text and its prefixes. Equal filters give equal bytes. They live within one job, between its stages;
files hold texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from sapwood.language import parse_filter
from sapwood.language.written import canonical
from sapwood.language.xpath import parse_xpath
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.numbers import Interval, Number
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.strings import Strings

FALSE: Final = 1
TRUE: Final = 2
ABSENT: Final = 4
LOW_OPEN: Final = 1
HIGH_OPEN: Final = 2

_Interval: TypeAlias = tuple[Number, Number, int]
_Range: TypeAlias = tuple[str, str | None]
_Constraint: TypeAlias = tuple[str, int, list[_Interval], list[_Range]]
_Form: TypeAlias = list[list[_Constraint]]


PATTERN_MARK: Final = b"\x82"
"""With this byte, a map of two, the normal form of a tree pattern begins, and no other."""


def encode_form(filter: Interest) -> bytes:
    """The normal form as bytes; equal for equal filters."""
    if not isinstance(filter, Filter):
        written = canonical(filter)
        return msgspec.msgpack.encode({"xpath": written.text, "bindings": written.bindings})
    if any(conjunction.patterns for conjunction in filter.conjunctions):
        return msgspec.msgpack.encode(str(filter))
    try:
        return msgspec.msgpack.encode(_form(filter))
    except UnicodeEncodeError:
        # The end of a range of texts can be half of a surrogate pair, which has no UTF-8.
        return msgspec.msgpack.encode(str(filter))


def is_pattern_form(form: bytes) -> bool:
    """Whether this is the normal form of a tree pattern."""
    return form.startswith(PATTERN_MARK)


def decode_interest(form: bytes) -> Interest:
    """The filter or tree pattern whose normal form this is."""
    return decode_pattern(form) if is_pattern_form(form) else decode_form(form)


def decode_pattern(form: bytes) -> TreePattern:
    """The tree pattern whose normal form this is."""
    found = _decoder().decode(form)
    bindings = found["bindings"]
    return parse_xpath(found["xpath"], None if bindings is None else dict(bindings))


def decode_form(form: bytes) -> Filter:
    """The record filter whose normal form this is."""
    found = _decoder().decode(form)
    if isinstance(found, str):
        return parse_filter(found)
    return Filter(tuple(Conjunction(tuple(map(_constraint, part))) for part in found))


def read_form(form: bytes) -> tuple[Sequence[Any], bool]:
    """The conjunctions of a record filter, unmade, and whether they say all that the filter says.

    Each is a sequence of (attribute, flags, intervals as (low, high, flags of open ends), ranges of
    texts). They do not say all of a filter with general `like` patterns, but never too little:
    whatever it accepts they accept.
    """
    found = _decoder().decode(form)
    if isinstance(found, str):
        filter_ = parse_filter(found)
        return _form(filter_), not any(part.patterns for part in filter_.conjunctions)
    return found, True


@lru_cache(maxsize=1)
def _decoder() -> msgspec.msgpack.Decoder[Any]:
    # Untyped: the bytes are our own, and the checks of a typed one cost more than the reading.
    return msgspec.msgpack.Decoder()


def _form(filter: Filter) -> _Form:
    return [
        [_written(name, constraint) for name, constraint in conjunction.constraints]
        for conjunction in filter.conjunctions
    ]


def _written(name: str, constraint: Constraint) -> _Constraint:
    flags = ABSENT if constraint.absent else 0
    if constraint.booleans:
        flags |= (False in constraint.booleans) * FALSE | (True in constraint.booleans) * TRUE
    intervals = [
        (i.low, i.high, i.low_open * LOW_OPEN | i.high_open * HIGH_OPEN) for i in constraint.numbers
    ]
    return name, flags, intervals, list(constraint.strings.ranges)


def _constraint(written: Any) -> tuple[str, Constraint]:
    name, flags, intervals, ranges = written
    booleans = frozenset(value for value, flag in ((False, FALSE), (True, TRUE)) if flags & flag)
    numbers = tuple(
        Interval(low, high, bool(ends & LOW_OPEN), bool(ends & HIGH_OPEN))
        for low, high, ends in intervals
    )
    strings = Strings(tuple((low, high) for low, high in ranges))
    return name, Constraint(bool(flags & ABSENT), booleans, numbers, strings)
