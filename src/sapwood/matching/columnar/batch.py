"""Records as bytes that kernels read, and the results that kernels return.

Writing a value into an array from Python costs as much as matching it. So all records of a batch
are written by one call, as MessagePack: names and values, each value with its type. Compiled code
looks up the attribute of each name and the rank of each value without the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

import msgspec
import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.columnar.casing import casing_words
from sapwood.matching.columnar.columns import I32, I64, U64
from sapwood.matching.columnar.derived import Attribute, Derived, Function
from sapwood.matching.keys import text_bytes
from sapwood.matching.storage import frozen
from sapwood.model.publication import Record, Value

REPEATS: Final = 1
"""Flag of a kernel: a slot may be there more than once."""

UNREADABLE: Final = 2
"""Flag of a kernel: a record holds a value that no record may hold, and nothing was matched."""

FLAGS, RECORDS, HEAD = range(3)
"""The head of a kernel's result: flags, and the number of records that it covers. The last number
is the length of the head."""

_ENCODER: Final = msgspec.msgpack.Encoder()


class SegmentMatches(NamedTuple):
    """The result of a segment for `n` records.

    Record `i` matches `slots[offsets[i]:offsets[i + 1]]`, in no particular order, and may match the
    conjunctions `unverified[unverified_offsets[i]:unverified_offsets[i + 1]]`, which have pattern
    checks. If `repeats`, a slot may be there more than once.
    """

    offsets: I64  # [n + 1]
    slots: I32
    unverified_offsets: I64  # [n + 1]
    unverified: I32
    repeats: bool

    @classmethod
    def of(cls, result: I32, records: int) -> SegmentMatches:
        """Read the result of a kernel for `records` records; it may cover only the first of these.

        `result` has: flags; the number of records that it covers; for each of all records the
        number of its slots and that of its unverified matches (records, records); all slots; all
        unverified matches.
        """
        count = result.item(RECORDS)
        offsets, unverified_offsets = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
        result[HEAD : HEAD + count].cumsum(out=offsets[1:])
        first = HEAD + 2 * records
        last = first + offsets.item(-1)
        if last < len(result):
            result[HEAD + records : HEAD + records + count].cumsum(out=unverified_offsets[1:])
        repeats = bool(result.item(FLAGS) & REPEATS)
        return cls(offsets, result[first:last], unverified_offsets, result[last:], repeats)


def encoded(records: Sequence[Record]) -> bytes:
    """The records as an array of maps from name to value in MessagePack.

    Texts with half of a surrogate pair, which are no UTF-8, are written as binary data. Raises
    `InvalidValueError` for values that no record may hold, as far as MessagePack does not hold them
    either; kernels find the rest (`UNREADABLE`).
    """
    try:
        return _ENCODER.encode(records)
    except (TypeError, OverflowError, UnicodeEncodeError):
        # A mapping that is no dict, numbers of NumPy, broken texts.
        return _ENCODER.encode([_plain(record) for record in records])


def refusal(records: Sequence[Record]) -> InvalidValueError:
    """The error to raise for records that kernels cannot read."""
    for record in records:
        for name, value in record.items():
            if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
                return InvalidValueError(name, f"{value} needs more than 64 bits; send it as text")
    return InvalidValueError("record", "holds what is no text, number or boolean; flatten it first")


def _plain(record: Record) -> dict[str | bytes, Value | bytes]:
    try:
        return {_plain_text(name): _plain_value(value) for name, value in record.items()}
    except (TypeError, ValueError):
        raise refusal((record,)) from None


def _plain_value(value: Value) -> Value | bytes:
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise ValueError
        return int(value)
    return float(value)


def _plain_text(text: str) -> str | bytes:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text_bytes(text)
    return str(text)


PLACE_BITS: Final = 32

NAME_HEAD: Final = 2
"""Words before the first column."""

DERIVED_HEAD: Final = 1
"""Words before the first attribute, in the table of derived ones."""


def name_table(names: Iterable[Attribute]) -> U64:
    """The names of the attributes 0, 1, 2, ... as 64-bit words, one after the other.

    The number of names (a), and the place where derived ones begin, or 0 if there are none; the
    first eight bytes of each name, as numbers in the order of the names, sorted (a); of each name,
    in the same order, the begin of its bytes and its number (a, each in half a word); the end of
    the last one (1); the place of each attribute in that order (a); the bytes. Derived attributes
    have names that no record has.

    Then, if there are derived attributes: the place of the table of casing, if they need it; the
    begin of the derived attributes of each attribute, and the end of the last ones (a + 1); of each
    its function and its number (each in half a word); and the table (`casing.casing_words`).
    """
    attributes = list(names)
    own, derived = _names_of(attributes), _derivations(attributes)
    if not len(derived):
        return cast("U64", frozen(own))
    own[1] = len(own)
    if any(isinstance(one, Derived) and one.function is Function.LOWER for one in attributes):
        derived[0] = len(own) + len(derived)
        derived = np.concatenate([derived, casing_words()])
    return cast("U64", frozen(np.concatenate([own, derived])))


def _derivations(attributes: Sequence[Attribute]) -> U64:
    """The derived attributes of each attribute, with the place of the table of casing still 0."""
    numbers = {name: number for number, name in enumerate(attributes)}
    found = sorted(
        (numbers.get(one.attribute, -1), int(one.function) << PLACE_BITS | number)
        for number, one in enumerate(attributes)
        if isinstance(one, Derived)
    )
    if not found:
        return np.zeros(0, np.uint64)
    starts = np.searchsorted([base for base, _ in found], np.arange(len(attributes) + 1))
    entries = [entry for _, entry in found]
    return np.array([0, *starts.tolist(), *entries], np.uint64)


def _names_of(names: Sequence[Attribute]) -> U64:
    numbered = sorted(
        (name.key if isinstance(name, Derived) else text_bytes(name), number)
        for number, name in enumerate(names)
    )
    count = len(numbered)
    ends = np.cumsum([0, *(len(name) for name, _ in numbered)])
    numbers = np.array([number for _, number in numbered], np.int64)
    joined = b"".join(name for name, _ in numbered)
    buffer = np.zeros(NAME_HEAD + 3 * count + 1 + (len(joined) + 7) // 8, np.uint64)
    buffer[0] = count
    prefixes = [int.from_bytes(name[:8].ljust(8, b"\0"), "big") for name, _ in numbered]
    buffer[NAME_HEAD : NAME_HEAD + count] = prefixes
    at = NAME_HEAD + count
    buffer[at : at + count + 1] = ends << PLACE_BITS
    buffer[at : at + count] |= numbers.astype(np.uint64)
    buffer[at + count + 1 + numbers] = np.arange(count)
    buffer[at + 2 * count + 1 :].view(np.uint8)[: len(joined)] = np.frombuffer(joined, np.uint8)
    return buffer
