"""The key table: the places of the subscriptions that digests name (Shen 2.4).

A subscription has a *place*: the serial number of its side and its number there, `serial << 32 |
number`. The one with number 5 of the side with serial 2 has the place 0x2_0000_0005. Sides are
numbered anew whenever one is added, so places of a side that is gone lead nowhere.

Two keys with one hash cannot be distinguished: neither can be named, and a digest that names them
is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.readiness import Awaiting
from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.reuse.digest import HEAD_BYTES, KEY_BYTES
from sapwood.routing.forwarding.reuse.kernels.choice import KEYS, kernels
from sapwood.routing.forwarding.reuse.kernels.layout import GONE, I64, SHARED, U64, UNKNOWN

Flags = npt.NDArray[np.bool_]

_FIRST_ROWS: Final = 64
_SPREAD: Final = 4
"""Rows for each key in a table that has been made anew, at least."""


class Told(NamedTuple):
    """The content of the digests of a batch.

    Publication `owners[i]` has a key with the place `found[i]`, which stands at byte `where[i]` of
    the digests' memory, and `owners` ascend. `is_told[p]` is set if publication p has a digest that
    can be used, `is_whole` if its keys are complete. `looked` is the number of keys in such
    digests.
    """

    is_told: Flags
    is_whole: Flags
    owners: I64
    found: I64
    where: I64
    looked: int

    def first(self, count: int) -> Told:
        """The content of the digests of the first publications."""
        if count == len(self.is_told):
            return self
        keys = int(np.searchsorted(self.owners, count))
        told, whole = self.is_told[:count], self.is_whole[:count]
        return Told(told, whole, self.owners[:keys], self.found[:keys], self.where[:keys], 0)


class KeyTable:
    """The places of subscriptions by the hashes of their keys.

    #: _shared[h] are the places of the keys with hash h, two at least; its place is SHARED then
    #: _used rows are not UNKNOWN, two thirds at most
    """

    __slots__ = ("_awaiting", "_hashes", "_places", "_shared", "_used")

    def __init__(self) -> None:
        self._hashes: U64 = np.zeros(_FIRST_ROWS, np.uint64)
        self._places: I64 = np.full(_FIRST_ROWS, UNKNOWN, np.int64)
        self._used = 0
        self._shared: dict[int, list[int]] = {}
        self._awaiting = Awaiting(KEYS)

    def __len__(self) -> int:
        """The number of subscriptions."""
        return sum(map(len, self.items().values()))

    @property
    def has_shared(self) -> bool:
        """True if there are keys that cannot be named."""
        return bool(self._shared)

    def is_shared(self, hashed: int) -> bool:
        """True if keys with that hash cannot be named."""
        return hashed in self._shared

    def add_many(self, hashes: Sequence[int], places: Sequence[int]) -> None:
        """Add keys with these hashes at these places."""
        self._make_room(len(hashes))
        keys, before = np.array(hashes, np.uint64), np.zeros(len(hashes), np.int64)
        module = kernels(len(hashes), self._awaiting)
        self._used += module.put_in(
            self._hashes, self._places, keys, np.array(places, np.int64), before
        )
        for at in np.flatnonzero(before != UNKNOWN).tolist():
            shared = self._shared.get(hashes[at])
            if shared is None:
                shared = self._shared[hashes[at]] = [int(before[at])]
                self._change(hashes[at], SHARED)
            shared.append(places[at])

    def remove(self, hashed: int, place: int) -> None:
        """Remove the key with that hash at a place."""
        left = self._shared.get(hashed)
        if left is None:
            before = self._change(hashed, GONE)
            assert before == place, "a key is removed from where it is not"
            return
        left.remove(place)
        if len(left) == 1:
            self._change(hashed, left[0])
            del self._shared[hashed]

    def places(self, hashes: Sequence[int]) -> I64:
        """The places of keys; `UNKNOWN` or `SHARED` for keys without a single place."""
        keys, found = np.array(hashes, np.uint64), np.zeros(len(hashes), np.int64)
        kernels(len(hashes), self._awaiting).find(self._hashes, self._places, keys, found)
        return found

    def read(self, digests: DigestBatch) -> Told:
        """Read digests; those that are not of this strategy, or damaged, have no content."""
        count = len(digests)
        most = int(digests.sizes.sum()) // KEY_BYTES
        owners, found, where = np.zeros((3, most), np.int64)
        is_told, is_whole = np.zeros((2, count), np.uint8)
        kept, looked = kernels(count + most, self._awaiting).read_keys(
            *(digests.data, digests.starts, digests.ends, self._hashes, self._places),
            *(owners, found, where, is_told, is_whole),
        )
        told, whole = is_told.view(np.bool_), is_whole.view(np.bool_)
        return Told(told, whole, owners[:kept], found[:kept], where[:kept], looked)

    def passed_on(self, digests: DigestBatch, told: Told, serial: int) -> DigestBatch:
        """The same digests with the keys of one side alone; without a key, no bytes."""
        count, keys = len(digests), len(told.owners)
        out = np.zeros(min(count, keys) * HEAD_BYTES + keys * KEY_BYTES, np.uint8)
        begins, finishes = np.zeros((2, count), np.int64)
        size = kernels(count + keys, self._awaiting).pass_on(
            *(digests.data, digests.starts, told.owners, told.found, told.where, serial),
            *(out, begins, finishes),
        )
        return DigestBatch(out[:size].tobytes(), begins, finishes)

    def written(self, keys: U64, offsets: I64, keys_max: int, *, tells_all: bool) -> DigestBatch:
        """Digests with the keys of some publications, up to `keys_max`; no bytes without a key.

        Publication `i` has `keys[offsets[i]:offsets[i + 1]]`. With `tells_all` they are complete
        where all of them are written.
        """
        count = len(offsets) - 1
        out = np.zeros(count * HEAD_BYTES + len(keys) * KEY_BYTES, np.uint8)
        begins, finishes = np.zeros((2, count), np.int64)
        size = kernels(count + len(keys), self._awaiting).write_keys(
            *(keys, offsets, keys_max, int(tells_all), int(self.has_shared)),
            *(self._hashes, self._places, out, begins, finishes),
        )
        return DigestBatch(out[:size].tobytes(), begins, finishes)

    def items(self) -> dict[int, list[int]]:
        """All places by hash, for checks."""
        rows = np.flatnonzero(self._places >= 0)
        alone = zip(self._hashes[rows].tolist(), self._places[rows].tolist(), strict=True)
        return {**{hashed: [place] for hashed, place in alone}, **self._shared}

    def _change(self, hashed: int, place: int) -> int:
        module = kernels(1, self._awaiting)
        before: int = module.change(self._hashes, self._places, np.uint64(hashed), place)
        return before

    def _make_room(self, more: int) -> None:
        """Provide rows for `more` further keys."""
        if 3 * (self._used + more) <= 2 * len(self._hashes):
            return
        rows = np.flatnonzero((self._places >= 0) | (self._places == SHARED))
        keys, places = self._hashes[rows], self._places[rows]
        size = len(self._hashes)
        while size < _SPREAD * (len(rows) + more):
            size *= 2
        self._hashes, self._places = np.zeros(size, np.uint64), np.full(size, UNKNOWN, np.int64)
        module = kernels(len(rows), self._awaiting)
        self._used = module.put_in(
            self._hashes, self._places, keys, places, np.zeros(len(rows), np.int64)
        )
