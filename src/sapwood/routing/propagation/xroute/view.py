"""The filters for one neighbor: those of all other sides, and which stand for which.

The thesis' R and P, per upstream interface (2.13 of its appendix A in words): a view includes the
interfaces of all sides but its neighbor's, and a filter exists in it iff one of those has it.
Filters without a substitute are *tops*: the neighbor has exactly them, each with the instances here
(its x there) and the count of what it stands for (its z there).

A change of a filter that is known costs a step for each substitute above it, in a chain as long as
filters that contain each other have come, each wider than the last. A new filter costs a search
for a top that contains it, and one for those it contains if there is none; when a top goes, a
search for each filter that it was the substitute of.

A neighbor need not get all filters at once. *Pending* ones are cut out of bookings, as if they were
not wanted there, and are brought in chunk by chunk; a filter that a sender waits for comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.interface import Booking, Canceled, Registered
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import (
    NO_COUNT,
    Count,
    Operation,
    Triple,
)


@dataclass(slots=True, eq=False)
class Entry:
    """A filter in a view.

    #: instances: subscriptions of exactly this filter, over all interfaces of the view
    #: hidden: what it represents at those interfaces, and all of the entries below (R)
    #: substitute: the entry that stands for it, if any (P); children is the inverse
    """

    filter: Interest
    instances: int = 0
    hidden: int = 0
    substitute: Entry | None = None
    children: dict[Interest, Entry] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of subscriptions that are served through the filter."""
        return self.instances + self.hidden

    def ancestors(self) -> Iterator[Entry]:
        """The substitute, its substitute, and so on."""
        above = self.substitute
        while above is not None:
            yield above
            above = above.substitute

    @property
    def head(self) -> Entry:
        """The top of the tree that it is in: itself, or its last ancestor."""
        entry = self
        while entry.substitute is not None:
            entry = entry.substitute
        return entry

    def count(self, instances: int, hidden: int) -> None:
        """Add to the counts here, and therefore to those above."""
        for above in self.ancestors():
            above.hidden += instances + hidden
        self.instances += instances
        self.hidden += hidden


class View:
    """The filters for one neighbor, over an empty search for tops.

    Every method that takes something in returns the operations for the neighbor, in order.

    #: pending are filters that interfaces may have and that are sent to the neighbor later: no
    #: entry is among them
    #: an entry has instances > 0; its hidden is that of the interfaces, plus its children's totals
    #: tops holds the filters of the entries that have no substitute
    #: following substitutes ends at a top
    """

    __slots__ = ("_tops", "entries", "pending")

    looks_at_advertisements = False

    def __init__(self, tops: Containment) -> None:
        self.entries: dict[Interest, Entry] = {}
        self.pending: dict[Interest, None] = {}
        self._tops = tops

    @property
    def propagated(self) -> Mapping[Interest, Count]:
        """The filters that the neighbor has: each top with its counts there."""
        tops = (self.entries[filter_] for filter_ in self._tops)
        return {top.filter: Count(top.instances, top.hidden) for top in tops}

    def take(self, booking: Booking) -> list[Operation]:
        """Enter a booking at an interface of the view, as far as it is wanted now."""
        if self.pending:
            return self._take_partly(booking)
        match booking:
            case Registered():
                return self._register(booking)
            case Canceled():
                return [self._cancel(booking)]

    def put_off(self, filters: Iterable[Interest]) -> None:
        """Make filters that are no entries pending; `go_on` brings them later."""
        self.pending.update(dict.fromkeys(filters))

    def go_on(self, count: int, interfaces: Sequence[Mapping[Interest, Count]]) -> list[Operation]:
        """Enter up to `count` pending filters, as far as the interfaces of the view have them."""
        return self.bring([*islice(self.pending, count)], interfaces)

    def bring(
        self, filters: Iterable[Interest], interfaces: Sequence[Mapping[Interest, Count]]
    ) -> list[Operation]:
        """Enter those of some filters that are pending."""
        told: list[Operation] = []
        for filter_ in filters:
            if filter_ not in self.pending:
                continue
            del self.pending[filter_]
            for counts in interfaces:
                count = counts.get(filter_)
                if count is not None and self._is_wanted(filter_):
                    main = Triple(filter_, count.instances, count.hidden)
                    told.extend(self._register(Registered(main, True, (), ())))  # noqa: FBT003
        return summed(told)

    def _is_wanted(self, filter: Interest) -> bool:
        """True if the neighbor is to have a filter by now."""
        return filter not in self.pending

    def _take_partly(self, booking: Booking) -> list[Operation]:
        """Enter a booking where filters of the interfaces are missing here."""
        match booking:
            case Registered():
                return self._take_registered(booking)
            case Canceled():
                return self._take_canceled(booking)

    def _take_registered(self, booked: Registered) -> list[Operation]:
        main = booked.main
        appended = self._known_among(booked.appended)
        inside = tuple(one for one in booked.absorbed if one[0] in self.entries)
        if not self._is_wanted(main.filter):
            gone = [self._cancel(Canceled(wanted, count, ())) for wanted, count in inside]
            return [*gone, *self._recount(appended)]
        outside = sum(count.total for one, count in booked.absorbed if one not in self.entries)
        main = Triple(main.filter, main.instances, main.hidden + outside)
        return self._register(Registered(main, booked.is_new, inside, appended))

    def _take_canceled(self, booked: Canceled) -> list[Operation]:
        returned = tuple(triple for triple in booked.returned if self._is_wanted(triple.filter))
        if booked.filter in self.entries:
            return [self._cancel(Canceled(booked.filter, booked.count, returned))]
        known = self._known_among(returned)
        told = self._recount(known)
        for triple in returned:
            if triple not in known:
                told.extend(self._register(Registered(triple, True, (), ())))  # noqa: FBT003
        return told

    def _known_among(self, triples: Iterable[Triple]) -> Operation:
        return tuple(triple for triple in triples if triple.filter in self.entries)

    def _recount(self, triples: Operation) -> list[Operation]:
        """Change the counts of filters that are known, all at once."""
        if not triples:
            return []
        return self._register(Registered(triples[0], False, (), triples[1:]))  # noqa: FBT003

    def start(self, counts: Iterable[tuple[Interest, Count]]) -> list[Operation]:
        """Enter all filters of the interfaces, for a neighbor that has none."""
        for filter_, count in counts:
            main = Triple(filter_, count.instances, count.hidden)
            self._register(Registered(main, True, (), ()))  # noqa: FBT003 - a field
        return [
            (Triple(filter_, count.instances, count.hidden),)
            for filter_, count in self.propagated.items()
        ]

    def advertised(
        self,
        key: str,  # noqa: ARG002
        filter: AdvertisedContent,  # noqa: ARG002
        counts: Iterable[tuple[Interest, Count]],  # noqa: ARG002
    ) -> list[Operation]:
        """Return no operations: the neighbor gets all filters, whatever it advertises."""
        return []

    def unadvertised(
        self,
        key: str,  # noqa: ARG002
        interfaces: Sequence[Mapping[Interest, Count]],  # noqa: ARG002
    ) -> list[Operation]:
        """Return no operations."""
        return []

    def is_unwanted(self, filter: Interest) -> bool:  # noqa: ARG002
        """True if a filter is kept from the neighbor because it advertised nothing for it."""
        return False

    def check_advertisements(self, advertisements: Mapping[str, AdvertisedContent]) -> None:
        """Check that exactly the neighbor's advertisements are known: this view ignores them."""

    def validate(self, interfaces: Iterable[Mapping[Interest, Count]]) -> None:
        """Compute the view again from the interfaces' counts; raises `InvariantError`."""
        self._tops.validate()
        if not self.entries.keys().isdisjoint(self.pending):
            raise InvariantError("the neighbor was told of what it is to be told of later")
        known: dict[Interest, Count] = {}
        for counts in interfaces:
            for filter_, count in counts.items():
                if filter_ in self.pending:
                    continue
                before = known.get(filter_, NO_COUNT)
                known[filter_] = before.plus(count.instances, count.hidden)
        if known.keys() != self.entries.keys():
            raise InvariantError("a view does not hold exactly what its interfaces know")
        if {f for f, entry in self.entries.items() if entry.substitute is None} != set(self._tops):
            raise InvariantError("not exactly the entries without a substitute are tops")
        for filter_, entry in self.entries.items():
            below = sum(child.total for child in entry.children.values())
            if (entry.instances, entry.hidden) != (
                known[filter_].instances,
                known[filter_].hidden + below,
            ):
                raise InvariantError(f"a view counts wrongly what {filter_} stands for")
            for child_filter, child in entry.children.items():
                if child.substitute is not entry or self.entries.get(child_filter) is not child:
                    raise InvariantError(f"{child_filter} is not below {filter_}, which says so")
            if entry.substitute is not None and entry.filter not in entry.substitute.children:
                raise InvariantError(f"{filter_} has a substitute that does not know it")
        reached = [self.entries[top] for top in self._tops]
        for entry in reached:
            reached.extend(entry.children.values())
        if len(reached) != len(self.entries):
            raise InvariantError("an entry has no top above it")

    # Registration ------------------------------------------------------------------------------

    def _register(self, booked: Registered) -> list[Operation]:
        if booked.is_new:
            before, (main, *extra) = self._represent(booked.main, booked.absorbed)
        else:
            before, main, extra = [], self._update(booked.main), []
        appended = [self._update(triple) for triple in booked.appended]
        return [*before, (main, *extra, *appended)]

    def _update(self, triple: Triple) -> Triple:
        """Change the counts of a filter that its interface had already (algorithm 3)."""
        entry = self.entries[triple.filter]
        entry.count(triple.instances, triple.hidden)
        if entry.substitute is None:
            return triple
        return Triple(entry.head.filter, 0, triple.instances + triple.hidden)

    def _represent(
        self, main: Triple, absorbed: Iterable[tuple[Interest, Count]]
    ) -> tuple[list[Operation], Operation]:
        """Enter a filter that is new at an interface (algorithms 4 and 5).

        Returns the operations before it, and its own. The filters that it represents there move
        from where they were counted to the new filter, and, where that makes a difference to the
        neighbor, from the head there to the head here.
        """
        entry = self.entries.get(main.filter) or self._create(main.filter)
        before, absorbed, moved = self._cancel_tops(absorbed)
        entry.count(0, moved)
        extra: list[Triple] = []
        for filter_, count in absorbed:
            below = self.entries[filter_]
            old, new = below.head, entry.head
            below.count(-count.instances, -count.hidden)
            entry.count(0, count.total)
            if old is not new:
                extra.append(Triple(old.filter, 0, -count.total))
                moved += count.total
            if not below.instances:
                self._remove_substituted(below)
        entry.count(main.instances, main.hidden)
        if entry.substitute is None:
            told = Triple(main.filter, main.instances, main.hidden + moved)
        else:
            told = Triple(entry.head.filter, 0, main.instances + main.hidden + moved)
        return before, (told, *extra)

    def _cancel_tops(
        self, absorbed: Iterable[tuple[Interest, Count]]
    ) -> tuple[list[Operation], list[tuple[Interest, Count]], int]:
        """Cancel filters that are represented now and have no substitute here.

        Where covering is found transitively there are none: the head of the new filter would have
        become the substitute. Elsewhere such a filter is canceled as if its interface had canceled
        it, which can leave others without a substitute.

        Returns the operations, the filters that are not canceled, and the number of subscriptions
        that are.
        """
        told: list[Operation] = []
        rest, canceled = list(absorbed), 0
        while tops := [one for one in rest if self.entries[one[0]].substitute is None]:
            for filter_, count in tops:
                told.append(self._cancel(Canceled(filter_, count, ())))
                canceled += count.total
            rest = [one for one in rest if one not in tops]
        return told, rest, canceled

    def _create(self, filter: Interest) -> Entry:
        """A new entry, below a top that contains it, or above all tops that it contains."""
        entry = self.entries[filter] = Entry(filter)
        container = self._tops.containing(filter)
        if container is not None:
            _join(entry, self.entries[container])
            return entry
        for contained in self._tops.contained(filter):
            self._substitute(self.entries[contained], entry)
        self._tops.add(filter)
        return entry

    def _substitute(self, entry: Entry, by: Entry) -> None:
        """Make one top the substitute of another (definition 2)."""
        self._tops.remove(entry.filter)
        _join(entry, by)

    # Cancellation ------------------------------------------------------------------------------

    def _cancel(self, booked: Canceled) -> Operation:
        """Cancel a filter of an interface (algorithms 6 and 8)."""
        entry = self.entries[booked.filter]
        instances, hidden = booked.count.instances, booked.count.hidden
        kept, extra = self._take_back(entry, booked.returned)
        entry.count(-instances, -hidden)
        if entry.substitute is not None:
            head = entry.head
            if not entry.instances:
                self._remove_substituted(entry)
            return (Triple(head.filter, 0, kept - instances - hidden), *extra)
        if entry.instances:
            return (Triple(entry.filter, -instances, kept - hidden), *extra)
        return (Triple(entry.filter, -instances, 0), *extra, *self._reinsert(entry))

    def _take_back(self, entry: Entry, returned: Operation) -> tuple[int, list[Triple]]:
        """Count filters on their own again that `entry` hid at an interface.

        Returns the number of subscriptions that stay with its head, and the other triples to send.
        """
        head = entry.head
        for triple in returned:
            if triple.filter not in self.entries:
                back = self.entries[triple.filter] = Entry(triple.filter)
                _join(back, entry)
        stays = [self.entries[triple.filter].head is head for triple in returned]
        kept = 0
        extra: list[Triple] = []
        for triple, is_kept in zip(returned, stays, strict=True):
            told = self._update(triple)
            if is_kept:
                kept += triple.instances + triple.hidden
            else:
                extra.append(told)
        return kept, extra

    def _reinsert(self, entry: Entry) -> list[Triple]:
        """Remove a top; its children find other tops, or become tops (algorithm 7)."""
        orphans = list(entry.children.values())
        for orphan in orphans:
            orphan.substitute = None
            self._tops.add(orphan.filter)
        del self.entries[entry.filter]
        self._tops.remove(entry.filter)
        for orphan in orphans:
            container = self._tops.containing(orphan.filter)
            if container is not None:
                self._substitute(orphan, self.entries[container])
        told: list[Triple] = []
        siblings = set(orphans)
        for orphan in orphans:
            if orphan.substitute is None:
                told.append(Triple(orphan.filter, orphan.instances, orphan.hidden))
            elif orphan.substitute not in siblings:
                told.append(Triple(orphan.head.filter, 0, orphan.total))
        return told

    def _remove_substituted(self, entry: Entry) -> None:
        """Remove an entry that counts nothing; its substitute becomes that of its children."""
        above = entry.substitute
        assert above is not None, "a top is not removed without a word"
        del above.children[entry.filter]
        for child in entry.children.values():
            child.substitute = above
            above.children[child.filter] = child
        del self.entries[entry.filter]


def _join(entry: Entry, by: Entry) -> None:
    """Put a tree below an entry; totals are added there and above."""
    entry.substitute = by
    by.children[entry.filter] = entry
    by.hidden += entry.total
    for above in by.ancestors():
        above.hidden += entry.total


def summed(operations: Iterable[Operation]) -> list[Operation]:
    """Join operations: successive hidden counts of one filter are added up."""
    told: list[Operation] = []
    sums: dict[Interest, int] = {}
    for operation in operations:
        (main, *appended) = operation
        if main.instances or appended:
            told.extend(_hidden(sums))
            sums.clear()
            told.append(operation)
        else:
            sums[main.filter] = sums.get(main.filter, 0) + main.hidden
    return [*told, *_hidden(sums)]


def _hidden(sums: Mapping[Interest, int]) -> list[Operation]:
    return [(Triple(filter_, 0, hidden),) for filter_, hidden in sums.items() if hidden]
