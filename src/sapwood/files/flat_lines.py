"""Lines of publications that are in order at first sight: a record that is its own flat view.

Most lines of most files are. The decoder checks them while it reads them, many at a time; whatever
it does not pass is for `files.lines.decode_publication`, or `decode_record` where lines are records
by themselves, which accepts it or names the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from sapwood.limits import ATTRIBUTES_MAX, LINE_BYTES_MAX
from sapwood.model.json_objects import FlatObject, decode_flat, has_members

_Places: TypeAlias = npt.NDArray[np.int64]

T = TypeVar("T")

_FEW: Final = 8
"""Lines that are decoded one by one if they cannot be together."""

_QUOTE, _COLON = b'":'
_SPACES: Final = b" \t\r"


class FlatLine(Struct, forbid_unknown_fields=True, gc=False):
    """The members of a line whose record is its own flat view."""

    id: Annotated[str, Meta(min_length=1)]
    attributes: FlatObject
    home: Annotated[str, Meta(min_length=1)] | None = None

    @property
    def members(self) -> int:
        """The members of both objects; a home that is `null` is not among them."""
        return len(self.attributes) + 2 + (self.home is not None)


_DECODER: Final = msgspec.json.Decoder(FlatLine)
_RECORDS: Final = msgspec.json.Decoder(FlatObject)


def decode_flat_line(line: bytes) -> FlatLine | None:
    """The members of a line that is in order at first sight."""
    try:
        found = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    is_good = len(found.attributes) <= ATTRIBUTES_MAX and len(line) <= LINE_BYTES_MAX
    return found if is_good and has_members(line, found.members) else None


def decode_flat_lines(lines: Sequence[bytes]) -> list[FlatLine | None]:
    """`decode_flat_line` of each line, in half the time."""
    return _decoded(lines, _DECODER, lambda line: line.members, decode_flat_line)


def decode_flat_records(lines: Sequence[bytes], id_member: str) -> list[FlatLine | None]:
    """The publications of lines that are records by themselves, each with its id in a member."""
    found = _decoded(lines, _RECORDS, len, _flat_record)
    return [None if record is None else _with_id(record, id_member) for record in found]


def _flat_record(line: bytes) -> FlatObject | None:
    return decode_flat(line) if len(line) <= LINE_BYTES_MAX else None


def _with_id(record: FlatObject, id_member: str) -> FlatLine | None:
    """A record without the member that is its id; `None` where that is none."""
    id_ = record.pop(id_member, None)
    if type(id_) is int:
        id_ = str(id_)
    return FlatLine(id_, record) if type(id_) is str and id_ else None


def _decoded(
    lines: Sequence[bytes],
    decoder: msgspec.json.Decoder[T],
    members_of: Callable[[T], int],
    alone: Callable[[bytes], T | None],
) -> list[T | None]:
    """The result of `alone` for each line, by a decoder of many; `members_of` counts its members.

    A name that is there twice is one member for the decoder.
    """
    joined = b"\n".join(lines)
    try:
        found = decoder.decode_lines(joined)
    except (ValueError, RecursionError):
        if len(lines) <= _FEW:
            return [alone(line) for line in lines]
        half = len(lines) // 2
        halves = (lines[:half], lines[half:])
        return [one for some in halves for one in _decoded(some, decoder, members_of, alone)]
    if len(found) != len(lines):  # blank lines are passed over
        return [alone(line) for line in lines]
    members = np.array([*map(members_of, found)])
    is_good = (members == _members(joined, len(lines))) & (members <= ATTRIBUTES_MAX)
    if len(joined) > LINE_BYTES_MAX:
        is_good &= [len(line) <= LINE_BYTES_MAX for line in lines]
    if is_good.all():
        return list(found)
    return [
        one if is_sure else alone(line)
        for one, is_sure, line in zip(found, is_good.tolist(), lines, strict=True)
    ]


def _members(joined: bytes, lines: int) -> _Places:
    """The number of members of each joined line; -1 for a line where that is not plain.

    Names are counted by the colons right behind a quote: no fewer than there are, unless a name
    has space behind it.
    """
    letters = np.frombuffer(joined, np.uint8)
    colons = np.flatnonzero(letters == _COLON)
    before = letters[colons - 1]
    ends = np.flatnonzero(letters == ord("\n"))
    counts = np.bincount(np.searchsorted(ends, colons[before == _QUOTE]), minlength=lines)
    for space in _SPACES:
        counts[np.searchsorted(ends, colons[before == space])] = -1
    return counts
