"""The filters for one neighbor under advertisements: those that one from it intersects.

The thesis knows its producers: an interface is upstream iff it leads to one (4.2.6). Here a
neighbor leads to producers of what it has advertised, and a filter is *wanted* there iff one of its
advertisements intersects it. The neighbor's view has exactly the wanted filters, so all its
substitutes are among these; a booking at an interface is cut down to them before the view enters
it. Three facts follow:

* A filter that is wanted may represent, at an interface, one that is not: the hidden count there
  includes it all the same. So the neighbor may count more for a filter than it receives; it counts,
  and later cancels, the same number.
* What a filter gives back when it goes may belong to one that stays, which need not be below it.
  So it is sent although the filter that went was never wanted.
* `intersects` errs by being true. So a cover of a wanted filter may not be wanted, which costs a
  message, as the two accept no publication of the advertisement in truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.propagation.covering import extent
from sapwood.routing.propagation.xroute.interface import Booking, Canceled, Registered
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import Count, Operation, Triple
from sapwood.routing.propagation.xroute.view import View, summed


class WantedView(View):
    """The wanted filters of the sides of a view, over an empty search for tops.

    #: advertisements are those that came from the neighbor
    #: _reasons[f] intersects f and is in advertisements, for exactly the filters f of the entries
    """

    __slots__ = ("_reasons", "advertisements")

    looks_at_advertisements = True

    def __init__(self, tops: Containment) -> None:
        super().__init__(tops)
        self.advertisements: dict[str, AdvertisedContent] = {}
        self._reasons: dict[Interest, str] = {}

    def take(self, booking: Booking) -> list[Operation]:
        """Enter a booking at an interface of the view, as far as it is wanted."""
        told = self._take_partly(booking)
        for filter_ in booking.touched:
            if filter_ not in self.entries:
                self._reasons.pop(filter_, None)
        return told

    def start(self, counts: Iterable[tuple[Interest, Count]]) -> list[Operation]:  # noqa: ARG002
        """Return no operations: a neighbor whose link has just come up has advertised nothing."""
        return []

    def advertised(
        self, key: str, filter: AdvertisedContent, counts: Iterable[tuple[Interest, Count]]
    ) -> list[Operation]:
        """Register an advertisement of the neighbor; `counts` are those of all interfaces."""
        self.advertisements[key] = filter
        if self.pending:  # an answer is under way already: this one comes with it
            self.put_off(wanted for wanted, _ in counts if wanted not in self.entries)
            return []
        fresh: dict[Interest, bool] = {}
        waiting = [one for one in counts if one[0] not in self.entries]
        for wanted, _ in waiting:
            if wanted not in fresh:
                fresh[wanted] = filter.intersects(wanted)
        some = [one for one in waiting if fresh[one[0]]]
        is_first = not self.entries
        self._reasons.update((wanted, key) for wanted, _ in some)
        if is_first:
            return super().start(some)
        told: list[Operation] = []
        for wanted, count in sorted(some, key=lambda one: extent(one[0])):  # so tops come first
            main = Triple(wanted, count.instances, count.hidden)
            told.extend(self._register(Registered(main, True, (), ())))  # noqa: FBT003 - a field
        return summed(told)

    def unadvertised(
        self, key: str, interfaces: Sequence[Mapping[Interest, Count]]
    ) -> list[Operation]:
        """Remove an advertisement of the neighbor; `interfaces` are those of the view."""
        del self.advertisements[key]
        concerned = [wanted for wanted, reason in self._reasons.items() if reason == key]
        for wanted in concerned:
            del self._reasons[wanted]
        unwanted = [wanted for wanted in concerned if not self._is_wanted(wanted)]
        # A filter with none below it goes first, or else one below would be sent before it goes.
        unwanted.sort(key=lambda wanted: sum(1 for _ in self.entries[wanted].ancestors()))
        return summed(
            self._cancel(Canceled(wanted, counts[wanted], ()))
            for wanted in reversed(unwanted)
            for counts in interfaces
            if wanted in counts
        )

    def is_unwanted(self, filter: Interest) -> bool:
        """True if a filter is kept from the neighbor because it advertised nothing for it."""
        return filter not in self._reasons

    def check_advertisements(self, advertisements: Mapping[str, AdvertisedContent]) -> None:
        """Check that exactly these came from the neighbor; raises `InvariantError`."""
        if self.advertisements != advertisements:
            raise InvariantError("a view knows other advertisements than came over its link")

    def validate(self, interfaces: Iterable[Mapping[Interest, Count]]) -> None:
        """Compute the wanted filters by the rule, and let the view check that it has just these."""
        wanted = [
            {
                one: count
                for one, count in counts.items()
                if one not in self.pending
                and any(promised.intersects(one) for promised in self.advertisements.values())
            }
            for counts in interfaces
        ]
        super().validate(wanted)
        if self._reasons.keys() != self.entries.keys():
            raise InvariantError("not exactly what is wanted has a reason")
        for one, reason in self._reasons.items():
            if reason not in self.advertisements:
                raise InvariantError(f"{one} is wanted because of {reason}, which is gone")
            if not self.advertisements[reason].intersects(one):
                raise InvariantError(f"{one} is wanted because of {reason}, which is apart from it")

    def _is_wanted(self, filter: Interest) -> bool:
        """True if an advertisement intersects a filter; remembers the first that does."""
        if filter in self.pending:
            return False
        if filter in self._reasons:
            return True
        for key, promised in self.advertisements.items():
            if promised.intersects(filter):
                self._reasons[filter] = key
                return True
        return False
