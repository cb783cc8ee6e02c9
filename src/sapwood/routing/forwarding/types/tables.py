"""A table for each DTD: a document is matched against the subscriptions that its type can match.

"If the producers publish events with different formats, in our case XML documents with different
DTDs, there is no other solution than maintaining a different routing table for each producer"
(Chand, XNet, 4.2.6). A type here is an advertisement of publishers, the paths that a DTD makes
possible; equal ones are one. A subscription stands in the table of each type that it intersects, so
in several if it fits several, and with the others if it fits none.

The first router finds the types that allow a document and writes their names beside it, and every
router looks into the table of the first that it has. That has all subscriptions that can accept the
document, whichever other types a router knows: a subscription that accepts a document of a type
intersects it. Where a router has none of the names, or there is no digest (of a document that no
type allows; one that came by a router which forwards in another way), it looks into all tables, as
if they were one. Records have no type, and are matched against the others alone.

Clients' subscriptions are found by keys and not by numbers, as one stands in several tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import may_have_documents
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements.advertisement import Advertisement
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.protocol import NO_DIGEST, Onward, Routed
from sapwood.routing.forwarding.types.digest import decode, encode
from sapwood.routing.forwarding.types.known import KnownTypes
from sapwood.routing.tables import CLIENTS


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The subscriptions that can accept documents of a type."""

    content: Advertisement
    index: EveryHop


@dataclass(slots=True, eq=False)
class Placed:
    """A tree pattern, and the tables that it is in; without a table, it is with the others."""

    pattern: TreePattern
    tables: list[Table] = field(default_factory=list)


class Found(NamedTuple):
    """The receivers of a publication: keys of clients' subscriptions, and neighbors; its digest."""

    keys: Sequence[str]
    neighbors: set[str]
    digest: bytes


class TypedTables:
    """Matches each document against the table of its type, and each record against the others.

    #: a tree pattern is in the tables of exactly those types that it intersects
    #: _others has the filters of records, and the patterns that are in no table
    #: all tables, and the others, have the same sides
    #: _placed has the patterns of each side, the clients' first, then in the order of the links
    """

    __slots__ = ("_engines", "_others", "_placed", "_tables", "_unread", "_was_matched", "types")

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._others = EveryHop(engines)
        self._tables: dict[bytes, Table] = {}
        self._placed: dict[str, dict[str, Placed]] = {CLIENTS: {}}
        self._unread = 0
        #: the matches counted by tables that no longer exist
        self._was_matched = 0
        self.types = KnownTypes(self._begin, self._end)

    @property
    def digests_unread(self) -> int:
        """The number of digests of other strategies that were passed on."""
        return self._unread + self._others.digests_unread

    @property
    def _indexes(self) -> Iterator[EveryHop]:
        yield self._others
        for table in self._tables.values():
            yield table.index

    # Types -------------------------------------------------------------------------------------

    def _begin(self, name: bytes, content: Advertisement) -> None:
        """Make a table for a type that is advertised, with the subscriptions that fit it."""
        table = self._tables[name] = Table(content, EveryHop(self._engines))
        for side, patterns in self._placed.items():
            if side != CLIENTS:
                table.index.add_side(side)
            fitting = [(k, one) for k, one in patterns.items() if content.intersects(one.pattern)]
            for key, placed in fitting:
                if not placed.tables:
                    self._others.forgot(side, key)
                placed.tables.append(table)
            table.index.learned_many(side, [(key, placed.pattern) for key, placed in fitting])

    def _end(self, name: bytes) -> None:
        """Remove the table of a type that is no longer advertised."""
        table = self._tables.pop(name)
        self._was_matched += table.index.content_matches
        for side, patterns in self._placed.items():
            for key, placed in patterns.items():
                if table in placed.tables:
                    placed.tables.remove(table)
                    if not placed.tables:
                        self._others.learned(side, key, placed.pattern)

    # Subscriptions -----------------------------------------------------------------------------

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._placed[side] = {}
        for index in self._indexes:
            index.add_side(side)

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its subscriptions."""
        del self._placed[side]
        for index in self._indexes:
            index.remove_side(side)

    @property
    def has_left(self) -> bool:
        """True if filters of sides that were removed are in a table."""
        return any(index.has_left for index in self._indexes)

    def clear(self, count: int) -> None:
        """Remove up to `count` of them, from the first table that has any."""
        for index in self._indexes:
            if index.has_left:
                index.clear(count)
                return

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side."""
        for index in self._put(side, key, filter):
            index.learned(side, key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        if not any(isinstance(wanted, TreePattern) for _, wanted in entries):
            self._others.learned_many(side, entries)
            return
        going: dict[EveryHop, list[tuple[str, Interest]]] = {}
        for key, wanted in entries:
            for index in self._put(side, key, wanted):
                going.setdefault(index, []).append((key, wanted))
        for index, some in going.items():
            index.learned_many(side, some)

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        for index in self._holding(self._placed[side].pop(key, None)):
            index.forgot(side, key)

    def _put(self, side: str, key: str, filter: Interest) -> Iterable[EveryHop]:
        """Enter a subscription; returns the indexes that are to hold it."""
        if not isinstance(filter, TreePattern):
            return self._holding(None)
        tables = [one for one in self._tables.values() if one.content.intersects(filter)]
        placed = self._placed[side][key] = Placed(filter, tables)
        return self._holding(placed)

    def _holding(self, placed: Placed | None) -> Iterable[EveryHop]:
        if placed is None or not placed.tables:
            return (self._others,)
        return [table.index for table in placed.tables]

    # Publications ------------------------------------------------------------------------------

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """Route each publication to the sides that accept it, with the names of its types."""
        if not may_have_documents(batch):
            keys, onward = self._others.route(batch, arrival, digests, now)
            return Routed(keys[:], onward)  # as texts: its numbers do not cover all subscriptions
        found = [
            self._found(publication, arrival, digest, now)
            for publication, digest in zip(batch, digests, strict=True)
        ]
        onward = []
        for side in self._placed:
            places = [place for place, one in enumerate(found) if side in one.neighbors]
            if places:
                onward.append(Onward(side, places, [found[place].digest for place in places]))
        return Routed([one.keys for one in found], onward)

    def _found(
        self, publication: Publication, arrival: str | None, digest: bytes, now: float
    ) -> Found:
        """The receivers of a publication, and its digest."""
        asked: Iterable[tuple[EveryHop, Publication]] = ((self._others, publication),)
        names = decode(digest)
        self._unread += names is None and bool(digest)
        if publication.document is not None:
            if arrival is None and not digest:
                names = [
                    name for name, one in self._tables.items() if one.content.matches(publication)
                ]
                digest = encode(names)
            name = next((name for name in names or () if name in self._tables), None)
            asked = self._asked(publication, name)
        keys: dict[str, None] = {}
        neighbors: set[str] = set()
        for index, part in asked:
            (own,), onward = index.route((part,), arrival, (NO_DIGEST,), now)
            keys.update(dict.fromkeys(own))
            neighbors.update(one.neighbor for one in onward)
        return Found(tuple(keys), neighbors, digest)

    def _asked(
        self, publication: Publication, name: bytes | None
    ) -> Iterable[tuple[EveryHop, Publication]]:
        """The indexes to match a document of a type with, each with the part to match."""
        if name is None:
            return [(index, publication) for index in self._indexes]
        index = self._tables[name].index
        if publication.attributes is None:
            return ((index, publication),)
        record, _ = publication.parts()
        return ((index, publication), (self._others, record))

    def counters(self) -> dict[str, int]:
        """The matches so far, as `every-hop` counts them, over all tables."""
        matches = sum(index.content_matches for index in self._indexes)
        return {"content_matches": matches + self._was_matched}

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        found = (index.matched(publication) for index in self._indexes)
        return sorted({key for keys in found for key in keys})

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check that each table holds exactly what its type intersects, and the others the rest."""
        if list(self._placed) != list(sides):
            raise InvariantError("tables by type are of other links")
        patterns = {
            side: {key: one for key, one in some.items() if isinstance(one, TreePattern)}
            for side, some in sides.items()
        }
        placed = {
            side: {key: one.pattern for key, one in some.items()}
            for side, some in self._placed.items()
        }
        if placed != patterns:
            raise InvariantError("other tree patterns have a place than those that are there")
        rest = {side: dict(some) for side, some in sides.items()}
        for table in self._tables.values():
            fitting = {
                side: {key: one for key, one in some.items() if table.content.intersects(one)}
                for side, some in patterns.items()
            }
            table.index.validate(fitting)
            for side, some in fitting.items():
                for key in some:
                    rest[side].pop(key, None)
                    if table not in self._placed[side][key].tables:
                        raise InvariantError(f"{key} is in a table that it does not know of")
        if sum(len(one.tables) for some in self._placed.values() for one in some.values()) != sum(
            sum(map(table.content.intersects, some.values()))
            for table in self._tables.values()
            for some in patterns.values()
        ):
            raise InvariantError("a tree pattern is said to be in a table that it is not in")
        self._others.validate(rest)
