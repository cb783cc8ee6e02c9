"""Records as bytes that kernels read, and what kernels say about them.

To write a value into an array from Python costs as much as to match it. So all records of a batch
are written by one call, as MessagePack: names and values, each value with its type. Which attribute
a name is, and which cell a value is in, compiled code finds out without the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.columnar.columns import I32, I64
from sapwood.matching.keys import text_bytes
from sapwood.model.publication import Record, Value

REPEATS: Final = 1
"""Flag of a kernel: a slot may be there more than once."""

UNREADABLE: Final = 2
"""Flag of a kernel: a record holds what no record may, and nothing was told of any."""

FLAGS, RECORDS, HEAD = range(3)
"""What a kernel tells first: flags, and of how many records it tells. The last number is how many
elements that takes."""

_ENCODER: Final = msgspec.msgpack.Encoder()


class Found(NamedTuple):
    """What a segment says about `n` records.

    Record `i` matches `slots[offsets[i]:offsets[i + 1]]`, in no particular order, and may match the
    conjunctions `doubts[doubt_offsets[i]:doubt_offsets[i + 1]]`, which have pattern checks.
    `repeats` tells that a slot may be there more than once.
    """

    offsets: I64  # [n + 1]
    slots: I32
    doubt_offsets: I64  # [n + 1]
    doubts: I32
    repeats: bool

    @classmethod
    def of(cls, told: I32, records: int) -> Found:
        """Read what a kernel told of so many records, or of the first ones of these.

        That is: flags; of how many records it tells; for each of all records how many slots it has
        and how many doubts (records, records); all slots; all doubts.
        """
        count = told.item(RECORDS)
        offsets, doubt_offsets = (np.zeros(count + 1, np.int64) for _ in range(2))
        np.cumsum(told[HEAD : HEAD + count], out=offsets[1:])
        np.cumsum(told[HEAD + records : HEAD + records + count], out=doubt_offsets[1:])
        first = HEAD + 2 * records
        last = first + int(offsets[-1])
        repeats = bool(told[FLAGS] & REPEATS)
        return cls(offsets, told[first:last], doubt_offsets, told[last:], repeats)


def encoded(records: Sequence[Record]) -> bytes:
    """An array of maps from name to value in MessagePack.

    Texts with half of a surrogate pair, which are no UTF-8, are written as binary data. Raises
    `InvalidValueError` for what no record may hold, as far as MessagePack does not hold it either;
    kernels find the rest (`UNREADABLE`).
    """
    try:
        return _ENCODER.encode(records)
    except (TypeError, OverflowError, UnicodeEncodeError):
        # A mapping that is no dict, numbers of NumPy, broken texts.
        return _ENCODER.encode([_plain(record) for record in records])


def refusal(records: Sequence[Record]) -> InvalidValueError:
    """What to raise for records that kernels cannot read."""
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
