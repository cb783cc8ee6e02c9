"""The shape of a sketch: two sketches must share it to be joined or compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError

SIZE_MAX: Final = 1 << 32
PROBES_MAX: Final = 16
_WORD_BITS: Final = 64
_SALT_MAX: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class Shape:
    """`size` bits, a multiple of 64; `probes` of them for each element, at places chosen by `salt`.

    Raises `InputError` for a shape that no sketch has.
    """

    size: int
    probes: int
    salt: int

    def __post_init__(self) -> None:
        if not 0 < self.size < SIZE_MAX or self.size % _WORD_BITS:
            raise InputError(f"a sketch has some times 64 bits, below 2^32, not {self.size}")
        if not 0 < self.probes <= PROBES_MAX:
            raise InputError(f"a sketch has 1 to {PROBES_MAX} probes, not {self.probes}")
        if not 0 <= self.salt < _SALT_MAX:
            raise InputError(f"a salt has 64 bits; {self.salt} has not")

    @property
    def words(self) -> int:
        """The number of 64-bit words that the bits take."""
        return self.size // _WORD_BITS

    @classmethod
    def of(cls, elements: int, bits_each: int, probes: int, salt: int) -> Shape:
        """The shape for `elements` elements at `bits_each` bits each."""
        wanted = max(1, elements * bits_each)
        return cls(-(-wanted // _WORD_BITS) * _WORD_BITS, probes, salt)
