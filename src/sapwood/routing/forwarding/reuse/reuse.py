"""Lookup reuse: the next routers look up the keys that one router has found (Shen 2.3 to 2.7).

The first router searches its index for the subscriptions that accept a publication, side by side,
and sends the keys of those of a link along with it. The next router looks these up in its key
table. Keys that are *complete* name all subscriptions that lie ahead, and content is not looked at
again. Other keys prove that the sides of their subscriptions accept the publication; clients, and
links without a key, are matched by content, and the keys found there are written anew.

At most `keys_max` keys are written: none with Never-Reuse, all that a digest holds with
Always-Reuse, a few with Partial-Reuse. Keys can be complete only where every router receives every
subscription under its own key (`tells_all`). Where subscriptions are covered, or equal ones travel
as one, upstream routers never have all of them (Algorithm 3.6): Always-Reuse would lose the
publications of those that they lack, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from sapwood.errors import InvariantError
from sapwood.limits import KEYS_AT_ONCE
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import take
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.leaving import forget_some
from sapwood.routing.forwarding.protocol import Onward, Routed
from sapwood.routing.forwarding.reuse.digest import ALL, hash_of
from sapwood.routing.forwarding.reuse.kernels.layout import NUMBER_BITS
from sapwood.routing.forwarding.reuse.key_table import Flags, KeyTable, Told
from sapwood.routing.forwarding.reuse.side import KeyedSide
from sapwood.routing.holders import Holders, KeyBatch
from sapwood.routing.tables import CLIENTS

_NUMBERS: Final = (1 << NUMBER_BITS) - 1


class Reuse:
    """Looks up the keys that earlier routers have found, and matches the rest.

    #: _table has exactly the keys of the sides, and of those that were removed and not cleared yet
    #: _left has the keys of sides that were removed, by serial number
    """

    __slots__ = (
        "_clients",
        "_engines",
        "_keys_max",
        "_left",
        "_serials",
        "_sides",
        "_table",
        "_tells_all",
        "content_matches",
        "digests_unread",
        "lookups",
    )

    def __init__(self, engines: Engines, keys_max: int, *, tells_all: bool) -> None:
        self._engines = engines
        self._keys_max = keys_max
        self._tells_all = tells_all
        self._serials = 0
        self._clients = KeyedSide(0, engines)
        #: in the order in which their links came up
        self._sides: dict[str, KeyedSide] = {CLIENTS: self._clients}
        self._table = KeyTable()
        self._left: dict[int, KeyedSide] = {}
        self.digests_unread = 0
        #: publications times the sides that they were matched against
        self.content_matches = 0
        #: keys that were looked up
        self.lookups = 0

    @property
    def holders(self) -> Holders:
        """The keys of the clients' subscriptions by number."""
        return self._clients.holders

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._serials += 1
        self._sides[side] = KeyedSide(self._serials, self._engines)

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its subscriptions; `clear` forgets the keys."""
        gone = self._sides.pop(side)
        if len(gone):
            self._left[gone.serial] = gone

    @property
    def has_left(self) -> bool:
        """True if keys of sides that were removed are in the table."""
        return bool(self._left)

    def clear(self, count: int) -> None:
        """Forget up to `count` of them."""
        forget_some(self._left, count, self._forget)

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side."""
        hashed, known = hash_of(key), self._sides[side]
        number = known.add(key, hashed, filter)
        self._table.add_many((hashed,), (known.serial << NUMBER_BITS | number,))

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        known = self._sides[side]
        hashes = [hash_of(key) for key, _ in entries]
        numbers = known.add_many(entries, hashes)
        self._table.add_many(hashes, [known.serial << NUMBER_BITS | number for number in numbers])

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        self._forget(self._sides[side], key)

    def _forget(self, side: KeyedSide, key: str) -> None:
        number = side.remove(key)
        self._table.remove(hash_of(key), side.serial << NUMBER_BITS | number)

    # Routing -----------------------------------------------------------------------------------

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,  # noqa: ARG002 - no earlier result is used
    ) -> Routed:
        """Route each publication by the keys of its digest, or by its content."""
        came = DigestBatch.of(digests)
        told = self._table.read(came)
        self.lookups += told.looked
        keys = self._own(batch, told)
        count = len(keys)
        if count < len(batch):
            batch, came, told = take(batch, range(count)), came[:count], told.first(count)
        is_unread = (came.sizes > 0) & ~told.is_told
        self.digests_unread += int(np.count_nonzero(is_unread))
        onward = []
        for neighbor, side in self._sides.items():
            if neighbor not in {arrival, CLIENTS}:
                is_going, written = self._onward(batch, came, told, is_unread, side)
                places = np.flatnonzero(is_going).tolist()
                if places:
                    onward.append(Onward(neighbor, places, written.take(places)))
        return Routed(keys, onward)

    def _own(self, batch: Sequence[Publication], told: Told) -> KeyBatch:
        """The keys of clients for each publication, or for the first ones."""
        asked = np.flatnonzero(~told.is_whole).tolist()
        holders = self._clients.holders
        if len(asked) == len(batch):
            self.content_matches += len(asked)
            keys = self._clients.match(batch)
            return keys.first(keys.within(KEYS_AT_ONCE))
        here = told.found >> NUMBER_BITS == self._clients.serial
        here &= told.is_whole[told.owners]
        sizes = np.bincount(told.owners[here], minlength=len(batch))
        offsets = np.concatenate(([0], sizes.cumsum()))
        numbers = (told.found[here] & _NUMBERS).astype(np.int32)
        keys = KeyBatch(offsets, numbers, None, holders)
        if asked:
            self.content_matches += len(asked)
            found = self._clients.match(take(batch, asked))
            rows = [keys.numbers(place) for place in range(len(batch))]
            for at, place in enumerate(asked[: len(found)]):
                rows[place] = found.numbers(at)
            if len(found) < len(asked):
                del rows[asked[len(found)] :]
            keys = KeyBatch.of(rows, holders)
        return keys.first(keys.within(KEYS_AT_ONCE))

    def _onward(
        self,
        batch: Sequence[Publication],
        came: DigestBatch,
        told: Told,
        is_unread: Flags,
        side: KeyedSide,
    ) -> tuple[Flags, DigestBatch]:
        """The publications that go to a side, as flags, and the digest of each; none for others."""
        going = self._table.passed_on(came, told, side.serial)
        is_going = going.sizes > 0
        asked = np.flatnonzero(~told.is_whole & ~is_going)
        if not len(asked) or not len(side):
            return is_going, going
        self.content_matches += len(asked)
        named = side.named(take(batch, asked.tolist()), self._keys_max)
        is_going[asked] = np.diff(named.offsets) > 0
        fresh = self._table.written(*named, self._keys_max, tells_all=self._tells_all)
        going = going.put(asked, fresh)
        left = np.flatnonzero(is_unread)
        if len(left):
            going = going.put(left, DigestBatch(came.data, came.starts[left], came.ends[left]))
        return is_going, going

    def is_complete(self, digest: bytes) -> bool:
        """True if a digest names all subscriptions that lie ahead."""
        return digest.startswith(ALL)

    def counters(self) -> dict[str, int]:
        """The matches and lookups so far."""
        return {"content_matches": self.content_matches, "lookups": self.lookups}

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        return self._clients.match((publication,))[0]

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check sides, numbers and the key table against the subscriptions."""
        if [*self._sides] != [*sides]:
            raise InvariantError("keys are kept of other links than those that are up")
        expected: dict[int, list[int]] = {}
        for name, filters in sides.items():
            side = self._sides[name]
            side.validate()
            if {key: side.filter(key) for key in side.keys} != filters:
                raise InvariantError(f"other keys are known from {name or 'clients'} than came")
        for side in (*self._sides.values(), *self._left.values()):
            for key, number in side.holders.numbers.items():
                if side.hashes[number] != hash_of(key):
                    raise InvariantError(f"key {key} is kept under a hash that is not its own")
                place = side.serial << NUMBER_BITS | number
                expected.setdefault(hash_of(key), []).append(place)
        found = {hashed: sorted(places) for hashed, places in self._table.items().items()}
        if found != {hashed: sorted(places) for hashed, places in expected.items()}:
            raise InvariantError("the key table disagrees with the subscriptions")
