"""The tables of XRoute at one router: an interface for each side, a view for each neighbor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.interface import Booking, Canceled, Interface
from sapwood.routing.propagation.xroute.search import Containment, MakeIndex
from sapwood.routing.propagation.xroute.triples import Count, Operation, Triple
from sapwood.routing.propagation.xroute.view import View
from sapwood.routing.tables import CLIENTS


class Node:
    """Interfaces and views over covering indexes that `make_index` makes.

    `make_view` makes an empty view over a search for its tops.

    A *side* is a neighbor or `CLIENTS`. Subscriptions of one side go to every neighbor with a view,
    except to that side; each time as one operation, or more where covering is not reported
    transitively.

    #: the views are of sides; view v includes the filters of all interfaces but that of v
    """

    __slots__ = ("_make_index", "_make_view", "interfaces", "views")

    def __init__(
        self, make_index: MakeIndex, make_view: Callable[[Containment], View] = View
    ) -> None:
        self._make_index = make_index
        self._make_view = make_view
        self.interfaces: dict[str, Interface] = {CLIENTS: Interface()}
        self.views: dict[str, View] = {}

    @property
    def clients(self) -> Interface:
        """The interface of the router's own clients."""
        return self.interfaces[CLIENTS]

    def connect(self, neighbor: str, *, is_told: bool = True) -> None:
        """Add a neighbor, with empty tables on both ends.

        `start` returns its first operations. Nothing is sent to one that leads to no producer (not
        `is_told`).
        """
        self.interfaces[neighbor] = Interface(Containment(self._make_index()))
        if is_told:
            self.views[neighbor] = self._make_view(Containment(self._make_index()))

    def start(self, neighbor: str) -> list[Operation]:
        """All operations for a new neighbor."""
        known = [item for counts in self._seen_by(neighbor) for item in counts.items()]
        return self.views[neighbor].start(known)

    def begin(self, neighbor: str, count: int) -> list[Operation]:
        """`start`, for `count` filters; `go_on` returns the rest."""
        view = self.views[neighbor]
        view.put_off(one for counts in self._seen_by(neighbor) for one in counts)
        return self.go_on(neighbor, count)

    def size_without(self, neighbor: str) -> int:
        """An upper bound of the number of filters for a neighbor."""
        return sum(map(len, self._seen_by(neighbor)))

    def go_on(self, neighbor: str, count: int) -> list[Operation]:
        """The operations for a neighbor that bring up to `count` pending filters."""
        return self.views[neighbor].go_on(count, self._seen_by(neighbor))

    def bring(self, operation: Operation, source: str) -> dict[str, list[Operation]]:
        """The operations for neighbors that have to go before an operation of a side.

        They bring the pending filters that it names, so that a sender that waits for the
        operation's confirmation waits for nothing else.
        """
        named = [triple.filter for triple in operation]
        return {
            neighbor: view.bring(named, self._seen_by(neighbor))
            for neighbor, view in self.views.items()
            if neighbor != source and view.pending
        }

    def advertised(
        self, neighbor: str, key: str, filter: AdvertisedContent, at_once: int | None = None
    ) -> list[Operation]:
        """Register an advertisement of a neighbor with a view; returns the operations for it.

        If more than `at_once` filters may be wanted, those of the first; `go_on` returns the rest.
        """
        view, seen = self.views[neighbor], self._seen_by(neighbor)
        known = [item for counts in seen for item in counts.items()]
        if at_once is not None and view.looks_at_advertisements:
            waiting = [wanted for wanted, _ in known if wanted not in view.entries]
            if len(waiting) > at_once:
                view.put_off(waiting)
        told = view.advertised(key, filter, known)
        return told if at_once is None else [*told, *view.go_on(at_once, seen)]

    def unadvertised(self, neighbor: str, key: str) -> list[Operation]:
        """Remove an advertisement of a neighbor; returns the operations for it."""
        return self.views[neighbor].unadvertised(key, self._seen_by(neighbor))

    def disconnect(self, neighbor: str) -> list[dict[str, list[Operation]]]:
        """Remove a neighbor, with all its filters; returns the operations for the others.

        As in the failover of 6.2, every filter is canceled by itself, and nothing is returned for
        it.
        """
        self.views.pop(neighbor, None)
        counts = self.interfaces.pop(neighbor).counts
        return [self.tell(Canceled(f, count, ()), neighbor) for f, count in counts.items()]

    def subscribe(self, filter: Interest) -> dict[str, list[Operation]]:
        """Add a client's subscription; returns the operations for neighbors."""
        return self.take((Triple(filter, 1, 0),), CLIENTS)

    def unsubscribe(self, filter: Interest) -> dict[str, list[Operation]]:
        """Remove a client's subscription; returns the operations for neighbors."""
        return self.take((Triple(filter, -1, 0),), CLIENTS)

    def take(self, operation: Operation, source: str) -> dict[str, list[Operation]]:
        """Carry out an operation of a side; returns the operations for neighbors.

        Raises `PeerError`, with nothing carried out, for an operation that contradicts the tables.
        """
        told = self.bring(operation, source)
        for neighbor, more in self.tell(self.interfaces[source].book(operation), source).items():
            told[neighbor] = [*told.get(neighbor, ()), *more]
        return told

    def tell(self, booking: Booking, source: str) -> dict[str, list[Operation]]:
        """The operations for neighbors after a booking at the interface of a side."""
        return {
            neighbor: view.take(booking)
            for neighbor, view in self.views.items()
            if neighbor != source
        }

    def validate(self) -> None:
        """Check every table against the others; raises `InvariantError`."""
        if not self.views.keys() <= self.interfaces.keys() - {CLIENTS}:
            raise InvariantError("somebody is told who is no neighbor")
        for interface in self.interfaces.values():
            interface.validate()
        for neighbor, view in self.views.items():
            view.validate(self._seen_by(neighbor))

    def _seen_by(self, neighbor: str) -> list[Mapping[Interest, Count]]:
        """The counts of the interfaces in the view of a neighbor."""
        return [one.counts for side, one in self.interfaces.items() if side != neighbor]
