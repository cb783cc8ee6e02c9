"""Bloom forwarding: matched where a publication enters, compared bit by bit further on.

XSiena 5.2. The first router matches by content and writes bits beside the publication; the others
compare these with the bits of the filters of each of their links, and look at no content. There are
no false negatives: all bits of a filter that matches are there, whatever else is. So links may get
publications that no router behind them subscribes to, and clients must not: a router that has bits
of a filter of its clients matches by content for these.

The first router has to know all filters that any router ahead has. Identity-based routing sees to
that, since of equal filters one travels to everywhere (XSiena 2.4); covering would not.

Filters are identified by themselves, never by their bits. The work drops filters with equal bits
(5.2): then the second of two filters with the same bits is gone with the first.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import DuplicateIdError, InvariantError
from sapwood.limits import KEYS_AT_ONCE
from sapwood.matching.engine_names import Engines
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.publication_batch import may_have_documents, take
from sapwood.matching.slot_batches import spread
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.digests import DigestBatch, longest
from sapwood.routing.forwarding.bloom.side import CLIENTS_PLACE, BloomSide
from sapwood.routing.forwarding.bloom.structures import (
    U64,
    Digester,
    Flags,
    Matched,
    Table,
    Wanted,
    number_of,
)
from sapwood.routing.forwarding.leaving import forget_some
from sapwood.routing.forwarding.protocol import Onward, Routed
from sapwood.routing.holders import Holders, KeyBatch
from sapwood.routing.pool import Pool
from sapwood.routing.shares import Share
from sapwood.routing.tables import CLIENTS
from sapwood.sketches.sliced import HOLDERS_MAX

I64 = npt.NDArray[np.int64]

_WORD: Final = (1 << HOLDERS_MAX) - 1
_LINKS: Final = np.uint64(_WORD & ~(1 << CLIENTS_PLACE))
"""The bits of the links in the first word of sides, without the clients' bit."""


@dataclass(frozen=True, slots=True)
class Structures:
    """Makes the digester, which writes bits, and the tables, which compare them."""

    digester: Callable[[], Digester]
    table: Callable[[], Table]


class _Found(NamedTuple):
    """The results of comparing the digests of a batch: those that were read, and their sides.

    A row of `sides` has the bits of one digest, those of 64 sides a word.
    """

    is_read: Flags
    sides: U64


class Bloom:
    """Compares the bits of digests, and matches publications that come without.

    #: the digester has the filters of all sides, the tables those of each by its bit; both also
    #: have those of sides that were removed and are not cleared yet
    #: _numbers of a pool has the number of the filter in each taken slot
    """

    __slots__ = (
        "_clients",
        "_digester",
        "_left",
        "_links",
        "_numbers",
        "_patterns",
        "_sides",
        "_structures",
        "_tables",
        "content_matches",
        "digests_read",
        "digests_unread",
        "false_positives",
        "holders",
    )

    def __init__(self, engines: Engines, structures: Structures) -> None:
        self._structures = structures
        self._digester = structures.digester()
        self._tables = [structures.table()]
        #: the keys of the clients' subscriptions by number
        self.holders: Final = Holders()
        self._clients = Pool(engines, holders=self.holders)
        self._links = Pool(engines)
        self._patterns = Pool(engines, is_of_documents=True, holders=self.holders)
        self._numbers = {id(pool): array("Q") for pool in (self._links, self._patterns)}
        own = BloomSide(CLIENTS_PLACE, Share(self._clients, 0), Share(self._patterns, 0))
        #: in the order in which their links came up
        self._sides: dict[str, BloomSide] = {CLIENTS: own}
        self._left: dict[int, BloomSide] = {}
        self.digests_unread = 0
        #: publications whose digest selected their links
        self.digests_read = 0
        #: publications times the sides that they were matched against
        self.content_matches = 0
        #: publications that came with a digest and go nowhere: the last link was useless
        self.false_positives = 0

    # Subscriptions ------------------------------------------------------------------------------

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        taken = {one.place for one in self._sides.values()} | self._left.keys()
        place = next(at for at in range(len(taken) + 1) if at not in taken)
        if place // HOLDERS_MAX == len(self._tables):
            self._tables.append(self._structures.table())
        bit = 1 << place
        self._sides[side] = BloomSide(place, Share(self._links, bit), Share(self._patterns, bit))

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its subscriptions; `clear` forgets them."""
        gone = self._sides.pop(side)
        if len(gone):
            self._left[gone.place] = gone

    @property
    def has_left(self) -> bool:
        """True if filters of sides that were removed are kept."""
        return bool(self._left)

    def clear(self, count: int) -> None:
        """Forget up to `count` of them."""
        forget_some(self._left, count, self._forget)

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side."""
        self.learned_many(side, ((key, filter),))

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        known = self._sides[side]
        for key, _ in entries:
            if key in known:
                raise DuplicateIdError("subscription", key)
        shared: dict[int, list[tuple[str, Interest]]] = {}
        shares = {id(share): share for share in (known.records, known.patterns)}
        for key, wanted in entries:
            shared.setdefault(id(known.share_for(wanted)), []).append((key, wanted))
        for name, some in shared.items():
            share = shares[name]
            filters = [Wanted(number_of(wanted), wanted) for _, wanted in some]
            share.add_many(some)
            self._number(share, [key for key, _ in some], filters)
            self._table(known).add_many(_bit(known), filters)
            for one in filters:
                self._digester.learned(one)

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        self._forget(self._sides[side], key)

    def _forget(self, side: BloomSide, key: str) -> None:
        share = side.share_of(key)
        wanted = share.filter(key)
        share.remove(key)
        gone = Wanted(number_of(wanted), wanted)
        self._table(side).remove(_bit(side), gone)
        self._digester.forgot(gone)

    def _number(self, share: Share, keys: Sequence[str], filters: Sequence[Wanted]) -> None:
        """Keep the numbers of filters by slot, for pools whose matches go into digests."""
        numbers = self._numbers.get(id(share.pool))
        if numbers is None:
            return
        slots = [share.slots[key] for key in keys]
        missing = max(slots) + 1 - len(numbers)
        if missing > 0:
            numbers.extend([0] * missing)
        for slot, one in zip(slots, filters, strict=True):
            numbers[slot] = one.element

    def _table(self, side: BloomSide) -> Table:
        return self._tables[side.place // HOLDERS_MAX]

    # Routing ------------------------------------------------------------------------------------

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,  # noqa: ARG002 - no earlier result is used
    ) -> Routed:
        """Route each publication by the bits of its digest, or by its content.

        Of the batch, the first publications that all have a readable digest, or all have none.
        """
        open_to = self._open_to(arrival)
        if not longest(digests):
            return self._matched(batch, digests, open_to)
        came = DigestBatch.of(digests)
        found = self._read(came, open_to)
        others = np.flatnonzero(found.is_read != found.is_read[0])
        if len(others):
            batch, came = take(batch, range(others[0])), came[: others[0]]
        if found.is_read[0]:
            return self._compared(batch, came, found.sides[: len(came)], open_to)
        return self._matched(batch, came, open_to)

    def _open_to(self, arrival: str | None) -> Mapping[str, int]:
        """The links that publications may be sent to, each with its place among all sides."""
        return {
            name: side.place for name, side in self._sides.items() if name not in {arrival, CLIENTS}
        }

    def _read(self, digests: DigestBatch, open_to: Mapping[str, int]) -> _Found:
        """Compare digests with the filters of clients and of the open links."""
        wanted = sum(1 << place for place in (CLIENTS_PLACE, *open_to.values()))
        sides = np.zeros((len(digests), len(self._tables)), np.uint64)
        sides[:, 0], is_read = self._tables[0].search(digests, wanted & _WORD)
        for number, table in enumerate(self._tables[1:], 1):
            here = wanted >> number * HOLDERS_MAX & _WORD
            if here:
                sides[:, number], _ = table.search(digests, here)
        return _Found(is_read, sides)

    def _compared(
        self,
        batch: Sequence[Publication],
        digests: DigestBatch,
        sides: U64,
        open_to: Mapping[str, int],
    ) -> Routed:
        """Route publications whose digests name the sides `sides`."""
        keys = self._own(batch, _naming(sides, CLIENTS_PLACE))
        count = len(keys)
        sides = sides[:count]
        sides[:, 0] &= _LINKS
        self.digests_read += count
        is_for_some = sides.any(axis=1) | (np.diff(keys.offsets) > 0)
        self.false_positives += count - int(np.count_nonzero(is_for_some))
        return Routed(keys, _onward(sides, digests[:count], open_to))

    def _own(self, batch: Sequence[Publication], asked: Sequence[int]) -> KeyBatch:
        """The clients' keys for each publication; the `asked` places are matched by content."""
        if not asked:
            return KeyBatch(
                np.zeros(len(batch) + 1, np.int64), np.zeros(0, np.int32), None, self.holders
            )
        some = take(batch, asked)
        self.content_matches += len(some)
        found = self._clients.match_batch(some)
        keys = self._clients.keys_of(spread(found, asked, len(batch)))
        if len(self._patterns) and may_have_documents(some):
            found = self._patterns.match_batch(some)
            more = self._patterns.keys_of(spread(found, asked, len(batch)))
            count = min(len(keys), len(more))
            keys = keys.first(count).beside(more.first(count))
        return keys.first(keys.within(KEYS_AT_ONCE))

    def _matched(
        self, batch: Sequence[Publication], digests: Sequence[bytes], open_to: Mapping[str, int]
    ) -> Routed:
        """Route publications by their content; those without a digest get one."""
        keys = self._clients.keys_of(self._clients.match_batch(batch))
        keys = keys.first(keys.within(KEYS_AT_ONCE))
        found = self._links.match_batch(_some(batch, len(keys)))
        keys = keys.first(len(found.offsets) - 1)
        links = self._words(self._links.links_of(found))
        matched = [(self._links, found)]
        if len(self._patterns) and may_have_documents(batch):
            found = self._patterns.match_batch(_some(batch, len(keys)))
            keys = keys.first(len(found.offsets) - 1).beside(self._patterns.keys_of(found))
            links = links[: len(keys)] | self._words(self._patterns.links_of(found))
            matched.append((self._patterns, found))
        count = len(keys)
        batch, came, links = _some(batch, count), DigestBatch.of(digests)[:count], links[:count]
        asked = sum(1 for name in open_to if len(self._sides[name]))
        self.content_matches += count * (1 + asked)
        self.digests_unread += int(np.count_nonzero(came.sizes))
        written = self._written(batch, came, self._going(links, open_to), matched)
        return Routed(keys, _onward(links, written, open_to))

    def _words(self, links: Sequence[int]) -> U64:
        """Links, as bits, in rows of words."""
        if len(self._tables) == 1:
            return np.array(links, np.uint64)[:, np.newaxis]
        shifts = [number * HOLDERS_MAX for number in range(len(self._tables))]
        return np.array([[one >> shift & _WORD for shift in shifts] for one in links], np.uint64)

    def _going(self, links: U64, open_to: Mapping[str, int]) -> I64:
        """The places of the publications that go to one of the open links."""
        every = self._words([sum(1 << place for place in open_to.values())])
        return np.flatnonzero((links & every).any(axis=1))

    def _written(
        self,
        batch: Sequence[Publication],
        came: DigestBatch,
        going: I64,
        matched: Sequence[tuple[Pool, SlotBatch]],
    ) -> DigestBatch:
        """The digest of each publication: the one it came with, or the bits of its matches."""
        count, needed = len(batch), going[came.sizes[going] == 0]
        if not len(needed):
            return came
        rows, parts = [], []
        for pool, found in matched:
            numbers = np.frombuffer(self._numbers[id(pool)] or bytes(8), np.uint64)
            offsets = found.offsets[: count + 1]
            rows.append(np.repeat(np.arange(count), np.diff(offsets)))
            parts.append(numbers[found.slots[: offsets[-1]]])
        owners, elements = np.concatenate(rows), np.concatenate(parts)
        if len(needed) < count:
            places = np.full(count, -1)
            places[needed] = np.arange(len(needed))
            owners = places[owners]
            owners, elements = owners[owners >= 0], elements[owners >= 0]
        if len(matched) > 1:
            order = np.argsort(owners, kind="stable")
            owners, elements = owners[order], elements[order]
        offsets = np.searchsorted(owners, np.arange(len(needed) + 1))
        fresh = self._digester.write(take(batch, needed.tolist()), Matched(offsets, elements))
        return fresh if len(needed) == count else came.put(needed, fresh)

    def counters(self) -> dict[str, int]:
        """The counts of publications matched by content, and by digests, so far."""
        return {
            "content_matches": self.content_matches,
            "digests_read": self.digests_read,
            "false_positives": self.false_positives,
        }

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        keys: list[str] = []
        if publication.document is not None:
            keys += self._patterns.match_keys(publication)
        if publication.attributes is not None:
            keys += self._clients.match_keys(publication)
        return sorted(keys)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check sides, numbers and bits against the subscriptions."""
        if [*self._sides] != [*sides]:
            raise InvariantError("bits are kept of other links than those that are up")
        self.holders.validate()
        for name, filters in sides.items():
            side = self._sides[name]
            if {key: side.filter(key) for key in side} != filters:
                raise InvariantError(f"other filters are known from {name or 'clients'} than came")
        held: list[dict[int, list[Wanted]]] = [{} for _ in self._tables]
        for side in (*self._sides.values(), *self._left.values()):
            some = [Wanted(number_of(side.filter(key)), side.filter(key)) for key in side]
            held[side.place // HOLDERS_MAX][_bit(side)] = some
            for key in side:
                share = side.share_of(key)
                numbers = self._numbers.get(id(share.pool))
                number = number_of(share.filter(key))
                if numbers is not None and numbers[share.slots[key]] != number:
                    raise InvariantError(f"the filter of {key} has another number")
        for table, some_held in zip(self._tables, held, strict=True):
            table.validate(some_held)
        self._digester.validate([one for some in held for each in some.values() for one in each])


def _naming(sides: U64, place: int) -> list[int]:
    """The rows that have the bit of a side."""
    word, bit = divmod(place, HOLDERS_MAX)
    rows: list[int] = np.flatnonzero(sides[:, word] & np.uint64(1 << bit)).tolist()
    return rows


def _onward(sides: U64, digests: DigestBatch, open_to: Mapping[str, int]) -> list[Onward]:
    """The publications and digests for each link, from rows with the bits of sides."""
    named = ((neighbor, _naming(sides, place)) for neighbor, place in open_to.items())
    return [Onward(neighbor, rows, digests.take(rows)) for neighbor, rows in named if rows]


def _bit(side: BloomSide) -> int:
    """The bit of a side in its table."""
    return 1 << side.place % HOLDERS_MAX


def _some(batch: Sequence[Publication], count: int) -> Sequence[Publication]:
    """The first publications of a batch."""
    return batch if count == len(batch) else take(batch, range(count))
