"""The types of a document, beside it: the names of the advertised DTDs that allow it.

A name is 128 bits: the hash of the normal form of the advertised paths, which is the same at all
routers. A digest is the mark and one or more names. Two names, 00 01 ... 0f and 10 11 ... 1f:

    74  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f
"""  # noqa: E501 - the bytes in a line

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from sapwood.model.patterns.advertisements.advertisement import Advertisement

MARK: Final = 0x74
NAME_BYTES: Final = 16
NAMES_MAX: Final = 8
"""The greatest number of names in a digest. A router looks into the table of the first one that it
has, so that more serve only where it has none of these."""

_MARKED: Final = bytes((MARK,))


def name_of(advertised: Advertisement) -> bytes:
    """The name of an advertised type."""
    return blake2b(str(advertised).encode(), digest_size=NAME_BYTES).digest()


def encode(names: Sequence[bytes]) -> bytes:
    """Encode the first of the names as a digest; empty if there are none."""
    return _MARKED + b"".join(names[:NAMES_MAX]) if names else b""


def decode(digest: bytes) -> Sequence[bytes] | None:
    """The names of a digest; `None` where it is none of this strategy."""
    size = len(digest) - 1
    if digest[:1] != _MARKED or not size or size % NAME_BYTES or size > NAMES_MAX * NAME_BYTES:
        return None
    return [digest[at : at + NAME_BYTES] for at in range(1, len(digest), NAME_BYTES)]
