"""Identifiers with base and digits: distances on their circle, ranges, and how ranges are split.

Worked example, base 4 and three digits (64 identifiers, 000 to 333, on a circle):

* The range 02 holds 020, 021, 022 and 023, which are the numbers 8 to 11.
* Its middle lies between 021 and 022. It is kept doubled, 8 + 11 = 19, so that no identifier lies
  as far from it as another one on the other side of the range's end: 12 (030) is twice 2.5 away.
* 021 sees everything but itself as the ranges of its slots: 1, 2, 3; 00, 01, 03; 020, 022, 023.
* 110 that is responsible for the range 1 keeps 110 and hands on 10, 12, 13, 111, 112 and 113; the
  receiver in 12, say 123, keeps 123 and hands on 120, 121, 122, ... and no identifier is left out
  or there twice.

An identifier is a text of digits, so that a range is a prefix of it. Pastry (IRBR, 004, L79-98).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from sapwood.errors import InputError
from sapwood.limits import OVERLAY_ROUTERS_MAX

Identifier: TypeAlias = str
"""All digits of a place on the circle."""

Range: TypeAlias = str
"""The first digits that all identifiers of a range have; the empty one is everything."""

DIGITS: Final = "0123456789abcdef"

EVERYTHING: Final[Range] = ""

_BITS_OF: Final = {2: 1, 4: 2, 16: 4}.items()
"""Bits in a digit of each base that is a power of two and has one sign a digit."""


def common_digits(one: str, other: str) -> int:
    """The number of first digits that two identifiers, or ranges, have in common."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def slot_of(own: Identifier, other: Identifier) -> Range:
    """The range in which an identifier sees another one: one digit more than they share.

    Of equal length from both sides: 012 sees 021 in 02, and 021 sees 012 in 01.
    """
    assert own != other, "an identifier is in none of its own slots"
    return other[: common_digits(own, other) + 1]


@dataclass(frozen=True, slots=True)
class IdentifierSpace:
    """All identifiers of a base (2, 4 or 16) and a number of digits, on a circle."""

    base: int
    digits: int

    def __post_init__(self) -> None:
        if self.base not in dict(_BITS_OF):
            known = ", ".join(str(base) for base, _ in _BITS_OF)
            raise InputError(f"the base of identifiers is one of {known}, not {self.base}")
        if self.digits < 1:
            raise InputError(f"an identifier has one digit at least, not {self.digits}")

    @property
    def size(self) -> int:
        """The number of identifiers."""
        return int(self.base**self.digits)

    def identifier_of(self, name: str) -> Identifier:
        """The identifier of a router of that name: the same for every caller, and spread evenly."""
        return _identifier_of(self, name)

    def written(self, number: int) -> Identifier:
        """The identifier of a number below `size`."""
        assert 0 <= number < self.size, "a number has its place on the circle"
        found = ""
        for _ in range(self.digits):
            number, digit = divmod(number, self.base)
            found = DIGITS[digit] + found
        return found

    def number(self, identifier: Identifier) -> int:
        """The number of an identifier."""
        return int(identifier, self.base)

    def is_range(self, text: str) -> bool:
        """True if a text is a range: at most as many digits as there are, of this base."""
        return len(text) <= self.digits and all(sign in DIGITS[: self.base] for sign in text)

    def distance(self, one: Identifier, other: Identifier) -> int:
        """The number of steps between two identifiers, the shorter way round."""
        apart = abs(self.number(one) - self.number(other))
        return min(apart, self.size - apart)

    def bounds(self, range_: Range) -> tuple[int, int]:
        """The numbers of the first and the last identifier of a range."""
        width = self.base ** (self.digits - len(range_))
        first = int(range_ or "0", self.base) * width
        return first, first + width - 1

    def doubled_middle(self, range_: Range) -> int:
        """Twice the middle of a range, half-way between two identifiers where it has several."""
        first, last = self.bounds(range_)
        return first + last

    def doubled_distance(self, identifier: Identifier, middle: int) -> int:
        """Twice the distance from an identifier to a middle that is given doubled."""
        apart = abs(2 * self.number(identifier) - middle)
        return min(apart, 2 * self.size - apart)

    def slots(self, own: Identifier, within: Range = EVERYTHING) -> Iterator[Range]:
        """The ranges into which one is split by an identifier in it, that one left out.

        Shorter ones first, and by digit; all are disjoint, and with `own` they are the whole range.
        """
        assert own.startswith(within), "who splits a range is in it"
        for length in range(len(within), self.digits):
            for digit in DIGITS[: self.base]:
                if digit != own[length]:
                    yield own[:length] + digit


@lru_cache(maxsize=OVERLAY_ROUTERS_MAX)
def _identifier_of(space: IdentifierSpace, name: str) -> Identifier:
    """The identifier of a name, cached: routers need those of the same names all the time."""
    bits = dict(_BITS_OF)[space.base] * space.digits
    digest = hashlib.blake2b(name.encode(), digest_size=(bits + 7) // 8).digest()
    return space.written(int.from_bytes(digest, "big") % space.size)
