"""All that XRoute knows at one router: an interface for each side, a view for each neighbor."""

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

    A *side* is a neighbor or `CLIENTS`. What comes from one side is told to every neighbor that is
    told at all, except to that side; each time as one operation, or more where covering is not
    reported transitively.

    #: the views are of sides; view v has taken in what all interfaces but that of v know
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
        """A neighbor is there, which knows nothing and of which nothing is known.

        `start` says what it has to be told. One that leads to no producer `is_told` nothing.
        """
        self.interfaces[neighbor] = Interface(Containment(self._make_index()))
        if is_told:
            self.views[neighbor] = self._make_view(Containment(self._make_index()))

    def start(self, neighbor: str) -> list[Operation]:
        """All that a new neighbor has to be told."""
        known = [item for counts in self._seen_by(neighbor) for item in counts.items()]
        return self.views[neighbor].start(known)

    def begin(self, neighbor: str, count: int) -> list[Operation]:
        """`start`, of so many filters; `go_on` says the rest."""
        view = self.views[neighbor]
        view.put_off(one for counts in self._seen_by(neighbor) for one in counts)
        return self.go_on(neighbor, count)

    def size_without(self, neighbor: str) -> int:
        """How many filters a neighbor could be told of at most."""
        return sum(map(len, self._seen_by(neighbor)))

    def go_on(self, neighbor: str, count: int) -> list[Operation]:
        """What a neighbor has to be told of so many filters that were put off."""
        return self.views[neighbor].go_on(count, self._seen_by(neighbor))

    def bring(self, operation: Operation, source: str) -> dict[str, list[Operation]]:
        """What neighbors have to be told before an operation of a side is carried out.

        That is of filters that it names and that they were to be told of later: whoever waits for
        the operation waits for nothing else then.
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
        """A neighbor that is told has advertised something; returns what it has to be told.

        Of more than `at_once` filters that may be wanted some; `go_on` says the rest.
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
        """A neighbor has taken that back; returns what it has to be told."""
        return self.views[neighbor].unadvertised(key, self._seen_by(neighbor))

    def disconnect(self, neighbor: str) -> list[dict[str, list[Operation]]]:
        """A neighbor is gone, and all that it told; returns what the others have to be told.

        As the failover of 6.2 does it: every filter is canceled by itself, and nothing is
        returned for it.
        """
        self.views.pop(neighbor, None)
        counts = self.interfaces.pop(neighbor).counts
        return [self.tell(Canceled(f, count, ()), neighbor) for f, count in counts.items()]

    def subscribe(self, filter: Interest) -> dict[str, list[Operation]]:
        """A client subscribes; returns what neighbors have to be told."""
        return self.take((Triple(filter, 1, 0),), CLIENTS)

    def unsubscribe(self, filter: Interest) -> dict[str, list[Operation]]:
        """One of the clients that subscribed to a filter does so no longer."""
        return self.take((Triple(filter, -1, 0),), CLIENTS)

    def take(self, operation: Operation, source: str) -> dict[str, list[Operation]]:
        """Carry out what came from a side; returns what neighbors have to be told.

        Raises `PeerError`, with nothing carried out, for what no neighbor can mean.
        """
        told = self.bring(operation, source)
        for neighbor, more in self.tell(self.interfaces[source].book(operation), source).items():
            told[neighbor] = [*told.get(neighbor, ()), *more]
        return told

    def tell(self, booking: Booking, source: str) -> dict[str, list[Operation]]:
        """What neighbors have to be told of what was booked at the interface of a side."""
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
        """What the interfaces of the view of a neighbor know."""
        return [one.counts for side, one in self.interfaces.items() if side != neighbor]
