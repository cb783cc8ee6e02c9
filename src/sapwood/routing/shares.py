"""The pools that hold the filters of one side, key by key."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from sapwood.errors import UnknownIdError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept, KeptFilters, kept
from sapwood.routing.holders import HeldSlots
from sapwood.routing.pool import Pool


class Share:
    """The filters of one side in one pool; `bit` is that of a link, 0 for clients."""

    __slots__ = ("_own", "bit", "pool", "slots")

    def __init__(self, pool: Pool, bit: int) -> None:
        self.pool = pool
        self.bit = bit
        #: the keys of a link; those of clients are in the pool's holders
        self._own: dict[str, int] = {}
        #: key -> slot of the pool
        self.slots: Mapping[str, int] = self._own
        if not bit:
            self.slots = HeldSlots(pool.holders, is_second=pool.is_of_documents)

    def has_any(self, keys: Collection[str]) -> bool:
        """True if one of the keys is here, or with clients in a share beside this one."""
        known = self._own if self.bit else self.pool.holders.numbers
        return bool(known) and not known.keys().isdisjoint(keys)

    def filter(self, key: str) -> Interest:
        """The filter under a key."""
        return self.pool.filter(self.slots[key])

    def add(self, key: str, wanted: Interest) -> None:
        """Hold a filter under a new key."""
        if self.bit:
            self._own[key] = self.pool.add_for_link(self.bit, wanted)
        else:
            self.pool.add_for_client(key, wanted)

    def add_many(self, items: Sequence[tuple[str, Interest]]) -> None:
        """Hold filters under new keys."""
        keys: Sequence[str]
        contents: Sequence[Kept]
        if isinstance(items, KeptFilters):
            keys, contents = items.names, items.packed
        else:
            keys, contents = [key for key, _ in items], [kept(one) for _, one in items]
        if self.bit:
            slots = self.pool.add_many_for_link(self.bit, contents)
            self._own.update(zip(keys, slots, strict=True))
        else:
            self.pool.add_many_for_client(keys, contents)

    def remove(self, key: str) -> None:
        """Remove the filter under a key."""
        if self.bit:
            slot = self._own.pop(key)
            self.pool.remove_for_link(self.bit, slot, is_last=not self._own)
        else:
            self.pool.remove_for_client(key, self.slots[key])

    def remove_newest(self, count: int) -> int:
        """Remove up to `count` filters of a link, those that came last; returns how many."""
        own = self._own
        slots = [own.popitem()[1] for _ in range(min(count, len(own)))]
        if slots:
            self.pool.remove_many_for_link(self.bit, slots, is_last=not own)
        return len(slots)

    def give(self, other: Share, filters: int) -> None:
        """Move up to `filters` filters, or all, to another share of the side."""
        for key in tuple(islice(self.slots, filters)):
            wanted = self.filter(key)
            self.remove(key)
            other.add(key, wanted)


class Side:
    """The filters of a side: those of records in a common pool or its own, and tree patterns.

    While they move from one pool to the other, each pool has a part of them.

    #: a key is in one share
    """

    __slots__ = ("bit", "common", "crowding", "own", "patterns", "refusals")

    def __init__(self, common: Share | None, own: Share | None, patterns: Share) -> None:
        self.common = common
        self.own = own
        self.patterns = patterns
        #: the bit of the link, 0 for clients
        self.bit = patterns.bit
        #: matches that made searches in the common pool long, since the link last moved
        self.crowding = 0
        #: the searches of its own pool without a match minus those with one, 0 at least
        self.refusals = 0

    def __len__(self) -> int:
        """The number of keys."""
        return sum(len(share.slots) for share in self.shares())

    def shares(self) -> Iterator[Share]:
        """All shares."""
        if self.common is not None:
            yield self.common
        if self.own is not None:
            yield self.own
        yield self.patterns

    def share_of(self, key: str) -> Share:
        """The share that has a key; raises `UnknownIdError`."""
        for share in self.shares():
            if key in share.slots:
                return share
        raise UnknownIdError("subscription", key)

    def share_for(self, wanted: Interest) -> Share:
        """The share for a further filter: its own pool if the others of its kind are all there."""
        if not isinstance(wanted, Filter):
            return self.patterns
        if self.own is not None and not (self.common is not None and self.common.slots):
            return self.own
        assert self.common is not None, "filters of records have a pool"
        return self.common
