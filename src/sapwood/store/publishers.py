"""What a store knows of those who published: ids that are taken, and numbers in sessions.

An id is taken once, which is what makes publishing again after a doubt harmless. A client that
comes back to a broker that was started again sends what was not acknowledged, by numbers; those
that the log has are not taken again, whatever their ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sapwood.limits import JOURNAL_IDS_REMEMBERED_MAX, SESSIONS_REMEMBERED_MAX


class Published(NamedTuple):
    """What a client has published: the ids, and the number of the first in its session, or 0."""

    client: str
    session: str
    first: int
    ids: list[bytes]


_NOBODY: Final = ("", 0, 0)


class Publishers:
    """The ids that were taken last, and for each client what it published last without a gap.

    #: _ids are in _taken
    #: _runs[client] = session, first, last: these numbers of that session are in the log
    """

    __slots__ = ("_clients_max", "_ids", "_runs", "_taken", "ids_max")

    def __init__(
        self,
        ids_max: int = JOURNAL_IDS_REMEMBERED_MAX,
        clients_max: int = SESSIONS_REMEMBERED_MAX,
    ) -> None:
        self.ids_max = ids_max
        self._clients_max = clients_max
        self._ids: set[bytes] = set()
        #: in the order in which they were taken, those that were given back among them
        self._taken: deque[bytes] = deque()
        self._runs: dict[str, tuple[str, int, int]] = {}

    def __len__(self) -> int:
        """How many ids are known."""
        return len(self._ids)

    def recall(self, published: Iterable[Published]) -> None:
        """Take in what clients have published before, in order."""
        for client, session, first, ids in published:
            self.take(ids)
            self.published(client, session, first, len(ids))

    def knows(self, id_: bytes) -> bool:
        """Whether an id is taken."""
        return id_ in self._ids

    def knows_none(self, ids: Sequence[bytes]) -> bool:
        """Whether no id is taken, nor given twice."""
        return self._ids.isdisjoint(ids) and len(set(ids)) == len(ids)

    def take(self, ids: Sequence[bytes]) -> None:
        """These ids are taken from now on; those that were taken first are forgotten."""
        self._ids.update(ids)
        taken = self._taken
        taken.extend(ids)
        excess = len(taken) - self.ids_max
        if excess > 0:
            self._ids.difference_update([taken.popleft() for _ in range(excess)])

    def give_back(self, id_: bytes, client: str) -> None:
        """An id is not taken after all: the publication of a client was refused."""
        self._ids.discard(id_)
        self._runs.pop(client, None)

    def published(self, client: str, session: str, first: int, count: int) -> None:
        """A client has published so many, from this number on, or without a number (0)."""
        if not first:
            return
        known, begin, last = self._runs.pop(client, _NOBODY)
        if known != session or first > last + 1:
            begin = first
        self._runs[client] = session, begin, first + count - 1
        if len(self._runs) > self._clients_max:
            del self._runs[next(iter(self._runs))]

    def received(self, client: str, session: str, acknowledged: int) -> int:
        """Up to which number a client's publications are in the log, or acknowledged.

        What lies before a gap is not claimed: it may have been refused without its being told.
        """
        known, begin, last = self._runs.get(client, _NOBODY)
        if known != session or begin > acknowledged + 1:
            return acknowledged
        return max(acknowledged, last)
