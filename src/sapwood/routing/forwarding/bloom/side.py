"""The filters of one side, as Bloom forwarding keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sapwood.errors import UnknownIdError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.shares import Share

CLIENTS_PLACE: Final = 0
"""The place of clients among sides; links have the other places."""


class BloomSide:
    """The filters of a neighbor, or of clients, by key, and their place among the sides.

    #: a key is in one share
    """

    __slots__ = ("patterns", "place", "records")

    def __init__(self, place: int, records: Share, patterns: Share) -> None:
        self.place: Final = place
        self.records: Final = records
        self.patterns: Final = patterns

    def __len__(self) -> int:
        return len(self.records.slots) + len(self.patterns.slots)

    def __contains__(self, key: object) -> bool:
        return key in self.records.slots or key in self.patterns.slots

    def __iter__(self) -> Iterator[str]:
        yield from self.records.slots
        yield from self.patterns.slots

    def share_for(self, wanted: Interest) -> Share:
        """The share that a filter goes to."""
        return self.records if isinstance(wanted, Filter) else self.patterns

    def share_of(self, key: str) -> Share:
        """The share that has a key; raises `UnknownIdError`."""
        if key not in self:
            raise UnknownIdError("subscription", key)
        return self.records if key in self.records.slots else self.patterns

    def filter(self, key: str) -> Interest:
        """The filter under a key; raises `UnknownIdError`."""
        return self.share_of(key).filter(key)
