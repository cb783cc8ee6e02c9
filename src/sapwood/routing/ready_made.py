"""Engines that were built of a router's filters before it needs them, and those filters.

What a router matches publications with follows from its entries, and its engines are most of what
it takes to make it. They are saved beside the checkpoint of the entries (`matching.prepared`). A
router that comes back has the entries that it had then, and others when all is done again that came
since: so its index begins with the engines, is told of all that there is, and lets go of what
nobody holds by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sapwood.matching.prepared import Prepared
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept
from sapwood.routing.tables import Entries

OWN: Final = "clients"
"""The engine with the filters of clients."""

LINKS: Final = "links"
"""The engine with what came over links, whichever."""


class ReadyMade(NamedTuple):
    """Saved engines, and for each of them the filters that it must be of, by slot."""

    prepared: Prepared
    filters: Mapping[str, dict[bytes, int]]


def filters_by_slot(entries: Entries[Interest]) -> dict[str, dict[bytes, int]]:
    """The different filters of records that entries have, as they are packed, for each engine.

    They are numbered in the order of the entries. Filters that have no packed form, and tree
    patterns, are in no engine that is saved.
    """
    received = (one.content for heard in entries.received.values() for one in heard.values())
    return {
        OWN: _numbered(one.content for one in entries.by_key.values()),
        LINKS: _numbered(received),
    }


def _numbered(contents: Iterable[Kept]) -> dict[bytes, int]:
    numbered: dict[Any, int] = dict.fromkeys(contents, 0)
    if {*map(type, numbered)} - {bytes}:
        numbered = dict.fromkeys((one for one in numbered if type(one) is bytes), 0)
    numbered.update(zip(numbered, range(len(numbered)), strict=True))
    return numbered
