"""What survives a crash: the records that routers have persisted, and what clients want.

A client that comes back to a router which remembers it takes back what it no longer wants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.inputs import (
    ClientInput,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
    Note,
    Record,
)


@dataclass(slots=True)
class Wishes:
    """What a client wants and what it will publish, by its own ids."""

    subscriptions: dict[str, Interest] = field(default_factory=dict)
    advertisements: dict[str, AdvertisedContent] = field(default_factory=dict)

    def copy(self) -> Wishes:
        """The same, as it is now."""
        return Wishes(dict(self.subscriptions), dict(self.advertisements))


class Stored:
    """What each router of a world has persisted, by name, in the order in which it was written.

    #: _wishes has what the clients of a router wanted when it last stopped
    """

    __slots__ = ("_records", "_wishes")

    def __init__(self) -> None:
        self._records: dict[str, list[Record]] = {}
        self._wishes: dict[str, dict[str, Wishes]] = {}

    def keep(self, router: str, record: Record) -> None:
        """A router persists a record; a note takes the place of the earlier one of its name."""
        records = self._records.setdefault(router, [])
        if isinstance(record, Note):
            records[:] = [one for one in records if not _is_named(one, record.name)]
        records.append(record)

    def of(self, router: str) -> tuple[Record, ...]:
        """What a router has persisted, in all its lives."""
        return tuple(self._records.get(router, ()))

    def stop(self, router: str, wishes: Mapping[str, Wishes]) -> None:
        """A router stops, which may remember that its clients want this."""
        self._wishes[router] = {client: own.copy() for client, own in wishes.items()}

    def stale(self, router: str, wishes: Mapping[str, Wishes]) -> Iterator[ClientInput]:
        """What clients have to take back at a router that remembers what they wanted."""
        for client, before in self._wishes.get(router, {}).items():
            now = wishes.get(client)
            if now is None:
                yield DetachClient(client)
                continue
            for id_, wanted in before.subscriptions.items():
                if now.subscriptions.get(id_) != wanted:
                    yield ClientUnsubscribe(client, id_)
            for id_, promised in before.advertisements.items():
                if now.advertisements.get(id_) != promised:
                    yield ClientUnadvertise(client, id_)

    def forget(self, router: str) -> None:
        """A router has left for good, and what it kept is gone."""
        self._records.pop(router, None)
        self._wishes.pop(router, None)


def _is_named(record: Record, name: str) -> bool:
    return isinstance(record, Note) and record.name == name
