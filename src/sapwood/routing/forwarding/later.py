"""Forwarding that is made when somebody first asks where a publication goes.

A router that becomes its earlier self takes in a million changes and is asked nothing meanwhile.
What it forwards with follows from its entries alone, so it is made once, of what is there at the
end: a large index is made in a fraction of the time that growing it takes.
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
    """Stands for the forwarding that `make` makes and puts in its place; follows nothing."""

    __slots__ = ("_make", "digests_unread", "ready")

    def __init__(self, make: Callable[[], Forwarding]) -> None:
        self._make = make
        self.digests_unread = 0
        #: what there is for it, if anything
        self.ready: ReadyMade | None = None

    def add_side(self, side: str) -> None:
        """The entries will say so."""

    def remove_side(self, side: str) -> None:
        """The entries will say so."""

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """The entries have it."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """The entries have them."""

    def forgot(self, side: str, key: str) -> None:
        """The entries have it no longer."""

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """What the forwarding says that is made now."""
        return self._make().route(batch, arrival, digests, now)

    def matched(self, publication: Publication) -> Sequence[str]:
        """What the forwarding says that is made now."""
        return self._make().matched(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """There is nothing that could be wrong."""


@runtime_checkable
class Adopting(Protocol):
    """A strategy that can begin with engines that are ready-made."""

    def adopt(self, ready: ReadyMade, present: Mapping[str, object]) -> Adopted:
        """Begin with them, as far as they are of these filters.

        What of clients' keys is `present` and held now is not told again; the rest of the entries
        is followed next, and then it is to `let_go`. Raises `FileFormatError` for what is no
        engine.
        """
        ...

    def let_go(self) -> None:
        """Remove the filters that nobody holds."""
        ...


def following(
    make: Callable[[], Forwarding], entries: Entries[Interest], former: Forwarding
) -> tuple[Forwarding, int]:
    """A forwarding that follows the entries, and of how many filters its engines were ready-made.

    Where the `former` one only stands for it, it says what there is.
    """
    made = make()
    ready = former.ready if isinstance(former, Later) else None
    if ready is None or not isinstance(made, Adopting):
        entries.follow(made)
        return made, 0
    try:
        adopted = made.adopt(ready, entries.by_key)
    except FileFormatError:  # whole files, of something else: it is as if there were none
        made = make()
        entries.follow(made)
        return made, 0
    entries.follow(made, told=adopted.held)
    made.let_go()
    return made, adopted.filters
