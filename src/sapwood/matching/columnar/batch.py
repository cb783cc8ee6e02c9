"""Records as arrays: what kernels read of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.keys import number_key, text_bytes
from sapwood.model.publication import Record

BOOLEAN: Final = 0
NUMBER: Final = 1
TEXT: Final = 2
KIND_BITS: Final = 2
"""A tag is the engine's number of the attribute, shifted by so many bits, and the kind."""

_EXACT_MIN: Final = -(1 << 53)
_EXACT_MAX: Final = 1 << 53
_PADDING: Final = bytes(8)
"""Kernels read a text's first eight bytes at once, even where it is shorter."""


class Batch(NamedTuple):
    """`n` records with `i` values of attributes that some filter names.

    Record `j` has the values `start[j]` up to `start[j + 1]`. A number is `number` and, as its
    remainder, `detail` (`keys.number_key`); a boolean is `detail`; a text is number `detail` among
    the texts, whose UTF-8 bytes are `text_bytes[text_start[t]:text_start[t + 1]]`.
    """

    start: npt.NDArray[np.int64]  # [n + 1]
    tag: npt.NDArray[np.int64]  # [i]
    number: npt.NDArray[np.float64]  # [i]
    detail: npt.NDArray[np.int64]  # [i]
    text_start: npt.NDArray[np.int64]
    text_bytes: npt.NDArray[np.uint8]


class Found(NamedTuple):
    """What a segment says about a batch.

    Record `i` matches `slots[offsets[i]:offsets[i + 1]]`, in no particular order, and may match the
    conjunctions `doubts[doubt_offsets[i]:doubt_offsets[i + 1]]`, which have pattern checks.
    `repeats` tells that a slot may be there more than once.
    """

    offsets: npt.NDArray[np.int64]  # [n + 1]
    slots: npt.NDArray[np.int32]
    doubt_offsets: npt.NDArray[np.int64]  # [n + 1]
    doubts: npt.NDArray[np.int64]
    repeats: bool


def encode(records: Iterable[Record], attributes: Mapping[str, int]) -> Batch:
    """The values of the known `attributes` (name to number) in each record."""
    start, tags = [0], list[int]()
    numbers, details = list[float](), list[int]()
    texts, text_start = list[bytes](), [0]
    known = attributes.get
    for record in records:
        for name, value in record.items():
            attribute = known(name)
            if attribute is None:
                continue
            tag = attribute << KIND_BITS
            if isinstance(value, bool):
                tags.append(tag | BOOLEAN)
                numbers.append(0.0)
                details.append(value)
            elif isinstance(value, str):
                text = text_bytes(value)
                tags.append(tag | TEXT)
                numbers.append(0.0)
                details.append(len(texts))
                texts.append(text)
                text_start.append(text_start[-1] + len(text))
            else:
                tags.append(tag | NUMBER)
                if isinstance(value, float) or _EXACT_MIN <= value <= _EXACT_MAX:
                    numbers.append(value)
                    details.append(0)
                else:
                    nearest, remainder = number_key(value)
                    numbers.append(nearest)
                    details.append(remainder)
        start.append(len(tags))
    texts.append(_PADDING)
    return Batch(
        np.array(start, np.int64),
        np.array(tags, np.int64),
        np.array(numbers, np.float64),
        np.array(details, np.int64),
        np.array(text_start, np.int64),
        np.frombuffer(b"".join(texts), np.uint8),
    )
