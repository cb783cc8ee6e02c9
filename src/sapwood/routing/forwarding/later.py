"""Forwarding that is made when a publication is first routed.

A router that becomes its earlier self applies a million changes and routes nothing meanwhile. Its
forwarding follows from its entries alone, so it is made once, of the entries at the end: building a
large index takes a fraction of the time that growing it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from sapwood.errors import FileFormatError
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Forwarding, Routed
from sapwood.routing.ready_made import ReadyMade
from sapwood.routing.sided_index import Adopted
from sapwood.routing.tables import Entries


class Later:
    """Stands for the forwarding that `make` makes and puts in its place; follows no entries."""

    __slots__ = ("_make", "digests_unread", "ready")

    def __init__(self, make: Callable[[], Forwarding]) -> None:
        self._make = make
        self.digests_unread = 0
        #: ready-made engines for it, if there are any
        self.ready: ReadyMade | None = None

    def add_side(self, side: str) -> None:
        """Do nothing: the entries have the side."""

    def remove_side(self, side: str) -> None:
        """Do nothing: the entries have the sides that are left."""

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Do nothing: the entries have the subscription."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Do nothing: the entries have the subscriptions."""

    def forgot(self, side: str, key: str) -> None:
        """Do nothing: the entries have the subscriptions that are left."""

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """Make the forwarding, and route by it."""
        return self._make().route(batch, arrival, digests, now)

    def matched(self, publication: Publication) -> Sequence[str]:
        """Make the forwarding, and match by it."""
        return self._make().matched(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Do nothing: there is no state to be wrong."""


@runtime_checkable
class Adopting(Protocol):
    """A strategy that can begin with engines that are ready-made."""

    def adopt(self, ready: ReadyMade, present: Mapping[str, object]) -> Adopted:
        """Begin with ready-made engines, as far as they are of these filters.

        Clients' keys that are `present` and held now are not added again; the rest of the entries
        is added next, and then `let_go` is called. Raises `FileFormatError` for files that are no
        engine.
        """
        ...

    def let_go(self) -> None:
        """Remove the filters that no side holds."""
        ...


def following(
    make: Callable[[], Forwarding], entries: Entries[Interest], former: Forwarding
) -> tuple[Forwarding, int]:
    """Make a forwarding that follows the entries, and count its ready-made filters.

    The `former` one may have ready-made engines, if it is only a stand-in.
    """
    made = make()
    ready = former.ready if isinstance(former, Later) else None
    if ready is None or not isinstance(made, Adopting):
        entries.follow(made)
        return made, 0
    try:
        adopted = made.adopt(ready, entries.by_key)
    except FileFormatError:  # intact files of other content: as if there were none
        made = make()
        entries.follow(made)
        return made, 0
    entries.follow(made, told=adopted.held)
    made.let_go()
    return made, adopted.filters
