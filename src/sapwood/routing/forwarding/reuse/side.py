"""The subscriptions of one side, with numbers and hashes for lookup reuse."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import DuplicateIdError, UnknownIdError
from sapwood.matching.engine_names import Engines
from sapwood.matching.protocol import ALL
from sapwood.matching.publication_batch import may_have_documents, take
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.holders import Holders, KeyBatch, as_numbers
from sapwood.routing.pool import Pool
from sapwood.routing.shares import Share

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

HASHES: Final = "Q"
"""The type of an array of hashes: 64 bits without a sign."""


class Named(NamedTuple):
    """Hashes of keys that accept each of some publications.

    Publication `i` has `hashes[offsets[i]:offsets[i + 1]]`.
    """

    hashes: U64
    offsets: I64


class KeyedSide:
    """The subscriptions of a neighbor, or of clients, with numbers and hashes of their keys.

    #: hashes[number] is that of the key with that number
    """

    __slots__ = ("_documents", "_records", "hashes", "holders", "serial")

    def __init__(self, serial: int, engines: Engines) -> None:
        self.serial: Final = serial
        self.holders: Final = Holders()
        self.hashes = array(HASHES)
        self._records = Share(Pool(engines, holders=self.holders), 0)
        self._documents = Share(Pool(engines, is_of_documents=True, holders=self.holders), 0)

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self.holders.numbers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.holders.numbers)

    @property
    def keys(self) -> Iterator[str]:
        """The keys, those of records first."""
        yield from self._records.slots
        yield from self._documents.slots

    def filter(self, key: str) -> Interest:
        """The filter under a key; raises `UnknownIdError`."""
        return self._share_of(key).filter(key)

    def add(self, key: str, hashed: int, wanted: Interest) -> int:
        """Add a subscription; returns its number, raises `DuplicateIdError`."""
        if key in self.holders.numbers:
            raise DuplicateIdError("subscription", key)
        share = self._records if isinstance(wanted, Filter) else self._documents
        share.add(key, wanted)
        return self._numbered(key, hashed)

    def add_many(self, entries: Sequence[tuple[str, Interest]], hashes: Sequence[int]) -> list[int]:
        """Add several subscriptions; returns their numbers."""
        for share, is_record in ((self._records, True), (self._documents, False)):
            some = [one for one in entries if isinstance(one[1], Filter) is is_record]
            if some:
                share.add_many(some)
        pairs = zip(entries, hashes, strict=True)
        return [self._numbered(key, hashed) for (key, _), hashed in pairs]

    def remove(self, key: str) -> int:
        """Remove a subscription; returns the number that it had, raises `UnknownIdError`."""
        number = self.holders.numbers.get(key)
        if number is None:
            raise UnknownIdError("subscription", key)
        self._share_of(key).remove(key)
        return number

    def match(self, batch: Sequence[Publication], limit: int = ALL) -> KeyBatch:
        """The keys that accept each publication of a batch, or of the first ones.

        Where more than `limit` filters of records accept one, `limit` of them suffice.
        """
        pool = self._records.pool
        keys = pool.keys_of(pool.match_batch(batch, limit))
        if self._documents.slots and may_have_documents(batch):
            pool = self._documents.pool
            more = pool.keys_of(pool.match_batch(batch[: len(keys)]))
            keys = keys.first(len(more)).beside(more)
        return keys

    def named(self, batch: Sequence[Publication], keys_max: int) -> Named:
        """The keys that accept each publication, up to `keys_max`, and one more if there is."""
        hashes: list[U64] = []
        sizes: list[I64] = [np.zeros(1, np.int64)]
        first = 0
        while first < len(batch):
            some = take(batch, range(first, len(batch))) if first else batch
            found = self.match(some, keys_max + 1)
            first += len(found)
            mine, each = self._hashes(found, keys_max + 1)
            hashes.append(mine)
            sizes.append(each)
        return Named(np.concatenate(hashes), np.concatenate(sizes).cumsum())

    def validate(self) -> None:
        """Check the numbers; raises `InvariantError`."""
        self.holders.validate()

    def _numbered(self, key: str, hashed: int) -> int:
        number = self.holders.numbers[key]
        missing = number + 1 - len(self.hashes)
        if missing > 0:
            self.hashes.extend([0] * missing)
        self.hashes[number] = hashed
        return number

    def _share_of(self, key: str) -> Share:
        return self._records if key in self._records.slots else self._documents

    def _hashes(self, found: KeyBatch, keys_max: int) -> tuple[U64, I64]:
        """The first hashes for each publication, and the number of them."""
        sizes: I64 = np.diff(found.offsets)
        if found.heads is not None and len(found.slots):
            heads, _ = found.chains()
            numbers = heads.take(found.slots)
            is_alone = bool((as_numbers(self.holders.nexts).take(numbers) < 0).all())
            if is_alone and not (sizes > keys_max).any():
                return self._all().take(numbers), sizes
        rows = [found.numbers(place)[:keys_max] for place in range(len(found))]
        every = np.array([number for row in rows for number in row], np.int64)
        return self._all().take(every), np.array([len(row) for row in rows], np.int64)

    def _all(self) -> U64:
        return np.frombuffer(self.hashes, np.uint64) if self.hashes else np.zeros(0, np.uint64)
