"""The clients' keys of each filter, as numbers in arrays, for compiled code to follow.

Each key of a client's subscription has a number, from 0 on, and a pool holds for each of its slots
the first number of its keys; every further number is linked from the one before it. The keys k7 and
k9 hold the filter in slot 2 of a pool, k8 that in slot 0:

    number   0    1    2             slot    0    1    2
    name     k7   k8   k9            head    1   -1    2
    next    -1   -1    0
    before   2   -1   -1
    place    2    0    2

The *place* of a number is the slot that it holds, or, where the slot is in the second of two pools,
that of tree patterns, the slot's complement: -1 for slot 0 there, -3 for slot 2. So one table of
keys gives the number and the slot of a key, and a million keys have no further entry and no Python
integer.

A batch of two publications, of which the first matches slot 2 and the second slots 0 and 2, is
`offsets` 0 1 3 and `slots` 2 0 2: the first has the keys k9 and k7, the second k8, k9 and k7.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError

I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]

NOBODY: Final = -1

NUMBERS: Final = "i"
"""The type of an array of numbers: 32 bits with a sign."""

_PLAIN: Final = np.zeros(0, np.int32)


class Holders:
    """The keys of clients by number, linked if they hold the same filter.

    A free number is taken again. `renamed` are the numbers that were taken or freed since a caller
    emptied it.

    #: names[numbers[key]] == key for every key; a free number has the empty name
    #: nexts[a] == b iff befores[b] == a, for numbers of one filter
    #: _second is the count of taken numbers with a place below 0
    """

    __slots__ = (
        *(
            "_free",
            "_second",
            "_shared",
            "befores",
            "names",
            "nexts",
            "numbers",
            "places",
            "renamed",
        ),
    )

    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.nexts, self.befores, self.places = array(NUMBERS), array(NUMBERS), array(NUMBERS)
        self.renamed: list[int] = []
        self._free: list[int] = []
        self._shared: list[int] = []
        self._second = 0

    @property
    def is_dense(self) -> bool:
        """True if no number is free."""
        return not self._free

    def take(self, key: str, head: int, place: int = 0) -> int:
        """Number a new key, which holds a filter before the number `head`, or alone."""
        self._second += place < 0
        if self._free:
            number = self._free.pop()
            self.names[number] = key
            self.nexts[number] = head
            self.befores[number] = NOBODY
            self.places[number] = place
        else:
            number = len(self.names)
            self.names.append(key)
            self.nexts.append(head)
            self.befores.append(NOBODY)
            self.places.append(place)
        if head != NOBODY:
            self.befores[head] = number
        self.numbers[key] = number
        self.renamed.append(number)
        return number

    def shared(self, count: int) -> list[int]:
        """The numbers below `count`, and more, as objects that all tables share.

        A Python integer takes 32 bytes, and a reference to it 8.
        """
        if len(self._shared) < count:
            self._shared.extend(range(len(self._shared), count))
        return self._shared

    def take_many(self, keys: Sequence[str], places: I32 | None = None) -> int:
        """Number several new keys, each of which holds a filter alone; returns the first number.

        The further numbers follow it; no number may be free. Without `places` all hold slot 0.
        """
        if places is None:
            places = np.zeros(len(keys), np.int32)
        assert self.is_dense, "free numbers are taken first"
        first, nobody = len(self.names), array(NUMBERS, (NOBODY,)) * len(keys)
        last = first + len(keys)
        fresh = self.shared(last)[first:last]
        self.names.extend(keys)
        self.nexts.extend(nobody)
        self.befores.extend(nobody)
        self.places.frombytes(places.tobytes())
        self._second += int(np.count_nonzero(places < 0))
        self.numbers.update(zip(keys, fresh, strict=True))
        self.renamed.extend(fresh)
        return first

    def follow(self, number: int, head: int) -> None:
        """Link a number that holds a filter alone before the number `head`."""
        self.nexts[number], self.befores[head] = head, number

    def size(self, *, is_second: bool) -> int:
        """The number of keys that hold slots of the first pool, or of the second."""
        return self._second if is_second else len(self.numbers) - self._second

    def release(self, key: str) -> tuple[int, int]:
        """Free the number of a key; returns the numbers of its filter before and behind it."""
        number = self.numbers.pop(key)
        before, behind = self.befores[number], self.nexts[number]
        if before != NOBODY:
            self.nexts[before] = behind
        if behind != NOBODY:
            self.befores[behind] = before
        self.names[number] = ""
        self._second -= self.places[number] < 0
        self._free.append(number)
        self.renamed.append(number)
        return before, behind

    def from_head(self, head: int) -> Iterator[int]:
        """All numbers of a filter, given the first one."""
        while head != NOBODY:
            yield head
            head = self.nexts[head]

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        if {name: number for number, name in enumerate(self.names) if name} != self.numbers:
            raise InvariantError("keys of clients and their numbers disagree")
        if sorted(self._free) != [at for at, name in enumerate(self.names) if not name]:
            raise InvariantError("the free numbers are not those without a key")
        if len(self.places) != len(self.names) or self._second != sum(
            self.places[number] < 0 for number in self.numbers.values()
        ):
            raise InvariantError("it is not known of every number which slot it holds")
        for number in self.numbers.values():
            behind = self.nexts[number]
            if behind != NOBODY and self.befores[behind] != number:
                raise InvariantError(f"number {number} is not before the one behind it")


class HeldSlots(Mapping[str, int]):
    """The slots of one of two pools, by the clients' keys that hold them."""

    __slots__ = ("_holders", "_is_second")

    def __init__(self, holders: Holders, *, is_second: bool) -> None:
        self._holders = holders
        self._is_second = is_second

    def __len__(self) -> int:
        return self._holders.size(is_second=self._is_second)

    def __contains__(self, key: Any) -> bool:
        number = self._holders.numbers.get(key)
        return number is not None and (self._holders.places[number] < 0) is self._is_second

    def __getitem__(self, key: str) -> int:
        place = self._holders.places[self._holders.numbers[key]]
        if (place < 0) is not self._is_second:
            raise KeyError(key)
        return ~place if self._is_second else place

    def __iter__(self) -> Iterator[str]:
        places, is_second = self._holders.places, self._is_second
        for key, number in self._holders.numbers.items():
            if (places[number] < 0) is is_second:
                yield key


class KeyBatch(Sequence[Sequence[str]]):
    """The clients' keys that accept each publication of a batch, as arrays.

    Publication `i` has the holders of `slots[offsets[i]:offsets[i + 1]]`. The holders of a slot
    begin at its number in `heads`, and `counts` is their number per slot; without `heads` the slots
    are the numbers themselves. To be read before anything changes.
    """

    __slots__ = ("counts", "heads", "holders", "offsets", "slots")

    def __init__(
        self,
        offsets: I64,
        slots: I32,
        heads: array[int] | None,
        holders: Holders,
        counts: array[int] | None = None,
    ) -> None:
        self.offsets: Final = offsets
        self.slots: Final = slots
        self.heads: Final = heads
        self.counts: Final = counts
        self.holders: Final = holders

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], holders: Holders) -> KeyBatch:
        """Make a batch of the numbers of the keys for each publication."""
        offsets = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        slots = np.array([number for row in rows for number in row], np.int32)
        return cls(offsets, slots, None, holders)

    def __len__(self) -> int:
        """The number of publications."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> Sequence[str]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Sequence[str]]: ...
    def __getitem__(self, at: int | slice) -> Any:
        """The keys for a publication, in any order."""
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        names = self.holders.names
        return [names[number] for number in self.numbers(range(len(self))[at])]

    def numbers(self, place: int) -> list[int]:
        """The numbers of the keys for a publication."""
        slots: list[int] = self.slots[self.offsets[place] : self.offsets[place + 1]].tolist()
        heads = self.heads
        if heads is None:
            return slots
        follow = self.holders.from_head
        return [number for slot in slots for number in follow(heads[slot])]

    def chains(self) -> tuple[I32, I32]:
        """The first number of each slot, and the one behind each number, for compiled code.

        While the arrays are in use, no key may be added.
        """
        return as_numbers(self.heads), as_numbers(self.holders.nexts)

    def first(self, count: int) -> KeyBatch:
        """The keys for the first publications."""
        if count == len(self):
            return self
        offsets = self.offsets[: count + 1]
        slots = self.slots[: offsets[-1]]
        return KeyBatch(offsets, slots, self.heads, self.holders, self.counts)

    def within(self, keys_max: int) -> int:
        """The number of first publications with at most `keys_max` keys together; at least one."""
        if len(self) * len(self.holders.numbers) <= keys_max:
            return len(self)
        totals = self.offsets
        if self.counts is not None:
            keys = as_numbers(self.counts)[self.slots]
            if int(keys.sum()) <= keys_max:
                return len(self)
            totals = np.concatenate(([0], np.cumsum(keys, dtype=np.int64)))[totals]
        return max(1, int(np.searchsorted(totals, keys_max, "right")) - 1)

    def beside(self, other: KeyBatch) -> KeyBatch:
        """The keys of both batches, which are of the same publications and share no number.

        The slots of `other` are numbered on from those here: of a publication with the slots 0 2
        here, where there are three slots, and 1 there, the slots are 0 2 4.
        """
        if not len(other.slots):
            return self
        if not len(self.slots):
            return other
        heads, shift = None, 0
        if self.heads is not None and other.heads is not None:
            heads, shift = self.heads + other.heads, len(self.heads)
        rows = np.arange(len(self))
        owners = np.concatenate([np.repeat(rows, np.diff(one.offsets)) for one in (self, other)])
        slots = np.concatenate((self.slots, other.slots + np.int32(shift)))
        slots = slots[np.argsort(owners, kind="stable")]
        return KeyBatch(self.offsets + other.offsets, slots, heads, self.holders)


def as_numbers(held: array[int] | None) -> I32:
    """An array as compiled code reads it; while it is in use, nothing may be appended."""
    return np.frombuffer(held, np.int32) if held else _PLAIN
