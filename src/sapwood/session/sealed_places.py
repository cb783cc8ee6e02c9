"""Places in a journal as they are sent to an identity that may not see all of it.

A place counts the publications that the broker has stored before it: two places would reveal how
many of those were for others. So an identity with a limited grant gets each place *sealed*:
enciphered, with a key that stays with the journal, as a number from `SEALED_FIRST` on. A sealed
place is good for continuing there, and reveals nothing else. The cipher is a Feistel network of
four rounds over 62 bits, its rounds keyed BLAKE2 (Luby and Rackoff 1988: four rounds of a
pseudorandom function are a pseudorandom permutation).
"""

from __future__ import annotations

import hashlib
from typing import Final

from sapwood.errors import InputError
from sapwood.wire.durable import PLACE_NOW, SEALED_FIRST

KEY_BYTES: Final = 32
_ROUNDS: Final = 4
_HALF_BITS: Final = 31
_HALF: Final = (1 << _HALF_BITS) - 1


class SealedPlaces:
    """Seals places, and opens them again, under one key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        assert len(key) == KEY_BYTES, "a key has a length"
        self._key = key

    def seal(self, place: int) -> int:
        """A place, sealed."""
        left, right = place >> _HALF_BITS, place & _HALF
        for number in range(_ROUNDS):
            left, right = right, left ^ self._round(number, right)
        return SEALED_FIRST | left << _HALF_BITS | right

    def open(self, sealed: int) -> int:
        """The place that was sealed as this number; an arbitrary place if none was."""
        left, right = (sealed ^ SEALED_FIRST) >> _HALF_BITS, sealed & _HALF
        for number in reversed(range(_ROUNDS)):
            left, right = right ^ self._round(number, left), left
        return left << _HALF_BITS | right

    def begin(self, place: int, end: int) -> int:
        """The place at which to begin: after a sealed place, at the very first, or at the end.

        `end` is the end of the journal. Raises `InputError` for a place that was never handed out.
        """
        if place in (0, PLACE_NOW):
            return min(place, end)
        begin = self.open(place - 1) + 1 if place > SEALED_FIRST else end + 1
        if begin > end:
            raise InputError(
                "that is no place in the journal of this broker as it was told to this identity; "
                "begin with a time, or with all"
            )
        return begin

    def _round(self, number: int, half: int) -> int:
        said = half.to_bytes(4, "big")
        digest = hashlib.blake2b(said, digest_size=4, key=self._key, salt=bytes((number,)))
        return int.from_bytes(digest.digest(), "big") & _HALF
