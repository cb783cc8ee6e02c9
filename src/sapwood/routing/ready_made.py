"""Engines that were built of a router's filters before it needs them, and those filters.

What a router matches publications with follows from its entries, and its engines are most of what
it takes to make it. They are saved beside the checkpoint of the entries (`matching.prepared`). A
router that comes back has the entries that it had then, and others when all is done again that came
since: so its index begins with the engines, is told of all that there is, and lets go of what
nobody holds by then.
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
"""The engine with what came over links, whichever."""

_CONTENT: Final[Callable[[LocalEntry[Any] | ReceivedEntry[Any]], Kept]] = attrgetter("content")


class Lists(NamedTuple):
    """The filters of a router as they are packed, in the order of its entries.

    Those that have no packed form, and tree patterns, are left out. `keys` are those of `own`, the
    filters of clients, where nothing was left out of these.
    """

    keys: Sequence[str]
    own: Sequence[bytes]
    links: Sequence[bytes]

    @classmethod
    def of(cls, entries: Entries[Interest]) -> Lists:
        """Those of a router with these entries."""
        received = chain.from_iterable(heard.values() for heard in entries.received.values())
        own, links = [*map(_CONTENT, entries.by_key.values())], [*map(_CONTENT, received)]
        keys = [*entries.by_key] if are_packed(own) else ()
        return cls(keys, _packed(own), _packed(links))


class ReadyMade(NamedTuple):
    """Saved engines, and what the router had when they were saved."""

    prepared: Prepared
    lists: Lists


def _packed(contents: Sequence[Kept]) -> Sequence[bytes]:
    if are_packed(contents):
        return contents
    return [one for one in contents if isinstance(one, bytes)]
