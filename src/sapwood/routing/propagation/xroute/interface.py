"""The table of one side: the filters that a router has received from there (the thesis' T).

It depends on the messages from there alone, so all views share it. An operation is *booked*: the
booking has its changes, in the terms that views need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.errors import InvariantError, PeerError
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import NO_COUNT, Count, Operation, Triple


@dataclass(frozen=True, slots=True)
class Registered:
    """Subscriptions were added, or some of several equal ones withdrawn.

    `is_new`: the interface did not have the filter. Then it represents the `absorbed` filters, with
    their counts there, from now on (definition 1). `appended` concerns other filters of the
    interface.
    """

    main: Triple
    is_new: bool
    absorbed: tuple[tuple[Interest, Count], ...]
    appended: Operation

    @property
    def touched(self) -> tuple[Interest, ...]:
        """The filters that the operation may have added to the interface or removed from it."""
        return (self.main.filter, *(filter_ for filter_, _ in self.absorbed))


@dataclass(frozen=True, slots=True)
class Canceled:
    """The last subscription of a filter is gone from the interface, where it had `count`.

    `returned` are filters that it hid there and that are counted on their own again.
    """

    filter: Interest
    count: Count
    returned: Operation

    @property
    def touched(self) -> tuple[Interest, ...]:
        """The filters that the operation may have added to the interface or removed from it."""
        return (self.filter, *(triple.filter for triple in self.returned))


Booking: TypeAlias = Registered | Canceled
"""The result of an operation at an interface."""


class Interface:
    """The filters of one side: a neighbor, or the clients of the router.

    `search`, empty, finds the filters that a new one represents; without it none is represented, as
    among the clients of a router, which it has one by one.

    #: of counts, none has instances < 1 or hidden < 0
    #: search holds the filters of counts
    """

    __slots__ = ("_search", "counts")

    def __init__(self, search: Containment | None = None) -> None:
        self.counts: dict[Interest, Count] = {}
        self._search = search

    def book(self, operation: Operation) -> Booking:
        """Carry out an operation.

        Raises `PeerError`, with nothing carried out, for an operation that contradicts the table.
        """
        main, *rest = operation
        appended = tuple(rest)
        known = self.counts.get(main.filter)
        if known is not None and known.instances == -main.instances:
            gone = {main.filter: known}
            self._replace(gone, self._after(None, appended, gone))
            return Canceled(main.filter, known, appended)
        absorbed: dict[Interest, Count] = {}
        if known is None and self._search is not None:
            absorbed = {f: self.counts[f] for f in self._search.contained(main.filter)}
        self._replace(absorbed, self._after(main, appended, absorbed))
        return Registered(main, known is None, tuple(absorbed.items()), appended)

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        for filter_, count in self.counts.items():
            if not count.is_sound:
                raise InvariantError(f"an interface counts {count} for {filter_}")
        if self._search is not None:
            self._search.validate()
            if set(self._search) != self.counts.keys():
                raise InvariantError("an interface does not search exactly what it counts")
        elif any(count.hidden for count in self.counts.values()):
            raise InvariantError("something is hidden among clients")

    def _after(
        self, main: Triple | None, appended: Operation, gone: Mapping[Interest, Count]
    ) -> dict[Interest, Count]:
        """The counts that triples change, as they are when `gone` is removed; raises `PeerError`.

        With a main triple, which stands for all that is gone, the appended ones have to be of
        filters of the interface.
        """
        after: dict[Interest, Count] = {}
        if main is not None:
            hidden = main.hidden + sum(count.total for count in gone.values())
            known = self.counts.get(main.filter, NO_COUNT)
            after[main.filter] = known.plus(main.instances, hidden)
        for triple in appended:
            counted = after.get(triple.filter) or self.counts.get(triple.filter)
            if triple.filter in gone or (counted is None and main is not None):
                raise PeerError(f"it goes on about {triple.filter}, of which it has not told")
            after[triple.filter] = (counted or NO_COUNT).plus(triple.instances, triple.hidden)
        for filter_, count in after.items():
            if not count.is_sound:
                raise PeerError(f"it counts less than nothing for {filter_}")
        return after

    def _replace(self, gone: Iterable[Interest], counts: Mapping[Interest, Count]) -> None:
        """Remove the filters `gone`, and set the counts of others."""
        for filter_ in gone:
            del self.counts[filter_]
            if self._search is not None:
                self._search.remove(filter_)
        for filter_, count in counts.items():
            if self._search is not None and filter_ not in self.counts:
                self._search.add(filter_)
            self.counts[filter_] = count
