r"""Normal forms of filters as bytes: tables keep and compare filters in this form.

A filter of three predicates takes 2 kB as objects and 100 bytes like this. The bytes are
MessagePack: a list of conjunctions, each a list of constraints as `(attribute, flags, intervals of
numbers, ranges of texts)`. The filter `b = 'x' and not a <= 1`, which is `a > 1 and b = 'x'`:

    [[["a", 0, [[1, inf, 1]], []], ["b", 0, [], [["x", "x\0"]]]]]

    flags      FALSE | TRUE | ABSENT: which of these values are accepted; here none is
    intervals  low, high, LOW_OPEN | HIGH_OPEN; here 1 is left out
    ranges     first text, and the first one beyond or nil

Equal filters have equal bytes. Some have none, and their equals have none either: those with
general `like` patterns, with half of a surrogate pair at the end of a range, and with whole numbers
beyond 64 bits that are no floats.

Bytes from another program pass `checked` before any code relies on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

from sapwood.errors import InputError, LimitError
from sapwood.limits import (
    ATTRIBUTE_NAME_CHARS_MAX,
    CONJUNCTIONS_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
)
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.numbers import Interval, Number
from sapwood.model.publication import Record, Value
from sapwood.model.strings import Strings

FALSE: Final = 1
TRUE: Final = 2
ABSENT: Final = 4
LOW_OPEN: Final = 1
HIGH_OPEN: Final = 2

_Interval: TypeAlias = tuple[Number, Number, int]
_Range: TypeAlias = tuple[str, str | None]
PackedConstraint: TypeAlias = tuple[str, int, Sequence[_Interval], Sequence[_Range]]
"""Attribute, flags, intervals, ranges."""

Form: TypeAlias = Sequence[Sequence[PackedConstraint]]
"""The conjunctions of a filter, unmade."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder()
"""Untyped: the bytes are our own, and the checks of a typed one cost more than the reading."""

_FOREIGN: Final = msgspec.msgpack.Decoder(
    list[list[tuple[str, int, list[tuple[int | float, int | float, int]], list[_Range]]]]
)
"""Typed: for bytes that others have made."""

FEW: Final = 15
"""Elements of an array that MessagePack counts in the byte it begins with."""

_ARRAY: Final = 0x90
_FLAGS: Final = FALSE | TRUE | ABSENT
_EVERY_NUMBER: Final = ((-math.inf, math.inf, 0),)
_EVERY_TEXT: Final = (("", None),)
_NO_ENDS: Final = (math.inf, True, math.inf, True)


def form_of(conjunctions: Iterable[Conjunction]) -> Form:
    """The form of conjunctions, whose general `like` patterns are left out."""
    return [[_form(*named) for named in part.constraints] for part in conjunctions]


def packed(conjunctions: Iterable[Conjunction]) -> bytes | None:
    """The bytes of a normal form; `None` where it has none."""
    parts = tuple(conjunctions)
    if any(part.patterns for part in parts):
        return None
    try:
        return _ENCODER.encode(form_of(parts))
    except (UnicodeEncodeError, OverflowError):
        return None


def packed_form(form: Form) -> bytes:
    """The bytes of a form that is normal, and has bytes."""
    return _ENCODER.encode(form)


def packed_constraint(given: PackedConstraint) -> bytes:
    """One constraint of a form that is normal, and has bytes."""
    return _ENCODER.encode(given)


def packed_conjunction(constraints: Sequence[bytes]) -> bytes:
    """The form of one conjunction of a few constraints, sorted by attribute, as bytes of each."""
    assert len(constraints) <= FEW, "a few elements are counted in one byte"
    return bytes((_ARRAY | 1, _ARRAY | len(constraints))) + b"".join(constraints)


def read(given: bytes) -> Form:
    """The form of the bytes."""
    form: Form = _DECODER.decode(given)
    return form


def checked(given: bytes) -> bytes:
    """Bytes that others have made, if they are those of a form.

    Each conjunction is in its one form then. Whether several are the normal form of their union is
    not checked, for that takes long; where they are not, that costs messages but no publication:
    two filters that accept the same records count as different, as they do where a normal form is
    too large to be worked out (`model.canonical`).

    Raises `InputError`, `LimitError` for too many conjunctions.
    """
    try:
        form = _FOREIGN.decode(given)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"a packed filter is none: {error}") from error
    if len(form) > CONJUNCTIONS_MAX:
        subject = "the number of conjunctions in a packed filter"
        raise LimitError("CONJUNCTIONS_MAX", CONJUNCTIONS_MAX, len(form), subject)
    for part in form:
        before = None
        for name, flags, intervals, text_ranges in part:
            if (before is not None and name <= before) or len(name) > ATTRIBUTE_NAME_CHARS_MAX:
                raise InputError(f"a packed filter has {name[:64]!r} where no attribute may be")
            before = name
            if _is_few(flags, intervals, text_ranges):
                continue
            if not _is_normal(flags, intervals, text_ranges):
                raise InputError(f"a packed filter says of {name[:64]!r} what no form does")
    if not all(form) and len(form) > 1:
        raise InputError("a packed filter accepts everything, and more")
    if _ENCODER.encode(form) != given:
        raise InputError("a packed filter is written at more length than needed")
    return given


def _is_few(flags: int, intervals: Sequence[_Interval], text_ranges: Sequence[_Range]) -> bool:
    """True if the constraint is one interval of whole numbers in its one form: the common case."""
    if flags or text_ranges or len(intervals) != 1:
        return False
    low, high, ends = intervals[0]
    return type(low) is type(high) is int and low <= high <= INTEGER_MAX and not ends


def _is_normal(flags: int, intervals: Sequence[_Interval], text_ranges: Sequence[_Range]) -> bool:
    """True if a constraint is in its one form, and neither empty nor total."""
    if flags & ~_FLAGS:
        return False
    for low, high, ends in intervals:
        if not _is_interval(low, high, ends):
            return False
    for first, beyond in text_ranges:
        if beyond is not None and beyond <= first:
            return False
    if len(intervals) > 1:
        for (_, high, ends), (low, _, next_ends) in pairwise(intervals):
            are_apart = high < low or (high == low and ends & HIGH_OPEN and next_ends & LOW_OPEN)
            if not are_apart:
                return False
    if len(text_ranges) > 1:
        for (_, beyond), (first, _) in pairwise(text_ranges):
            if beyond is None or first <= beyond:
                return False
    if flags == _FLAGS:
        return tuple(intervals) != _EVERY_NUMBER or tuple(text_ranges) != _EVERY_TEXT
    return bool(flags or intervals or text_ranges)


def _is_interval(low: Number, high: Number, ends: int) -> bool:
    """True if the bounds are in their one form and there are numbers between them."""
    if type(low) is float and low.is_integer() and INTEGER_MIN <= low <= INTEGER_MAX:
        return False
    if type(high) is float and high.is_integer() and INTEGER_MIN <= high <= INTEGER_MAX:
        return False
    if (type(low) is int and low > INTEGER_MAX) or (type(high) is int and high > INTEGER_MAX):
        return False
    if ends == 0:
        return low <= high
    is_unbounded = (ends & LOW_OPEN and low == -math.inf) or (ends & HIGH_OPEN and high == math.inf)
    return low < high and not is_unbounded and ends & ~(LOW_OPEN | HIGH_OPEN) == 0


def unpacked(given: bytes) -> tuple[Conjunction, ...]:
    """The conjunctions of the bytes."""
    return tuple(
        Conjunction(tuple((name, constraint(*sets)) for name, *sets in part))
        for part in _DECODER.decode(given)
    )


def extents(form: Form) -> list[tuple[object, ...]]:
    """The `extent` of each conjunction of a form."""
    found: list[tuple[object, ...]] = []
    for part in form:
        key: list[object] = [len(part)]
        key += [name for name, _, _, _ in part]
        for _, flags, intervals, text_ranges in part:
            key += (
                not flags & ABSENT,
                -(flags & FALSE > 0) - (flags & TRUE > 0),
                *(_ends(intervals) if intervals else _NO_ENDS),
                not text_ranges,
                text_ranges[0][0] if text_ranges else "",
            )
        found.append(tuple(key))
    return found


def _ends(intervals: Sequence[_Interval]) -> tuple[object, ...]:
    """The part of an extent that the numbers of a constraint make."""
    (low, _, first_ends), (_, high, last_ends) = intervals[0], intervals[-1]
    return low, bool(first_ends & LOW_OPEN), -high, bool(last_ends & HIGH_OPEN)


def accepts(form: Form, record: Record) -> bool:
    """True if a flat record is accepted."""
    for part in form:
        for name, flags, intervals, ranges in part:
            if not _holds(record.get(name), flags, intervals, ranges):
                break
        else:
            return True
    return False


def _holds(
    value: Value | None, flags: int, intervals: Sequence[_Interval], ranges: Sequence[_Range]
) -> bool:
    if value is None:
        return flags & ABSENT != 0
    if isinstance(value, str):
        for first, beyond in ranges:
            if first <= value and (beyond is None or value < beyond):
                return True
        return False
    if isinstance(value, bool):
        return flags & (TRUE if value else FALSE) != 0
    for low, high, ends in intervals:
        if low <= value <= high:
            return not ((ends & LOW_OPEN and value == low) or (ends & HIGH_OPEN and value == high))
    return False


def _form(name: str, constraint: Constraint) -> PackedConstraint:
    flags = ABSENT if constraint.absent else 0
    if constraint.booleans:
        flags |= (False in constraint.booleans) * FALSE | (True in constraint.booleans) * TRUE
    intervals = [
        (_number(one.low), _number(one.high), one.low_open * LOW_OPEN | one.high_open * HIGH_OPEN)
        for one in constraint.numbers
    ]
    return name, flags, intervals, constraint.strings.ranges


def _number(value: Number) -> Number:
    """The number in the one form in which equal numbers have equal bytes."""
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        nearest = float(value)
        if math.isinf(nearest) or nearest != value:
            raise OverflowError("no type of a record holds this number")
        return nearest
    return value


def constraint(flags: int, intervals: Sequence[_Interval], ranges: Sequence[_Range]) -> Constraint:
    """The constraint of these flags, intervals and ranges."""
    booleans = frozenset(value for value, flag in ((False, FALSE), (True, TRUE)) if flags & flag)
    numbers = tuple(
        Interval(low, high, bool(ends & LOW_OPEN), bool(ends & HIGH_OPEN))
        for low, high, ends in intervals
    )
    strings = Strings(tuple((first, beyond) for first, beyond in ranges))
    return Constraint(bool(flags & ABSENT), booleans, numbers, strings)
