"""The form in which a routing tree travels: subscriptions of the optimizer, which match nothing.

A subscription comes to every router, to those as well that join later or come back, is confirmed
by all of them, survives where subscriptions do, and goes with the client that has it. So the bytes
of a tree, compressed and as text, are cut into parts, and each part is the text with which one
subscription compares the attribute `sapwood.routing_tree`:

    sapwood.routing_tree = '7 2 0 0102030405060708 c-oz~0...'

Those are the clock of the optimizer, the number of parts, the place of this part, the version, and
the letters. The attribute has no other use; a publication that has it is routed by content.
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Sequence
from typing import Final, NamedTuple

from sapwood.errors import InputError, LimitError
from sapwood.limits import INTEGER_MAX
from sapwood.limits.prefix import TREE_BYTES_MAX, TREE_PART_CHARS, TREE_PARTS_MAX
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import equal_to
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.forwarding.prefix.snapshot import VERSION_BYTES, version_of

ATTRIBUTE: Final = "sapwood.routing_tree"

_NAMED: Final = ATTRIBUTE.encode()
_FIELDS: Final = 5
_CLOCK_DIGITS: Final = len(str(INTEGER_MAX)) - 1


class Name(NamedTuple):
    """The name of a tree; the newest one has the highest clock."""

    clock: int
    version: bytes
    parts: int


class Part(NamedTuple):
    """A part of a tree as it travels."""

    name: Name
    place: int
    letters: str


def parts_of(clock: int, data: bytes) -> list[Filter]:
    """The filters that carry the bytes of a tree, one for each part."""
    letters = b85encode(zlib.compress(data, 9)).decode()
    cut = [letters[at : at + TREE_PART_CHARS] for at in range(0, len(letters), TREE_PART_CHARS)]
    version = version_of(data).hex()
    return [
        Filter((Conjunction(((ATTRIBUTE, equal_to(text)),)),))
        for place, some in enumerate(cut)
        for text in (f"{clock} {len(cut)} {place} {version} {some}",)
    ]


def part_of(wanted: Interest) -> Part | None:
    """The part of a tree that a filter carries, if it carries one."""
    if not isinstance(wanted, Filter) or wanted.packed is None or _NAMED not in wanted.packed:
        return None
    if len(wanted.conjunctions) != 1 or wanted.conjunctions[0].attributes != (ATTRIBUTE,):
        return None
    text = wanted.conjunctions[0].constraints[0][1].only
    fields = text.split(" ") if isinstance(text, str) else []
    if len(fields) != _FIELDS or not all(
        field.isascii() and field.isdigit() and len(field) <= _CLOCK_DIGITS for field in fields[:3]
    ):
        return None
    clock, count, place = map(int, fields[:3])
    try:
        version = bytes.fromhex(fields[3])
    except ValueError:
        return None
    if not 0 <= place < count <= TREE_PARTS_MAX or len(version) != VERSION_BYTES:
        return None
    return Part(Name(clock, version, count), place, fields[4])


def data_of(name: Name, parts: Sequence[str]) -> bytes:
    """The bytes of a tree that came in parts.

    Raises `InputError` for bytes that are no tree or have another version, `LimitError` for too
    many.
    """
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(b85decode("".join(parts)), TREE_BYTES_MAX)
    except (ValueError, zlib.error) as error:
        raise InputError(f"a routing tree cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        subject = "the bytes of a routing tree"
        raise LimitError("TREE_BYTES_MAX", TREE_BYTES_MAX, TREE_BYTES_MAX + 1, subject)
    if not unpacker.eof or unpacker.unused_data or version_of(data) != name.version:
        raise InputError("a routing tree is not the one that it is said to be")
    return data
