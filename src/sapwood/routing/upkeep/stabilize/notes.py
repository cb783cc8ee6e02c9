"""The notes of the two ends of an edge under `stabilize`.

An *edge* is directed: the *sender* has sent entries to the *holder*, which has them in its table.
Each link has two edges. Shen 2.14 (table 5.1, algorithms 5.1 and 5.2)::

    sender                                      holder
      | Observe(7, shape) ----------------------->|    on the sender's timer
      |<------- Sketch(7, part 0 of 1, 21, sum) --|    as of this instant
      | Observe(8) ------------------------------>|    only where the sketches differ: all of it
      |<-------------- Listing(8, part 0 of 1) ---|
      | Correct(withdrawn, restated=1) ---------->|    only where the tables differ
      | Subscribe(key, filter, 5) --------------->|    missing entries, as the usual messages

Missing entries travel as the messages in which they were, or should have been, sent, with the
numbers that they had: so filters go as they always go, and the confirmations answer what waits.
Names of entries begin with `s` for subscriptions and `a` for advertisements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.limits.healing import (
    NOTE_ENTRIES_MAX,
    ROUTERS_COUNTED_MAX,
    SKETCH_BITS_MAX,
    SKETCH_NOTE_BYTES,
)
from sapwood.model.fields import Count
from sapwood.routing.messages import UpkeepNote
from sapwood.sketches.shape import PROBES_MAX

_Element: TypeAlias = Annotated[int, Meta(ge=0)]
_NAME_CHARS_MAX: Final = 512
EntryName: TypeAlias = Annotated[str, Meta(min_length=2, max_length=_NAME_CHARS_MAX)]
_Names: TypeAlias = Annotated[tuple[EntryName, ...], Meta(max_length=NOTE_ENTRIES_MAX)]


class Observe(Struct, array_like=True, frozen=True, tag="o"):
    """The sender asks for the holder's entries: a sketch of this shape, or all if `size` is 0.

    `routers` is the number of routers on the sender's side of the link; `is_cut`: one of them has a
    link that is down and whose entries are kept.
    """

    round: Count
    size: Annotated[int, Meta(ge=0, le=SKETCH_BITS_MAX, multiple_of=64)] = 0
    probes: Annotated[int, Meta(ge=1, le=PROBES_MAX)] = 1
    salt: _Element = 0
    routers: Annotated[int, Meta(ge=0, le=ROUTERS_COUNTED_MAX)] = 0
    is_cut: bool = False


class Cut(Struct, array_like=True, frozen=True, tag="u"):
    """The `is_cut` of the sender's side has changed."""

    is_cut: bool


class Sketch(Struct, array_like=True, frozen=True, tag="s"):
    """A part of the holder's sketch; `count` and `sum` are of all its entries.

    The sum is that of their elements, modulo 2^64. At 4 bits an entry, bits alone overlook a single
    wrong entry in one case of seven.
    """

    round: Count
    part: Count
    parts: Count
    count: Count
    sum: _Element
    bits: Annotated[bytes, Meta(max_length=SKETCH_NOTE_BYTES)]


class Listing(Struct, array_like=True, frozen=True, tag="l"):
    """A part of the holder's table: names of entries, and the elements that stand for them."""

    round: Count
    part: Count
    parts: Count
    names: _Names
    elements: Annotated[tuple[_Element, ...], Meta(max_length=NOTE_ENTRIES_MAX)]


class Correct(Struct, array_like=True, frozen=True, tag="c"):
    """The names that the holder is to drop, and the number of corrections that follow."""

    withdrawn: _Names
    restated: Count = 0


class Again(Struct, array_like=True, frozen=True, tag="a"):
    """The sender waits for confirmations of these entries, although the holder has them."""

    names: _Names


class Ask(Struct, array_like=True, frozen=True, tag="k"):
    """The holder requests a comparison now, and its result."""


class Found(Struct, array_like=True, frozen=True, tag="f"):
    """The result of a requested round: the wrong entries, and all entries sent."""

    wrong: Count
    entries: Count


Said: TypeAlias = Observe | Cut | Sketch | Listing | Correct | Again | Ask | Found

_NAME_BYTES: Final = 12
"""Bytes of a name in a note beside its own: its length, and the element."""


def portions(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Names in order, split into as few parts as fit a note each; at least one part."""
    part: list[str] = []
    size = 0
    for name in names:
        more = len(name.encode()) + _NAME_BYTES
        if part and (len(part) == NOTE_ENTRIES_MAX or size + more > SKETCH_NOTE_BYTES):
            yield tuple(part)
            part, size = [], 0
        part.append(name)
        size += more
    yield tuple(part)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[Said]] = msgspec.msgpack.Decoder(Said)

_MARK: Final = b"Z"
"""The first byte of such a note, with which no note of another upkeep begins."""


def note_of(said: Said, *, periodic: bool = False) -> UpkeepNote:
    """Encode a note."""
    return UpkeepNote(_MARK + _ENCODER.encode(said), periodic)


def said_in(note: bytes) -> Said | None:
    """The content of a note; `None` where it is of another strategy, or invalid."""
    if not note.startswith(_MARK):
        return None
    try:
        return _DECODER.decode(note[len(_MARK) :])
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None
