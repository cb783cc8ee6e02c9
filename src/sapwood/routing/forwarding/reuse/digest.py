"""The digest of lookup reuse: keys of subscriptions, and whether they are complete.

A key is 64 bits: the hash of the key under which a subscription travels, which is the same at all
routers. Shen takes 32 bits (2.4), of which two among 10,000 subscriptions are equal with a
probability of 1.2 %. A digest is the mark, a byte that is 1 if the keys are *complete*, and the
keys, eight bytes each, the lowest first. The digest of the keys 0x0102 and 0x0a, which are
complete:

    72 01  02 01 00 00 00 00 00 00  0a 00 00 00 00 00 00 00

Keys are complete if they name all subscriptions that accept the publication and came from where it
is going (Shen 2.6).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from sapwood.limits import DIGEST_BYTES_MAX

MARK: Final = 0x72
KEY_BYTES: Final = 8
HEAD_BYTES: Final = 2
KEYS_MAX: Final = (DIGEST_BYTES_MAX - HEAD_BYTES) // KEY_BYTES
"""The greatest number of keys in a digest."""

SOME: Final = bytes((MARK, 0))
ALL: Final = bytes((MARK, 1))
"""The first bytes of a digest whose keys are not complete, and of one whose keys are."""


def hash_of(key: str) -> int:
    """The key of a subscription as it stands in digests, 64 bits."""
    return int.from_bytes(blake2b(key.encode(), digest_size=KEY_BYTES).digest(), "little")


def is_whole(digest: bytes) -> bool:
    """True if a digest with the mark has a form that this module writes."""
    return digest[:HEAD_BYTES] in {SOME, ALL} and not (len(digest) - HEAD_BYTES) % KEY_BYTES
