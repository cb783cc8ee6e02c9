"""Synopses as bytes: the content of a file or of a row of a table.

::

    bytes 0-7     "SAPWSYN1"       the kind of file, and the version of the layout
    bytes 8-23    BLAKE2b, 16 bytes, of all that follows
    bytes 24-     MessagePack: [distinct names, name of each node, parents, counts]

Distinct names come sorted; a node has the number of its name among them. The synopsis of
`<a><b/></a>` is `[["", "a", "b"], [0, 1, 2], [-1, 0, 1], [1, 1, 1]]`, which MessagePack writes as
94 93 a0 a1 61 a1 62 93 00 01 02 93 ff 00 01 93 01 01 01. Equal synopses have equal bytes.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import msgspec

from sapwood.errors import InputError
from sapwood.similarity.synopsis import Synopsis

MAGIC: Final = b"SAPWSYN1"
_DIGEST_BYTES: Final = 16
_HEAD_BYTES: Final = len(MAGIC) + _DIGEST_BYTES
_KIND_BYTES: Final = len(MAGIC) - 1
"""The bytes of the magic before the version."""

_Body = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def to_bytes(synopsis: Synopsis) -> bytes:
    """The synopsis as bytes."""
    distinct = sorted(set(synopsis.names))
    numbers = {name: number for number, name in enumerate(distinct)}
    named = [numbers[name] for name in synopsis.names]
    body = msgspec.msgpack.encode((distinct, named, synopsis.parents, synopsis.counts))
    return MAGIC + _digest(body) + body


def of_bytes(data: bytes) -> Synopsis:
    """The synopsis that `to_bytes` wrote; raises `InputError` for anything else."""
    if data[:_KIND_BYTES] != MAGIC[:_KIND_BYTES]:
        raise InputError("these bytes are no synopsis; sapwood pipeline synopsis writes one")
    if data[: len(MAGIC)] != MAGIC:
        version = data[_KIND_BYTES : len(MAGIC)].decode("latin-1")
        raise InputError(
            f"this synopsis is of version {version!r}, and only version 1 is read here; make it "
            "again from its documents"
        )
    body = data[_HEAD_BYTES:]
    if data[len(MAGIC) : _HEAD_BYTES] != _digest(body):
        raise InputError("this synopsis is damaged: its checksum does not agree; make it again")
    try:
        distinct, named, parents, counts = msgspec.msgpack.decode(body, type=_Body)
        if min(named, default=0) < 0:
            raise InputError("this synopsis has a node without a name; make it again")
        return Synopsis(tuple(distinct[number] for number in named), parents, counts)
    except (msgspec.MsgspecError, IndexError) as error:
        raise InputError(f"this synopsis cannot be read ({error}); make it again") from None


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=_DIGEST_BYTES).digest()
