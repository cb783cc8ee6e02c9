"""Changes of the filters of a client's subscriptions, across the client's connections.

A change is requested like the subscription, under the same id, and answered when the new filter is
in force. To the subscription, that answer looks like its own, so no other request is sent under the
id while an answer is outstanding::

   due    ->  asked                    by the answer to what was requested before
   asked  ->  changed                  by an answer, and the subscription has the new filter
   asked  ->  back     ->  kept        by a refusal, and an answer: it has the former one again
   back   ->  gone                     by a second refusal

The former filter is requested again after a refusal because a broker that has known this client for
one connection only, on which the subscription came with the new filter, does not have it.

Worked example. `s1` is in force with `x > 1`, and is changed to `x > 2`: the request is sent, and
the change is `asked`. The connection is lost, and on the next one `s1` is requested as `x > 2`. The
broker refuses that; `s1` is requested as `x > 1`, and when that is answered the application is
notified that `s1` is kept, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from sapwood.errors import InvariantError
from sapwood.session.client_entries import Entry, EntryChanged, EntryKept

F = TypeVar("F")


class Stage(Enum):
    """The stage of a change."""

    DUE = "due"
    ASKED = "asked"
    BACK = "back"


@dataclass(slots=True)
class _Change(Generic[F]):
    """A change under way; `other` is the new filter while it is due, and the former one later."""

    stage: Stage
    other: F
    reason: str = ""


class Changes(Generic[F]):
    """The changes under way of one client, of entries of one kind.

    `ask` requests an entry, with its present filter, on the open connection.
    """

    __slots__ = ("_ask", "_under_way")

    def __init__(self, ask: Callable[[Entry[F, Any]], None]) -> None:
        self._ask: Final = ask
        self._under_way: dict[str, _Change[F]] = {}

    def begin(self, entry: Entry[F, Any], wanted: F, *, is_known: bool, is_answered: bool) -> None:
        """Begin to change the filter of an entry, of which no other change is under way.

        `is_known`: the entry was requested on this connection. Where it was not, it will be, with
        the new filter.
        """
        if entry.id in self._under_way:
            raise InvariantError(f"{entry.kind.noun} {entry.id!r} is being changed already")
        if is_known and not is_answered:
            self._under_way[entry.id] = _Change(Stage.DUE, wanted)
            return
        self._under_way[entry.id] = _Change(Stage.ASKED, entry.filter)
        entry.filter = wanted
        if is_known:
            self._ask(entry)

    def connected(self, known: Callable[[str], Entry[F, Any] | None]) -> None:
        """Begin a connection, on which all entries are requested with their present filters."""
        for id_, change in self._under_way.items():
            entry = known(id_)
            if change.stage is Stage.DUE and entry is not None:
                entry.filter, change.other = change.other, entry.filter
                change.stage = Stage.ASKED

    def answered(self, entry: Entry[F, Any]) -> EntryChanged | EntryKept | None:
        """Take in that an entry is in force; return the event of its change, if it ends one.

        `None` where the entry is not being changed, or where its change is requested only now.
        """
        change = self._under_way.get(entry.id)
        if change is None:
            return None
        if change.stage is Stage.DUE:
            entry.filter, change.other = change.other, entry.filter
            change.stage = Stage.ASKED
            self._ask(entry)
            return None
        del self._under_way[entry.id]
        if change.stage is Stage.BACK:
            return EntryKept(entry, change.reason)
        return EntryChanged(entry)

    def refused(self, entry: Entry[F, Any], reason: str) -> bool:
        """Take in that the broker refuses an entry; true if the entry stays, unchanged."""
        change = self._under_way.get(entry.id)
        if change is None or change.stage is not Stage.ASKED:
            self._under_way.pop(entry.id, None)
            return False
        entry.filter = change.other
        change.stage, change.reason = Stage.BACK, reason
        self._ask(entry)
        return True

    def is_under_way(self, id_: str) -> bool:
        """True if a change of an entry is under way."""
        return id_ in self._under_way

    def forget(self, id_: str) -> None:
        """Drop the change of an entry that is withdrawn."""
        self._under_way.pop(id_, None)
