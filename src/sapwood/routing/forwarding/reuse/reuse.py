"""Lookup reuse: what one router has found, the next ones look up (Shen 2.3 to 2.7).

The first router asks its index which subscriptions accept a publication, side by side, and sends
the keys of those of a link along with it. The next router looks these up in its key table. Keys
that are *complete* name all subscriptions that lie ahead, and content is not looked at again.
Others prove that the publication is wanted where their subscriptions came from; clients, and links
that no key speaks for, are asked by content, and what is found there is written anew.

At most `keys_max` keys are written: none with Never-Reuse, all that a digest holds with
Always-Reuse, some with Partial-Reuse. Keys can be complete only where every router is told of every
subscription under its own key (`tells_all`). Where subscriptions are covered, or equal ones travel
as one, upstream routers never know all of them (Algorithm 3.6): Always-Reuse would lose what they
do not know, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits import KEYS_AT_ONCE
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import take
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.leaving import forget_some
from sapwood.routing.forwarding.protocol import NO_DIGEST, Onward, Routed
from sapwood.routing.forwarding.reuse.digest import (
    ALL,
    HEAD_BYTES,
    KEY_BYTES,
    MARK,
    SOME,
    hash_of,
    is_whole,
)
from sapwood.routing.forwarding.reuse.key_table import NUMBER_BITS, NUMBERS, SHARED, KeyTable
from sapwood.routing.forwarding.reuse.side import KeyedSide
from sapwood.routing.holders import Holders, KeyBatch
from sapwood.routing.tables import CLIENTS

I64 = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

_NONE: Final = np.zeros(0, np.int64)


class Said(NamedTuple):
    """What the digests of a batch say.

    Publication `owners[i]` has a key of side `serials[i]`, where its number is `numbers[i]`, and
    `owners` ascend. `is_told[p]` says that publication p has a digest that can be used, `is_whole`
    that its keys are complete.
    """

    is_told: Flags
    is_whole: Flags
    owners: Places
    serials: I64
    numbers: I64

    def about(self, serial: int, count: int) -> tuple[Flags, Flags]:
        """Which keys are of a side, and which of so many publications have one."""
        is_here: Flags = self.serials == serial
        has: Flags = np.zeros(count, np.bool_)
        has[self.owners[is_here]] = True
        return is_here, has

    def first(self, count: int) -> Said:
        """What is said about the first publications."""
        keys = int(np.searchsorted(self.owners, count))
        return Said(
            self.is_told[:count],
            self.is_whole[:count],
            self.owners[:keys],
            self.serials[:keys],
            self.numbers[:keys],
        )


class Reuse:
    """Looks up what earlier routers have found, and matches the rest.

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
        """A neighbor is there, from which nothing has come."""
        self._serials += 1
        self._sides[side] = KeyedSide(self._serials, self._engines)

    def remove_side(self, side: str) -> None:
        """A neighbor is gone, with all that came from there; `clear` forgets the keys."""
        gone = self._sides.pop(side)
        if len(gone):
            self._left[gone.serial] = gone

    @property
    def has_left(self) -> bool:
        """Whether keys of sides that were removed are in the table."""
        return bool(self._left)

    def clear(self, count: int) -> None:
        """Forget so many of them."""
        forget_some(self._left, count, self._forget)

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """A subscription came from a side."""
        hashed, known = hash_of(key), self._sides[side]
        number = known.add(key, hashed, filter)
        self._table.add(hashed, known.serial << NUMBER_BITS | number)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Subscriptions came from a side together."""
        known = self._sides[side]
        hashes = [hash_of(key) for key, _ in entries]
        numbers = known.add_many(entries, hashes)
        for hashed, number in zip(hashes, numbers, strict=True):
            self._table.add(hashed, known.serial << NUMBER_BITS | number)

    def forgot(self, side: str, key: str) -> None:
        """A subscription of a side is there no longer."""
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
        now: float,  # noqa: ARG002 - what was true a moment ago is not used
    ) -> Routed:
        """Each publication to those that its digest names, or that accept it."""
        said = self._read(digests)
        keys = self._own(batch, said)
        count = len(keys)
        if count < len(batch):
            batch, digests, said = take(batch, range(count)), digests[:count], said.first(count)
        self.digests_unread += sum(
            bool(came) and not is_told
            for came, is_told in zip(digests, said.is_told.tolist(), strict=True)
        )
        onward = []
        for neighbor, side in self._sides.items():
            if neighbor not in {arrival, CLIENTS}:
                going = self._onward(batch, digests, said, side)
                if going:
                    onward.append(Onward(neighbor, [*going], [*going.values()]))
        return Routed(keys, onward)

    def _read(self, digests: Sequence[bytes]) -> Said:
        """What digests say; those that are not of this strategy, or damaged, say nothing."""
        if not any(digests):
            nothing = np.zeros(len(digests), np.bool_)
            return Said(nothing, nothing, np.zeros(0, np.intp), _NONE, _NONE)
        own = [
            place for place, came in enumerate(digests) if came[:1] == _MARKED and is_whole(came)
        ]
        is_told, is_complete = np.zeros((2, len(digests)), np.bool_)
        is_told[own] = True
        is_complete[[place for place in own if digests[place].startswith(ALL)]] = True
        hashes = np.frombuffer(b"".join([digests[place][HEAD_BYTES:] for place in own]), "<u8")
        self.lookups += len(hashes)
        sizes = np.array([len(digests[place]) // KEY_BYTES for place in own], np.intp)
        places, owners = (
            self._table.places(hashes.tolist()),
            np.repeat(np.array(own, np.intp), sizes),
        )
        if self._table.has_shared:
            is_told[owners[places == SHARED]] = False
            is_complete &= is_told
        is_known = (places >= 0) & is_told[owners]
        if not is_known.all():
            places, owners = places[is_known], owners[is_known]
        return Said(is_told, is_complete, owners, places >> NUMBER_BITS, places & NUMBERS)

    def _own(self, batch: Sequence[Publication], said: Said) -> KeyBatch:
        """The keys of clients for each publication, or for the first ones."""
        asked = np.flatnonzero(~said.is_whole).tolist()
        holders = self._clients.holders
        if len(asked) == len(batch):
            self.content_matches += len(asked)
            keys = self._clients.match(batch)
            return keys.first(keys.within(KEYS_AT_ONCE))
        here = (said.serials == self._clients.serial) & said.is_whole[said.owners]
        sizes = np.bincount(said.owners[here], minlength=len(batch))
        offsets = np.concatenate(([0], sizes.cumsum()))
        keys = KeyBatch(offsets, said.numbers[here].astype(np.int32), None, holders)
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
        self, batch: Sequence[Publication], digests: Sequence[bytes], said: Said, side: KeyedSide
    ) -> dict[int, bytes]:
        """The places of the publications that go to a side, ascending, with their digests."""
        is_here, has = said.about(side.serial, len(batch))
        going: dict[int, bytes] = {}
        if has.any():
            sizes = np.bincount(said.owners[is_here], minlength=len(batch))
            letters = side.written(said.numbers[is_here])
            ends = [KEY_BYTES * end for end in accumulate(sizes.tolist(), initial=0)]
            for place in np.flatnonzero(has).tolist():
                came, first, last = digests[place], ends[place], ends[place + 1]
                is_all = len(came) == HEAD_BYTES + last - first
                going[place] = came if is_all else came[:HEAD_BYTES] + letters[first:last]
        asked = np.flatnonzero(~said.is_whole & ~has).tolist()
        if not asked:
            return going
        if len(side):
            self.content_matches += len(asked)
            going.update(self._asked(batch, digests, said.is_told, side, asked))
        return dict(sorted(going.items()))

    def _asked(
        self,
        batch: Sequence[Publication],
        digests: Sequence[bytes],
        is_told: Flags,
        side: KeyedSide,
        asked: Sequence[int],
    ) -> dict[int, bytes]:
        """Those that a side accepts, with what was found as their digests."""
        keys_max = self._keys_max
        named = side.named(take(batch, asked), keys_max)
        going: dict[int, bytes] = {}
        for at, place in enumerate(asked):
            first, last = named.starts[at], named.starts[at + 1]
            if first == last:
                continue
            came = digests[place]
            if came and not is_told[place]:
                going[place] = came
            elif not keys_max:
                going[place] = NO_DIGEST
            else:
                going[place] = self._digest(named.letters[first:last])
        return going

    def _digest(self, letters: bytes) -> bytes:
        """The digest with the first ones of some keys."""
        fits = len(letters) <= KEY_BYTES * self._keys_max
        is_whole = fits and self._tells_all
        if not fits:
            letters = letters[: KEY_BYTES * self._keys_max]
        if self._table.has_shared:
            hashes = np.frombuffer(letters, "<u8")
            named = [int(one) for one in hashes if not self._table.is_shared(int(one))]
            is_whole &= len(named) == len(hashes)
            letters = np.array(named, "<u8").tobytes()
        return (ALL if is_whole else SOME) + letters if letters else NO_DIGEST

    def is_complete(self, digest: bytes) -> bool:
        """Whether a digest names all subscriptions that lie ahead."""
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


_MARKED: Final = bytes((MARK,))
