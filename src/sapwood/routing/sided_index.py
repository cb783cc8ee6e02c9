"""One index with sides: the subscriptions of clients, and those received over each link.

One match per hop selects the clients' subscriptions and the links (XSiena 2.10: an AND gate for
each filter, an OR gate for each interface). Equal filters of several sides are stored once (XSiena
2.4, identity). How filters lie in indexes depends on the engine:

* Where one search among all filters costs less than a search for each side (`columnar`), filters
  of records that came over links are in one pool (`sapwood.routing.pool`), and a match reads the
  links off an array. The search ends when all links have a match.
* It does not end early where one link has thousands of matches and another has none. So a link that
  crowds the pool moves to a pool of its own, where its search ends with its first match, as soon as
  its matches have cost as much as the move. It moves back when its own pool has been searched
  without a match often enough to pay for that.
* An engine that pays for each filter that a record comes near, as `counting` does, gains nothing
  from having links together. There, each link has its own pool from the beginning.

The clients' filters, all of whose matches are needed, are apart from those of links. Tree patterns
of all sides are together: a document is read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from sapwood.errors import DuplicateIdError, InvariantError, UnknownNameError
from sapwood.limits import KEYS_AT_ONCE
from sapwood.matching.beside import worker
from sapwood.matching.engine_names import Engines
from sapwood.matching.engines import engine_info
from sapwood.matching.prepared import ENGINE
from sapwood.matching.publication_batch import may_have_documents
from sapwood.model.interest import Interest
from sapwood.model.kept import KeptFilters, named
from sapwood.model.publication import Publication
from sapwood.routing.holders import Holders, KeyBatch
from sapwood.routing.pool import Pool
from sapwood.routing.ready_made import LINKS, OWN, ReadyMade
from sapwood.routing.shares import Share, Side
from sapwood.routing.tables import CLIENTS

_MOVED_MAX: Final = 256
"""Filters of a link that are moved at once: some milliseconds."""

_MATCHES_A_MOVE: Final = 1024
"""Matches that take as long as moving a filter."""

_REFUSALS_A_MOVE: Final = 4
"""Searches for nothing that take as long as moving a filter."""


class Matches(NamedTuple):
    """The sides that accept a publication.

    `keys` are those of the clients' filters that accept it, sorted. `neighbors` are those with a
    filter that accepts it, in the order in which their sides were added.
    """

    keys: list[str]
    neighbors: list[str]


class BatchMatches(NamedTuple):
    """The sides that accept each of some publications: of all given ones, or of the first of them.

    `keys` are those of the clients' filters, publication by publication. `places` are those of the
    publications that a neighbor accepts, for each one that accepts any, in the order of `Matches`.
    """

    keys: KeyBatch
    places: dict[str, list[int]]


class Adopted(NamedTuple):
    """The number of filters that an index begins with, and of the client keys that hold them."""

    filters: int
    held: int


class SidedIndex:
    """Filters by side and key, and the sides that have one that accepts a publication.

    The sides are `CLIENTS`, which is always there, and those that were added, one for each
    neighbor. A key is unique on its side.

    #: _bits are those of all links, and _by_bit maps each to its side; no two have the same
    #: _apart[bit] is the own pool of a link that has one
    """

    __slots__ = (
        "_apart",
        "_bits",
        "_by_bit",
        "_clients",
        "_engines",
        "_left",
        "_links",
        "_patterns",
        "_sides",
        "_together",
        "holders",
    )

    def __init__(self, engines: Engines) -> None:
        """Raises `UnknownNameError` for an engine that does not exist."""
        self._engines = engines
        #: the keys of `CLIENTS` by number
        self.holders = Holders()
        self._clients = Pool(engines, holders=self.holders)
        self._patterns = Pool(engines, is_of_documents=True, holders=self.holders)
        #: `None` where all links are apart
        self._together = Pool(engines) if engine_info(engines.records).is_shared else None
        self._apart: dict[int, Pool] = {}
        self._bits = 0
        self._by_bit: dict[int, Side] = {}
        #: bit -> a link that was removed, with filters that are still in the pools
        self._left: dict[int, Side] = {}
        own = Side(None, Share(self._clients, 0), Share(self._patterns, 0))
        #: `CLIENTS`, and then the links in the order in which they were added
        self._sides: dict[str, Side] = {CLIENTS: own}

    def __len__(self) -> int:
        """The number of keys of all sides."""
        return sum(map(len, self._sides.values()))

    def __contains__(self, side: object) -> bool:
        """True if there is such a side."""
        return side in self._sides

    @property
    def neighbors(self) -> tuple[str, ...]:
        """The sides but `CLIENTS`, in the order in which they were added."""
        return tuple(self._sides)[1:]

    def size(self, side: str) -> int:
        """The number of keys of a side; raises `UnknownNameError`."""
        return len(self._known(side))

    def keys(self, side: str) -> Iterator[str]:
        """The keys of a side: those of filters of records first; raises `UnknownNameError`."""
        return (key for share in self._known(side).shares() for key in share.slots)

    def filter(self, side: str, key: str) -> Interest:
        """The filter of a side under a key, equal to the one that was added.

        Raises `UnknownNameError`, `UnknownIdError`.
        """
        return self._known(side).share_of(key).filter(key)

    def adopt(self, ready: ReadyMade, present: Mapping[str, object]) -> Adopted:
        """Begin with saved engines, of clients and of links, where they are of the right filters.

        The clients' keys that are `present` hold their filters, where it is known which these are;
        all other filters, and those of links, are held by no side. The caller adds the rest to the
        sides next, and then calls `let_go`. Raises `FileFormatError` for files that are no engine.
        """
        info, (keys, own, links) = engine_info(self._engines.records), ready.lists
        filters = held = 0
        if (info.saved_as or info.name) != ENGINE:
            return Adopted(0, 0)
        for pool, name, given in ((self._clients, OWN, own), (self._together, LINKS, links)):
            engine = ready.prepared.engine_of(given)
            if pool is None or engine is None:
                continue
            pool.adopt(engine, given)
            filters += engine.filters
            if name == OWN:
                held = pool.hold_present(keys, engine.slots, present)
        return Adopted(filters, held)

    def let_go(self) -> None:
        """Remove the filters that no side holds."""
        for pool in (self._clients, self._together):
            if pool is not None:
                pool.let_go()

    def add_side(self, side: str) -> None:
        """Add a side without filters; raises `DuplicateIdError` if there is one of that name."""
        if side in self:
            raise DuplicateIdError("side", side)
        taken = self._bits | sum(self._left)
        bit = ~taken & (taken + 1)
        self._bits |= bit
        common = None if self._together is None else Share(self._together, bit)
        own = self._own_share(bit) if common is None else None
        self._sides[side] = self._by_bit[bit] = Side(common, own, Share(self._patterns, bit))

    def remove_side(self, side: str) -> None:
        """Remove a side with all its filters, which match no more; `clear` frees their places.

        Raises `UnknownNameError`, and `InvariantError` for `CLIENTS`.
        """
        if side == CLIENTS:
            raise InvariantError("a router always has a side for its clients")
        gone = self._known(side)
        del self._sides[side], self._by_bit[gone.bit]
        self._bits &= ~gone.bit
        if self._apart.pop(gone.bit, None) is not None:
            gone.own = None
        if len(gone):
            self._left[gone.bit] = gone

    @property
    def has_left(self) -> bool:
        """True if there are filters of sides that were removed."""
        return bool(self._left)

    def clear(self, count: int) -> None:
        """Remove up to `count` filters of sides that were removed, the newest first."""
        while self._left and count > 0:
            bit, side = next(iter(self._left.items()))
            for share in side.shares():
                count -= share.remove_newest(count)
            if not len(side):
                del self._left[bit]

    def add(self, side: str, key: str, filter: Interest) -> None:
        """Add a filter to a side; raises `UnknownNameError`, `DuplicateIdError`."""
        known = self._known(side)
        if any(key in share.slots for share in known.shares()):
            raise DuplicateIdError("subscription", key)
        known.share_for(filter).add(key, filter)

    def add_many(self, side: str, items: Iterable[tuple[str, Interest]]) -> None:
        """Add many filters to a side, each under its key: all of them, or none.

        Raises `UnknownNameError`, and `DuplicateIdError` for a key that is there already or twice.
        """
        known = self._known(side)
        given: Sequence[tuple[str, Interest]] = named(items)
        keys = given.names if isinstance(given, KeptFilters) else [key for key, _ in given]
        if len({*keys}) < len(keys):
            raise DuplicateIdError("subscription", Counter(keys).most_common(1)[0][0])
        if any(share.has_any(keys) for share in known.shares()):
            taken = (key for key in keys if any(key in share.slots for share in known.shares()))
            raise DuplicateIdError("subscription", next(taken))
        if isinstance(given, KeptFilters):
            if given:
                known.share_for(given[0][1]).add_many(given)
            return
        places: dict[Share, list[tuple[str, Interest]]] = {}
        for key, wanted in given:
            places.setdefault(known.share_for(wanted), []).append((key, wanted))
        added: list[tuple[Share, str]] = []
        try:
            for share, filters in places.items():
                share.add_many(filters)
                added += [(share, key) for key, _ in filters]
        except BaseException:
            for share, key in added:
                share.remove(key)
            raise

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
            if wanted:
                links |= self._match_links(publication, wanted & ~links)
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

    def match_batch(self, publications: Sequence[Publication], arrival: str | None) -> BatchMatches:
        """`match` for each of some publications from one side; faster for many at once.

        May end early, where the first publications have very many matches.
        """
        wanted = self._wanted(arrival)
        keys = self._clients.keys_of(self._clients.match_batch(publications))
        keys = keys.first(keys.within(KEYS_AT_ONCE))
        links = [0] * len(keys)
        if len(self._patterns) and may_have_documents(publications):
            found = self._patterns.match_batch(publications[: len(links)])
            links = self._patterns.links_of(found)
            keys = keys.first(len(links)).beside(self._patterns.keys_of(found))
        if wanted:
            more = self._links_batch(publications[: len(links)], wanted)
            links = [here | there for here, there in zip(links, more, strict=False)]
        places = {
            name: here
            for name, side in self._sides.items()
            if side.bit & wanted
            and (here := [place for place, opened in enumerate(links) if opened & side.bit])
        }
        return BatchMatches(keys.first(len(links)), places)

    def fold(self) -> None:
        """Do the work that engines have deferred, so that matching is as fast as it can be."""
        for pool in self._pools():
            pool.fold()

    def validate(self) -> None:
        """Check the relations between sides, pools and indexes; raises `InvariantError`."""
        self.holders.validate()
        if {side.bit: side for side in list(self._sides.values())[1:]} != self._by_bit:
            raise InvariantError("the bits of links are of other sides")
        if sum(self._by_bit) != self._bits or any(bit.bit_count() != 1 for bit in self._by_bit):
            raise InvariantError("the bits of links are not those that are taken")
        own = {bit: side.own.pool for bit, side in self._by_bit.items() if side.own is not None}
        if own != self._apart:
            raise InvariantError("the pools of single links are not theirs")
        if not self._left.keys().isdisjoint(self._by_bit):
            raise InvariantError("a link has the bit of one that was removed")
        every = [*self._sides.values(), *self._left.values()]
        shares = [share for side in every for share in side.shares()]
        for pool in self._pools():
            holders: dict[int, Counter[int]] = {}
            for share in shares:
                if share.pool is pool:
                    for slot in share.slots.values():
                        holders.setdefault(slot, Counter())[share.bit] += 1
            pool.validate(holders)
        for share in self._sides[CLIENTS].shares():
            for key, slot in share.slots.items():
                if key not in share.pool.keys(slot):
                    raise InvariantError(f"key {key} of clients is not on its filter")

    def _match_links(self, publication: Publication, wanted: int) -> int:
        """The links among `wanted`, as bits, with a filter that accepts a record."""
        links = 0
        together = self._together
        if together is None:
            for bit, pool in self._apart.items():
                if bit & wanted and pool.match_any(publication):
                    links |= bit
            return links
        for bit in tuple(self._apart):
            if bit & wanted:
                side = self._by_bit[bit]
                if self._apart[bit].match_any(publication):
                    links |= bit
                    side.refusals -= side.refusals > 0
                else:
                    self._refused(side)
        if wanted & ~links:
            links |= together.match_links(publication, wanted & ~links)
            self._note_crowds(together)
        return links

    def _links_batch(self, publications: Sequence[Publication], wanted: int) -> list[int]:
        """The links, as bits, that accept the record of each publication, or of the first."""
        links = [0] * len(publications)
        for bit in tuple(self._apart):
            if bit & wanted:
                found = self._apart[bit].match_links_batch(publications[: len(links)], bit)
                links = [here | there for here, there in zip(links, found, strict=False)]
                side, hits = self._by_bit[bit], sum(map(bool, found))
                side.refusals = max(0, side.refusals - hits)
                for _ in range(len(found) - hits):
                    self._refused(side)
        if self._together is not None:
            found = self._together.match_links_batch(publications[: len(links)], wanted)
            links = [here | there for here, there in zip(links, found, strict=False)]
            self._note_crowds(self._together)
        return links

    def _note_crowds(self, together: Pool) -> None:
        """Record the links that made the last search long; some may have been removed."""
        for bit, matches in together.crowds.items():
            if bit in self._by_bit:
                self._crowded(self._by_bit[bit], matches)

    def _crowded(self, side: Side, matches: int) -> None:
        """Count a link's matches that made a search long; give it its own pool if that pays."""
        assert side.common is not None, "the link is in a pool with others"
        side.crowding += matches
        if side.crowding >= _MATCHES_A_MOVE * min(len(side.common.slots), _MOVED_MAX):
            side.crowding = 0
            if side.own is None:
                side.own = self._own_share(side.bit)
            side.common.give(side.own, _MOVED_MAX)
            if worker() is None:
                side.own.pool.fold()

    def _refused(self, side: Side) -> None:
        """Count a search of a link's own pool without a match; after too many, move it back."""
        if side.own is None or side.common is None:
            return
        side.refusals += 1
        if side.refusals >= _REFUSALS_A_MOVE * min(len(side.own.slots), _MOVED_MAX):
            side.refusals = 0
            side.own.give(side.common, _MOVED_MAX)
            if not side.own.slots:
                side.own = None
                del self._apart[side.bit]

    def _own_share(self, bit: int) -> Share:
        pool = self._apart[bit] = Pool(self._engines)
        return Share(pool, bit)

    def _known(self, side: str) -> Side:
        found = self._sides.get(side)
        if found is None:
            raise UnknownNameError("side", side, self._sides)
        return found

    def _wanted(self, arrival: str | None) -> int:
        """The bits of the links that a publication may be sent to."""
        return self._bits if arrival is None else self._bits & ~self._known(arrival).bit

    def _pools(self) -> list[Pool]:
        pools = [self._clients, self._patterns, *self._apart.values()]
        return pools if self._together is None else [*pools, self._together]

    def _named(self, links: int) -> list[str]:
        """The names of links, in the order in which they were added."""
        if not links:
            return []
        return [name for name, side in self._sides.items() if side.bit & links]
