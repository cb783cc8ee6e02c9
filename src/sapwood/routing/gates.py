"""Sets of links by number: the OR gates of the counting algorithm, one for each distinct set.

Many filters are held by the same links: most by one, popular ones by several. A set of links is
written once, as the bits of an integer, and each filter has the number of its set.

With links 0, 1 and 2, of which link 1 holds filters f and g, links 0 and 2 hold h, and only clients
hold i:

    gate   0      1      2
    bits   0b000  0b010  0b101        f and g have gate 1, h has gate 2, i has gate 0

A publication that f, g and h accept opens gates 1 and 2: links 0b010 | 0b101, which is all three.
"""

from __future__ import annotations

from typing import Final

from sapwood.errors import InvariantError

NO_LINK: Final = 0
"""The gate that leads to no link; it is always there."""


class Gates:
    """Sets of links in use, by number.

    #: _numbers[bits[gate]] == gate for every gate in use, and a free one has no bits
    #: _uses[gate] is the number of filters that have it, 0 for a free one
    """

    __slots__ = ("_free", "_numbers", "_uses", "bits")

    def __init__(self) -> None:
        #: gate -> its links, bit by bit
        self.bits: list[int] = [0]
        self._numbers: dict[int, int] = {0: NO_LINK}
        #: `NO_LINK` is not counted
        self._uses: list[int] = [0]
        self._free: list[int] = []

    def __len__(self) -> int:
        """The number of gates that lead to a link."""
        return len(self._numbers) - 1

    def enter(self, bits: int, filters: int = 1) -> int:
        """The gate of a set of links, with `filters` more uses."""
        gate = self._numbers.get(bits)
        if gate is None:
            if self._free:
                gate = self._free.pop()
                self.bits[gate] = bits
            else:
                gate = len(self.bits)
                self.bits.append(bits)
                self._uses.append(0)
            self._numbers[bits] = gate
        if gate != NO_LINK:
            self._uses[gate] += filters
        return gate

    def leave(self, gate: int, filters: int = 1) -> None:
        """Remove `filters` uses of a gate."""
        if gate == NO_LINK:
            return
        self._uses[gate] -= filters
        if not self._uses[gate]:
            del self._numbers[self.bits[gate]]
            self.bits[gate] = 0
            self._free.append(gate)

    def validate(self, used: dict[int, int]) -> None:
        """Check the relations above, and the uses of each gate; raises `InvariantError`."""
        known = {bits: gate for gate, bits in enumerate(self.bits) if bits or gate == NO_LINK}
        if known != self._numbers:
            raise InvariantError("gates and their numbers disagree")
        counted = {gate: uses for gate, uses in enumerate(self._uses) if uses}
        if counted != {gate: uses for gate, uses in used.items() if gate != NO_LINK}:
            raise InvariantError(f"gates are in use {counted}, filters have {used}")
        if sorted(self._free) != [
            gate for gate, bits in enumerate(self.bits) if not bits and gate != NO_LINK
        ]:
            raise InvariantError("the free gates are not those without links")
