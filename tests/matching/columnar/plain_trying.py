"""Rows tried in plain Python, and records as they are read back: for the twins of all kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.columnar import tried_rows
from sapwood.matching.columnar.batch import NAME_HEAD, PLACE_BITS
from sapwood.matching.columnar.columns import I32, I64, U64
from sapwood.matching.columnar.domains import Low
from sapwood.matching.keys import number_key
from sapwood.model.publication import Value


def try_rows(
    rows: I64,
    heads: I32,
    names: U64,
    records: bytes,
    values: npt.NDArray[Any],
    numbers: npt.NDArray[Any],
) -> I32:
    """Pairs of record and row: a value is within a range if it is between its ends, as keys."""
    places = [*rows[: tried_rows._HEAD].tolist(), len(rows)]
    found = [rows[start:end].tolist() for start, end in pairwise(places)]
    constraint_start, attribute, range_start, low, low_at, high, high_at, given, rest = found[:9]
    offsets, letters, _, following = found[9:]
    texts = np.array(letters, np.int64).tobytes()
    floats = np.array(given, np.int64).view(np.float64).tolist()
    known, told = names_of(names), list[int]()

    def constant(code: int, at: int) -> tuple[int, Any]:
        if code > Low.FIRST_TEXT:
            return 4, texts[offsets[at] : offsets[at + 1]]
        return 3, (floats[at], rest[at])

    def is_within(key: tuple[int, Any], at: int) -> bool:
        code, other = low[at], high[at]
        begins = {0: (0,), 1: (1,), 2: (2,), 3: (3,), 6: (4,)}.get(code) or constant(
            code, low_at[at]
        )
        ends = {0: (0, ()), 1: (1, ()), 2: (2, ()), 3: (4,), 6: (5,)}.get(other)
        after = key > begins if code == Low.AFTER_NUMBER else key >= begins
        if ends is not None:
            return bool(after and key <= ends)
        limit = constant(other, high_at[at])
        return bool(after and (key < limit if other in {5, 8} else key <= limit))

    for number, record in enumerate(msgspec.msgpack.decode(records)):
        if not all(map(is_readable, record.values())):
            return np.zeros(1, np.int32)
        held = {known[bytes_of(name)]: _key_of(value) for name, value in record.items()
                if bytes_of(name) in known}  # fmt: skip
        for row in _chained(heads.tolist(), following):
            first, last = constraint_start[row : row + 2]
            if all(
                any(
                    is_within(held.get(attribute[one], (0, ())), at)
                    for at in range(range_start[one], range_start[one + 1])
                )
                for one in range(first, last)
            ):
                told += number, row
    return np.array([1 + len(told), *told], np.int32)


def _chained(heads: Sequence[int], following: Sequence[int]) -> Iterator[int]:
    """All rows, chain by chain: nothing is hashed here."""
    for head in heads:
        row = head
        while row >= 0:
            yield row
            row = (following[row] & tried_rows.NEXT_MASK) - 1


def _key_of(value: Value | bytes) -> tuple[int, Any]:
    """A key that sorts as values do: booleans, numbers, texts."""
    if isinstance(value, bool):
        return 1 + value, ()
    return (4, bytes_of(value)) if isinstance(value, str | bytes) else (3, number_key(value))


def names_of(names: U64) -> dict[bytes, int]:
    """The numbers of all names that `columnar.batch.name_table` was given."""
    count = int(names[0])
    starts = names[NAME_HEAD + count : NAME_HEAD + 2 * count + 1]
    places = (starts >> np.uint64(PLACE_BITS)).tolist()
    joined = names[NAME_HEAD + 3 * count + 1 :].tobytes()
    found = (joined[begin:end] for begin, end in pairwise(places))
    return dict(zip(found, starts.astype(np.uint32).tolist(), strict=False))


def is_readable(value: object) -> bool:
    if isinstance(value, int):
        return INTEGER_MIN <= value <= INTEGER_MAX
    return isinstance(value, float | str | bytes)


def bytes_of(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
