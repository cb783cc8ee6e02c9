"""Engines that were built of a router's filters before it needs them, and those filters.

A router's index follows from its entries, and building its engines is most of the work. They are
saved beside the checkpoint of the entries (`matching.prepared`). A restored router first has the
entries of the checkpoint, and others when all later changes are done again: so its index begins
with the engines, then gets all present entries, and releases the filters that no entry holds by
then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sapwood.matching.prepared import Prepared
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept, are_packed
from sapwood.routing.tables import Entries, LocalEntry, ReceivedEntry

OWN: Final = "clients"
"""The engine with the filters of clients."""

LINKS: Final = "links"
"""The engine with the filters received over links, over all links together."""

_CONTENT: Final[Callable[[LocalEntry[Any] | ReceivedEntry[Any]], Kept]] = attrgetter("content")


class Lists(NamedTuple):
    """The packed filters of a router, in the order of its entries.

    Filters that have no packed form, and tree patterns, are left out. `keys` are those of `own`,
    the filters of clients, where none of these was left out.
    """

    keys: Sequence[str]
    own: Sequence[bytes]
    links: Sequence[bytes]

    @classmethod
    def of(cls, entries: Entries[Interest]) -> Lists:
        """The lists of a router with these entries."""
        received = chain.from_iterable(heard.values() for heard in entries.received.values())
        own, links = [*map(_CONTENT, entries.by_key.values())], [*map(_CONTENT, received)]
        keys = [*entries.by_key] if are_packed(own) else ()
        return cls(keys, _packed(own), _packed(links))


class ReadyMade(NamedTuple):
    """Saved engines, and the router's filters at the time when they were saved."""

    prepared: Prepared
    lists: Lists


def _packed(contents: Sequence[Kept]) -> Sequence[bytes]:
    if are_packed(contents):
        return contents
    return [one for one in contents if isinstance(one, bytes)]
