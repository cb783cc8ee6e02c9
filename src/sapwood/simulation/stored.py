"""What routers have persisted: lists of records that survive a crash, one for each router."""

from __future__ import annotations

from sapwood.routing.inputs import Note, Record


class Stored:
    """The records of all routers of a world, by name, in the order in which they were written."""

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: dict[str, list[Record]] = {}

    def keep(self, router: str, record: Record) -> None:
        """A router persists a record; a note takes the place of the earlier one of its name."""
        records = self._records.setdefault(router, [])
        if isinstance(record, Note):
            records[:] = [one for one in records if not _is_named(one, record.name)]
        records.append(record)

    def of(self, router: str) -> tuple[Record, ...]:
        """What a router has persisted, in all its lives."""
        return tuple(self._records.get(router, ()))

    def forget(self, router: str) -> None:
        """A router has left for good, and what it kept is gone."""
        self._records.pop(router, None)


def _is_named(record: Record, name: str) -> bool:
    return isinstance(record, Note) and record.name == name
