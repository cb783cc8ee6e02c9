"""A pool: filters of several sides in one index, each distinct one once.

All are filters of records, or all are tree patterns.

A filter that several links or clients hold is stored once, with the set of the links that hold it
(its gate, `sapwood.routing.gates`) and the keys under which clients hold it. The index returns the
slots that accept a publication, in an array. For links only the gates are looked at: no key of
theirs is looked up, however many of their filters match.

Each slot of a pool has a *way*, `gate << 1 | (clients hold the filter)`. With gates 1 (link r2)
and 2 (links r2 and r3), and client keys k7 and k8 on the filter in slot 2:

    slot   0         1         2
    way    1 << 1|0  2 << 1|0  0 << 1|1      that is 2, 4 and 1
    head   -1        -1        8             k8, and behind it k7 (`sapwood.routing.holders`)

A publication that matches slots 0 and 2 opens ways 2 and 1: gate 1 leads to link r2, and the lowest
bit of the other way marks slot 2 as one with client keys.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, islice, pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.batch_matches import match_documents, match_records
from sapwood.matching.engine_names import Engines
from sapwood.matching.index import Index
from sapwood.matching.prepared import Engine
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.matching.publication_batch import take
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept, content_of, kept
from sapwood.model.publication import Publication
from sapwood.routing.gates import NO_LINK, Gates
from sapwood.routing.holders import NOBODY, NUMBERS, Holders, KeyBatch

_Ways: TypeAlias = npt.NDArray[np.int32]

_OWN: Final = 0
"""Stands for clients among the bits of links."""

_FEW: Final = 64
"""Slots of which a Python set finds the distinct gates sooner than an array does."""

_FIRST: Final = 16
_FIRST_EACH: Final = 8
_NEXT: Final = 16
"""The search first checks whether all links have a match after `_FIRST` matches, and `_FIRST_EACH`
more for each link. If matches fall on links at random, one of n links has none with probability
n / e**8. Each further check comes after `_NEXT` times as many matches, so that little of the work
before it is lost."""

_WORD_BITS: Final = 64

_CROWD: Final = 512
"""Matches of a link in one search that take as long as a search of its own pool."""

_NO_CROWDS: Final[Mapping[int, int]] = MappingProxyType({})

_HELD_MAX: Final = 1 << 20
"""Matches of a batch that are held at a time, beside those of one publication."""


class Opened(NamedTuple):
    """The result for a publication: the bits of links, and keys of clients in any order."""

    links: int
    keys: Sequence[str]


_NOTHING: Final = Opened(0, ())


class Pool:
    """An index whose filters belong to links and clients.

    #: _slots[_filters[slot]] == slot for every taken slot, and a free one has none
    #: heads[slot] is the first number of clients' keys; there is one iff the lowest bit of
    #: _ways[slot] is set
    """

    __slots__ = (
        "_counts",
        "_filters",
        "_gates",
        "_heads",
        "_held",
        "_index",
        "_repeats",
        "_slots",
        "_ways",
        "crowds",
        "holders",
        "is_of_documents",
    )

    def __init__(
        self,
        engines: Engines,
        *,
        is_of_documents: bool = False,
        holders: Holders | None = None,
    ) -> None:
        #: the keys of clients, of this pool and of others
        self.holders = Holders() if holders is None else holders
        self._index = Index(*engines)
        self.is_of_documents = is_of_documents
        self._gates = Gates()
        #: links, as bits, that made the last search for links long, to the matches of each
        self.crowds: Mapping[int, int] = _NO_CROWDS
        #: the bits of all links that hold a filter
        self._held = 0
        self._ways: _Ways = np.zeros(16, np.int32)
        #: an array of objects, which the garbage collector does not look at; as long as `_ways`
        self._filters = np.full(len(self._ways), None, np.object_)
        self._slots: dict[Kept, int] = {}
        #: the first key of each slot, and how many keys it has
        self._heads, self._counts = array(NUMBERS), array(NUMBERS)
        #: (slot, bit of a link) -> the keys of the link beyond the first; 1 at least
        self._repeats: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """The number of distinct filters."""
        return len(self._slots)

    def filter(self, slot: int) -> Interest:
        """The filter in a taken slot."""
        wanted: Kept | None = self._filters[slot]
        assert wanted is not None, f"slot {slot} is free"
        return cast("Interest", content_of(wanted))

    def links(self, slot: int) -> int:
        """The bits of the links that hold the filter in a taken slot."""
        return self._gates.bits[int(self._ways[slot]) >> 1]

    def add_for_link(self, bit: int, wanted: Interest) -> int:
        """Register a link's filter under one key more; returns its slot."""
        slot = self._slot(wanted)
        self._hold_for_link(bit, slot)
        return slot

    def _hold_for_link(self, bit: int, slot: int) -> None:
        """Count one key more of a link for the filter of a slot."""
        way = int(self._ways[slot])
        links = self._gates.bits[way >> 1]
        self._held |= bit
        if links & bit:
            self._repeats[slot, bit] = self._repeats.get((slot, bit), 0) + 1
        else:
            self._lead(slot, way, links | bit)

    def add_many_for_link(self, bit: int, contents: Sequence[Kept]) -> list[int]:
        """`add_for_link` for each of several filters in kept form; returns their slots."""
        slots, fresh = self._prepare(contents)
        held, at = np.array(slots, np.int64), None
        if slots is not fresh:
            held, at = np.unique(held, return_index=True)
            is_free = self._ways[held] == 0
            held, at = held[is_free], at[is_free]
        if len(held):
            self._held |= bit
            self._ways[held] = self._gates.enter(bit, len(held)) << 1
        if at is not None:
            others = np.ones(len(slots), np.bool_)
            others[at] = False
            for place in np.flatnonzero(others).tolist():
                self._hold_for_link(bit, slots[place])
        return slots

    def remove_for_link(self, bit: int, slot: int, *, is_last: bool) -> None:
        """Remove one key of a link for the filter of a slot; `is_last` if it has no other key."""
        if is_last:
            self._held &= ~bit
        if self._is_repeated(bit, slot):
            return
        way = int(self._ways[slot])
        self._lead(slot, way, self._gates.bits[way >> 1] & ~bit)
        self._release(slot)

    def _is_repeated(self, bit: int, slot: int) -> bool:
        """Take one key off those beyond a link's first one for a filter; false without any."""
        repeats = self._repeats.pop((slot, bit), 0)
        if repeats > 1:
            self._repeats[slot, bit] = repeats - 1
        return bool(repeats)

    def remove_many_for_link(self, bit: int, slots: Sequence[int], *, is_last: bool) -> None:
        """`remove_for_link` for the slot of each of several keys; `is_last` if no key is left."""
        if is_last:
            self._held &= ~bit
        if self._repeats:
            slots = [slot for slot in slots if not self._is_repeated(bit, slot)]
        held = np.array(slots, np.int64)
        ways = self._ways[held]
        for way in np.unique(ways).tolist():
            some = held[ways == way]
            gate = self._gates.enter(self._gates.bits[way >> 1] & ~bit, len(some))
            self._gates.leave(way >> 1, len(some))
            self._ways[some] = gate << 1 | way & 1
        gone = held[self._ways[held] == 0]
        for content in self._filters[gone]:
            del self._slots[content]
        self._filters[gone] = None
        self._index.release_many(gone.tolist())

    def add_for_client(self, key: str, wanted: Interest) -> int:
        """Register a client's filter under a new key; returns its slot."""
        return self._hold(key, self._slot(wanted))

    def _hold(self, key: str, slot: int) -> int:
        """Add a new client key to the filter of a slot."""
        self._reach(slot)
        place = ~slot if self.is_of_documents else slot
        self._heads[slot] = self.holders.take(key, self._heads[slot], place)
        self._counts[slot] += 1
        self._ways[slot] |= 1
        return slot

    def _reach(self, slot: int) -> None:
        """Extend the first keys and their counts to all slots up to this one."""
        missing = slot + 1 - len(self._heads)
        if missing > 0:
            self._heads.extend(array(NUMBERS, (NOBODY,)) * missing)
            self._counts.extend(array(NUMBERS, (0,)) * missing)

    def add_many_for_client(self, keys: Sequence[str], contents: Sequence[Kept]) -> list[int]:
        """`add_for_client` for each of several keys and kept filters; returns their slots."""
        slots, fresh = self._prepare(contents, is_shared=True)
        is_fresh = slots is fresh  # no filter is held yet, and none comes twice
        if not self.holders.is_dense:  # numbers that are free are taken
            return [self._hold(key, slot) for key, slot in zip(keys, slots, strict=True)]
        self._hold_many(keys, np.array(slots, np.int32), is_fresh=is_fresh)
        return slots

    def _hold_many(self, keys: Sequence[str], slots: Slots, *, is_fresh: bool) -> None:
        """Add new client keys to the filters of slots; no number of a key may be free.

        `is_fresh`: none of the filters is held yet, and none comes twice.
        """
        held, at = slots, np.arange(len(slots))
        first = self.holders.take_many(keys, ~held if self.is_of_documents else held)
        self._reach(int(held.max(initial=-1)))
        if not is_fresh:
            held, at, counts = np.unique(held, return_index=True, return_counts=True)
            is_alone = (counts == 1) & (np.frombuffer(self._heads, np.int32)[held] == NOBODY)
            held, at = held[is_alone], at[is_alone]
        np.frombuffer(self._heads, np.int32)[held] = first + at
        np.frombuffer(self._counts, np.int32)[held] = 1
        self._ways[held] |= 1
        if not is_fresh:
            others = np.ones(len(slots), np.bool_)
            others[at] = False
            for place in np.flatnonzero(others).tolist():
                self._share(int(slots[place]), first + place)

    def _share(self, slot: int, number: int) -> None:
        """Add a further client key to the filter of a slot; its number holds the filter alone."""
        head = self._heads[slot]
        if head != NOBODY:
            self.holders.follow(number, head)
        self._heads[slot] = number
        self._counts[slot] += 1
        self._ways[slot] |= 1

    def remove_for_client(self, key: str, slot: int) -> None:
        """Remove a client key from the filter of a slot."""
        before, behind = self.holders.release(key)
        self._counts[slot] -= 1
        if before != NOBODY:
            return
        self._heads[slot] = behind
        if behind == NOBODY:
            self._ways[slot] &= ~1
            self._release(slot)

    def match(self, publication: Publication) -> Opened:
        """The links and client keys whose filters accept a publication."""
        slots = self._index.found(publication)
        return self._opened(slots) if len(slots) else _NOTHING

    def match_any(self, publication: Publication) -> bool:
        """True if a filter of the pool accepts a publication."""
        return self._index.match_any(publication)

    def match_keys(self, publication: Publication) -> list[str]:
        """The keys of clients alone, in any order."""
        slots = self._index.found(publication).tolist()
        return [key for slot in slots for key in self.keys(slot)]

    def match_batch(self, publications: Sequence[Publication], limit: int = ALL) -> SlotBatch:
        """The slots that accept each of many publications: all, or the first of many matches.

        Of the filters of records that accept a publication, `limit` suffice. Faster than singly.
        """
        return self._found(publications, limit)

    def keys_of(self, found: SlotBatch) -> KeyBatch:
        """The clients' keys for the slots that accept each publication."""
        self._reach(len(self._filters) - 1)
        return KeyBatch(found.offsets, found.slots, self._heads, self.holders, self._counts)

    def links_of(self, found: SlotBatch) -> list[int]:
        """The links, as bits, that hold the slots that accept each publication."""
        if not self._held:
            return [0] * (len(found.offsets) - 1)
        gates = self._ways.take(found.slots) >> 1
        if self._held >> _WORD_BITS:
            ranges = pairwise(found.offsets.tolist())
            return [self._links_of(gates[first:last]) for first, last in ranges]
        some = np.flatnonzero(np.diff(found.offsets))
        links = np.zeros(len(found.offsets) - 1, np.uint64)
        if len(some):
            bits = np.array(self._gates.bits, np.uint64)[gates]
            links[some] = np.bitwise_or.reduceat(bits, found.offsets[some])
        every: list[int] = links.tolist()
        return every

    def match_links(self, publication: Publication, wanted: int) -> int:
        """The links among `wanted`, as bits, that accept a publication, and perhaps others.

        A link is answered by its first match, and the order of matches has nothing to do with
        links: where there are many matches, a part of them usually gives the result of all.
        """
        self.crowds = _NO_CROWDS
        wanted &= self._held
        if not wanted:
            return 0
        if self._held == wanted and len(self._gates) == 1:
            return wanted if self._index.match_any(publication) else 0
        first = limit = _enough(wanted)
        while True:
            slots = self._index.found(publication, limit)
            links = self._links_of(self._ways.take(slots) >> 1) if len(slots) else 0
            if len(slots) < limit or not wanted & ~links:
                break
            limit *= _NEXT
        if limit > first:
            self.crowds = self._counted(slots)
        return links

    def match_links_batch(self, publications: Sequence[Publication], wanted: int) -> list[int]:
        """`match_links` for each of many publications, or for the first of them; faster at once."""
        self.crowds = _NO_CROWDS
        wanted &= self._held
        if not wanted:
            return [0] * len(publications)
        if self._held == wanted and len(self._gates) == 1:
            counts = np.diff(self._found(publications, 1).offsets)
            return [wanted if count else 0 for count in counts.tolist()]
        limit = _enough(wanted)
        found = self._found(publications, limit)
        links = self.links_of(found)
        counts = np.diff(found.offsets)
        left = [at for at in np.flatnonzero(counts >= limit).tolist() if wanted & ~links[at]]
        crowds: Counter[int] = Counter()
        while left:
            limit *= _NEXT
            found = self._found(take(publications, left), limit)
            more, ends = self.links_of(found), found.offsets.tolist()
            unfinished = left[len(more) :]
            for place, opened, (first, last) in zip(left, more, pairwise(ends), strict=False):
                links[place] |= opened
                if last - first >= limit and wanted & ~links[place]:
                    unfinished.append(place)
                else:
                    crowds.update(self._counted(found.slots[first:last]))
            left = unfinished
        self.crowds = crowds
        return links

    def fold(self) -> None:
        """Do the work that the engines have deferred."""
        self._index.fold()

    def memory(self) -> int:
        """Bytes of the index alone."""
        return sum(self._index.memory().values())

    def validate(self, holders: Mapping[int, Counter[int]]) -> None:
        """Check the relations above, the index, and its holders; raises `InvariantError`.

        `holders` are the bits of the links that hold each slot, and 0 for clients, with the number
        of their keys.
        """
        self._index.validate()
        for slot, held in holders.items():
            if self.links(slot) != sum(held) or len(self.keys(slot)) != held[_OWN]:
                raise InvariantError(f"the filter in slot {slot} of a pool has other holders")
        repeats = {
            (slot, bit): keys - 1
            for slot, held in holders.items()
            for bit, keys in held.items()
            if bit != _OWN and keys > 1
        }
        if self._held != sum({bit for held in holders.values() for bit in held}):
            raise InvariantError("a pool is wrong about which links hold a filter at all")
        if self._repeats != repeats or len(holders) != len(self._slots):
            raise InvariantError("a pool and the sides disagree on who holds what")
        taken = {wanted: slot for slot, wanted in enumerate(self._filters) if wanted is not None}
        if taken != self._slots or len(self._index) != len(taken):
            raise InvariantError("the filters of a pool and their slots disagree")
        ways = {slot: int(self._ways[slot]) for slot in taken.values()}
        led = {slot for slot, head in enumerate(self._heads) if head != NOBODY}
        if {slot for slot, way in ways.items() if way & 1} != led:
            raise InvariantError("a pool's keys of clients are of other filters")
        if any(self.holders.befores[self._heads[slot]] != NOBODY for slot in led):
            raise InvariantError("a pool's first key of a filter is not the first one")
        if any(count != len(self.keys(slot)) for slot, count in enumerate(self._counts)):
            raise InvariantError("a pool counts the keys of a filter wrong")
        if 0 in ways.values():
            raise InvariantError("nobody holds a filter of a pool")
        self._gates.validate(dict(Counter(way >> 1 for way in ways.values())))
        for wanted, slot in taken.items():
            if kept(self._index.filter_in(slot)) != wanted:
                raise InvariantError(f"the index of a pool lost or changed slot {slot}")

    def keys(self, slot: int) -> list[str]:
        """The keys under which clients hold the filter of a slot, in any order."""
        if slot >= len(self._heads):
            return []
        names = self.holders.names
        return [names[number] for number in self.holders.from_head(self._heads[slot])]

    def adopt(self, engine: Engine, given: Sequence[bytes]) -> None:
        """Begin with a saved engine of these filters, none of which is held.

        Raises `FileFormatError` for the files of an engine of other filters.
        """
        self._index.adopt(engine.folder, engine.filters)
        self._slots = dict(zip(given, engine.slots.tolist(), strict=True))
        if not len(self._index) == len(self._slots) == engine.filters:
            raise FileFormatError(str(engine.folder), "has not as many filters as it says")
        self._provide(engine.filters - 1)
        self._filters[engine.slots] = np.fromiter(given, np.object_, len(given))

    def hold_present(self, keys: Sequence[str], slots: Slots, present: Mapping[str, object]) -> int:
        """Add the client keys that are `present` to the filters of their slots; returns how many.

        No filter may be held before; `slots` are those of the `keys`.
        """
        if not keys or keys != [*islice(present, len(keys))]:  # as a rule none has gone
            is_there = np.fromiter(map(present.__contains__, keys), np.bool_, len(keys))
            keys, slots = [*compress(keys, is_there)], slots[: len(keys)][is_there]
        if keys:
            self._hold_many(keys, slots, is_fresh=False)
        return len(keys)

    def let_go(self) -> None:
        """Remove the filters that no link or client holds."""
        for slot in np.flatnonzero(self._ways == 0).tolist():
            if self._filters[slot] is not None:
                self._release(slot)

    def _slot(self, wanted: Interest) -> int:
        """The slot of a filter, taken if need be."""
        content = kept(wanted)
        slot = self._slots.get(content)
        if slot is None:
            (slot,) = self._index.take((wanted,))
            self._settle(slot, content)
        return slot

    def _prepare(
        self, contents: Sequence[Kept], *, is_shared: bool = False
    ) -> tuple[list[int], list[int]]:
        """Give all of several filters a slot each, which the caller has to hold next.

        Returns the slots of all, and those that were taken for them: the same list where the
        filters are all new and different. Each lookup in a large table waits for memory, so the
        number of lookups is kept at its minimum.
        """
        known, added = self._slots, dict[Kept, int]()
        found: Sequence[int | None] = [*map(known.get, contents)] if known else ()
        unknown = contents
        if found:
            unknown = [one for one, slot in zip(contents, found, strict=True) if slot is None]
        places = [added.setdefault(one, len(added)) for one in unknown]
        fresh = self._index.take([*added])
        if fresh and is_shared:  # with the numbers of clients' keys, as objects
            shared = self.holders.shared(max(fresh) + 1)
            fresh = [shared[slot] for slot in fresh]
        if fresh:
            known.update(zip(added, fresh, strict=True))
            self._provide(max(fresh))
            taken = np.array(fresh, np.int64)
            self._filters[taken] = np.fromiter(added, np.object_, len(added))
            self._ways[taken] = NO_LINK
        if len(fresh) == len(contents):
            return fresh, fresh
        chosen = [fresh[place] for place in places]
        if not found:
            return chosen, fresh
        taken_now = iter(chosen)
        return [next(taken_now) if slot is None else slot for slot in found], fresh

    def _settle(self, slot: int, content: Kept) -> None:
        """Record a filter in the slot of the index that was taken for it."""
        self._slots[content] = slot
        self._provide(slot)
        self._filters[slot] = content
        self._ways[slot] = NO_LINK

    def _provide(self, slot: int) -> None:
        """Extend the ways and filters to all slots up to this one, and some more."""
        while slot >= len(self._ways):
            self._ways = np.concatenate((self._ways, np.zeros_like(self._ways)))
            self._filters = np.concatenate((self._filters, np.full_like(self._filters, None)))

    def _lead(self, slot: int, way: int, links: int) -> None:
        """Lead a slot whose way is `way` to other links."""
        gate = self._gates.enter(links)
        self._gates.leave(way >> 1)
        self._ways[slot] = gate << 1 | way & 1

    def _release(self, slot: int) -> None:
        """Free a slot if its filter is held no more."""
        if not self._ways[slot]:
            del self._slots[self._filters[slot]]
            self._filters[slot] = None
            self._index.release(slot)

    def _found(self, publications: Sequence[Publication], limit: int = ALL) -> SlotBatch:
        """The slots that accept each of some publications, up to `limit` per publication.

        The result is of all publications, or of the first with as many matches as are held at a
        time.
        """
        if self.is_of_documents:
            return match_documents(self._index, publications, _HELD_MAX)
        return match_records(self._index, publications, _HELD_MAX, limit)

    def _opened(self, slots: Slots) -> Opened:
        """The links and client keys that hold some slots."""
        if not len(slots):
            return _NOTHING
        ways = self._ways.take(slots)
        own = slots[ways & 1 == 1].tolist()
        return Opened(self._links_of(ways >> 1), [key for slot in own for key in self.keys(slot)])

    def _counted(self, slots: Slots) -> dict[int, int]:
        """Links, as bits, to the number of the slots that they hold; shared slots are divided."""
        counts = np.bincount(self._ways.take(slots) >> 1)
        found: Counter[int] = Counter()
        for gate in np.flatnonzero(counts > _CROWD).tolist():
            links = self._gates.bits[gate]
            share = int(counts[gate]) // links.bit_count()
            while links and share > _CROWD:
                found[links & -links] += share
                links &= links - 1
        return found

    def _links_of(self, gates: _Ways) -> int:
        """The links that some gates lead to, as bits."""
        bits, links = self._gates.bits, 0
        distinct: Iterable[int]
        if len(gates) > _FEW:
            is_open = np.zeros(len(bits), np.bool_)
            is_open[gates] = True
            distinct = np.flatnonzero(is_open).tolist()
        else:
            distinct = set(gates.tolist())
        for gate in distinct:
            links |= bits[gate]
        return links


def _enough(links: int) -> int:
    """The number of matches after which the search first checks whether all `links` have one."""
    return _FIRST + _FIRST_EACH * links.bit_count()
