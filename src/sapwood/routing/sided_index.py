"""One index with sides: what clients subscribed to, and what came over each link.

One match a hop gives clients their subscriptions and each link its yes or no (XSiena 2.10: an AND
gate for each filter, an OR gate for each interface). Equal filters of several sides are stored once
(XSiena 2.4, identity). How filters lie in indexes depends on the engine:

* Where one search among all filters costs less than a search for each side, all are in one index,
  and a match reads the links off an array (`sapwood.routing.pool`).
* An engine that pays for each filter that a record comes near, as counting does, gains nothing from
  having them together, and would have to find thousands of matches where a link needs one. There,
  filters of records are in an index for each side, and the search for a link ends with its first
  match. Tree patterns are together all the same: a document is read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sapwood.errors import DuplicateIdError, InvariantError, UnknownIdError, UnknownNameError
from sapwood.matching.choice import Engines
from sapwood.matching.engines import engine_info
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.pool import Pool
from sapwood.routing.tables import CLIENTS

_ALL: Final = -1
"""All bits."""


class Matches(NamedTuple):
    """Who wants a publication.

    `keys` are those of the clients' filters that accept it, sorted. `neighbors` have one that does,
    in the order in which their sides were added.
    """

    keys: list[str]
    neighbors: list[str]


class _Share:
    """What one side has in one pool; `bit` is that of a link, 0 for clients."""

    __slots__ = ("bit", "pool", "slots")

    def __init__(self, pool: Pool, bit: int) -> None:
        self.pool = pool
        self.bit = bit
        #: key -> slot of the pool
        self.slots: dict[str, int] = {}

    def add(self, key: str, wanted: Interest) -> None:
        """Hold a filter under a new key."""
        if self.bit:
            self.slots[key] = self.pool.add_for_link(self.bit, wanted)
        else:
            self.slots[key] = self.pool.add_for_client(key, wanted)

    def remove(self, key: str) -> None:
        """Hold what is under a key no longer."""
        slot = self.slots.pop(key)
        if self.bit:
            self.pool.remove_for_link(self.bit, slot, is_last=not self.slots)
        else:
            self.pool.remove_for_client(key, slot)


class _Side(NamedTuple):
    """A side: its filters of records, and its tree patterns. A key is in one of the two."""

    records: _Share
    patterns: _Share

    def share_of(self, key: str) -> _Share:
        """Where a key is; raises `UnknownIdError`."""
        for share in self:
            if key in share.slots:
                return share
        raise UnknownIdError("subscription", key)


class SidedIndex:
    """Filters by side and key, and which sides have one that accepts a publication.

    The sides are `CLIENTS`, which is always there, and those that were added, one for each
    neighbor. A key is unique on its side.

    #: _bits are those of all links; no two have the same
    #: _records[bits] is the pool of filters of records of those links: all, or a single one
    """

    __slots__ = (
        "_bits",
        "_clients",
        "_engines",
        "_is_shared",
        "_links",
        "_own",
        "_patterns",
        "_records",
    )

    def __init__(self, engines: Engines) -> None:
        """Raises `UnknownNameError` for an engine that does not exist."""
        self._engines = engines
        self._is_shared = engine_info(engines.records).is_shared
        self._clients, self._patterns = Pool(engines), Pool(engines)
        self._records: dict[int, Pool] = {_ALL: Pool(engines)} if self._is_shared else {}
        self._bits = 0
        self._own = _Side(_Share(self._clients, 0), _Share(self._patterns, 0))
        #: in the order in which they were added
        self._links: dict[str, _Side] = {}

    def __len__(self) -> int:
        """The number of keys of all sides."""
        return self.size(CLIENTS) + sum(map(self.size, self._links))

    def __contains__(self, side: object) -> bool:
        """Whether there is such a side."""
        return side == CLIENTS or side in self._links

    @property
    def neighbors(self) -> tuple[str, ...]:
        """The sides but `CLIENTS`, in the order in which they were added."""
        return tuple(self._links)

    def size(self, side: str) -> int:
        """The number of keys of a side; raises `UnknownNameError`."""
        return sum(len(share.slots) for share in self._known(side))

    def keys(self, side: str) -> Iterator[str]:
        """The keys of a side: those of filters of records first; raises `UnknownNameError`."""
        return (key for share in self._known(side) for key in share.slots)

    def filter(self, side: str, key: str) -> Interest:
        """The filter of a side under a key, equal to the one that was added.

        Raises `UnknownNameError`, `UnknownIdError`.
        """
        share = self._known(side).share_of(key)
        return share.pool.filter(share.slots[key])

    def add_side(self, side: str) -> None:
        """Add a side without filters; raises `DuplicateIdError` if there is one of that name."""
        if side in self:
            raise DuplicateIdError("side", side)
        bit = ~self._bits & (self._bits + 1)
        self._bits |= bit
        if not self._is_shared:
            self._records[bit] = Pool(self._engines)
        pool = self._records[_ALL if self._is_shared else bit]
        self._links[side] = _Side(_Share(pool, bit), _Share(self._patterns, bit))

    def remove_side(self, side: str) -> None:
        """Remove a side with all its filters; takes as long as removing these one by one.

        Raises `UnknownNameError`, and `InvariantError` for `CLIENTS`.
        """
        if side == CLIENTS:
            raise InvariantError("a router always has a side for its clients")
        records, patterns = self._known(side)
        del self._links[side]
        self._bits &= ~records.bit
        if self._records.pop(records.bit, None) is None:
            for key in tuple(records.slots):
                records.remove(key)
        for key in tuple(patterns.slots):
            patterns.remove(key)

    def add(self, side: str, key: str, filter: Interest) -> None:
        """Add a filter to a side; raises `UnknownNameError`, `DuplicateIdError`."""
        records, patterns = self._known(side)
        if key in records.slots or key in patterns.slots:
            raise DuplicateIdError("subscription", key)
        (records if isinstance(filter, Filter) else patterns).add(key, filter)

    def remove(self, side: str, key: str) -> None:
        """Remove a filter of a side; raises `UnknownNameError`, `UnknownIdError`."""
        self._known(side).share_of(key).remove(key)

    def match(self, publication: Publication, arrival: str | None) -> Matches:
        """The clients' keys and the neighbors whose filters accept a publication.

        `arrival` is the neighbor that it came from, `None` for a client; it is never among the
        neighbors. Raises `DocumentError` or `LimitError` for a document that is none.
        """
        links = 0
        keys: list[str] = []
        if publication.document is not None and len(self._patterns):
            links, opened = self._patterns.match(publication)
            keys += opened
        wanted = self._wanted(arrival)
        if publication.attributes is not None:
            keys += self._clients.match_keys(publication)
            for bits, pool in self._records.items() if wanted else ():
                asked = wanted & bits & ~links
                if asked:
                    links |= pool.match_links(publication, asked)
        keys.sort()
        return Matches(keys, self._named(links & wanted))

    def match_clients(self, publication: Publication) -> list[str]:
        """The clients' keys alone; errors as `match`."""
        keys: list[str] = []
        if publication.document is not None:
            keys += self._patterns.match_keys(publication)
        if publication.attributes is not None:
            keys += self._clients.match_keys(publication)
        keys.sort()
        return keys

    def match_batch(
        self, publications: Sequence[Publication], arrival: str | None
    ) -> list[Matches]:
        """`match` for each of some publications from one side; faster for many at once."""
        wanted = self._wanted(arrival)
        links = [0] * len(publications)
        keys: list[Sequence[str]] = [()] * len(publications)
        for pool in (self._patterns, self._clients):
            for at, opened in enumerate(pool.match_batch(publications)):
                links[at] |= opened.links
                keys[at] = (*keys[at], *opened.keys)
        for bits, pool in self._records.items():
            if wanted & bits:
                for at, more in enumerate(pool.match_links_batch(publications, wanted & bits)):
                    links[at] |= more
        return [
            Matches(sorted(own), self._named(opened & wanted))
            for own, opened in zip(keys, links, strict=True)
        ]

    def fold(self) -> None:
        """Do what engines have put off, so that matching is as fast as it can be."""
        for pool in self._pools():
            pool.fold()

    def validate(self) -> None:
        """Check the relations between sides, pools and indexes; raises `InvariantError`."""
        bits = [side.records.bit for side in self._links.values()]
        if sum(bits) != self._bits or any(bit.bit_count() != 1 for bit in bits):
            raise InvariantError("the bits of sides are not those that are taken")
        shares = [share for side in (self._own, *self._links.values()) for share in side]
        for pool in self._pools():
            holders: dict[int, Counter[int]] = {}
            for share in shares:
                if share.pool is pool:
                    for slot in share.slots.values():
                        holders.setdefault(slot, Counter())[share.bit] += 1
            pool.validate(holders)
        for share in self._own:
            for key, slot in share.slots.items():
                if key not in share.pool.keys(slot):
                    raise InvariantError(f"key {key} of clients is not on its filter")

    def _known(self, side: str) -> _Side:
        found = self._own if side == CLIENTS else self._links.get(side)
        if found is None:
            raise UnknownNameError("side", side, (CLIENTS, *self._links))
        return found

    def _wanted(self, arrival: str | None) -> int:
        """The bits of the links that a publication may go to."""
        return self._bits if arrival is None else self._bits & ~self._known(arrival).records.bit

    def _pools(self) -> Iterator[Pool]:
        return iter((self._clients, self._patterns, *self._records.values()))

    def _named(self, links: int) -> list[str]:
        """Links by name, in the order in which they were added."""
        if not links:
            return []
        return [name for name, side in self._links.items() if side.records.bit & links]
