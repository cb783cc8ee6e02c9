"""The publishers' past in a store: ids that are taken, and numbers in sessions.

A publisher's id is taken once, which makes it harmless to publish again after a doubt. Ids of
different publishers are independent, so no publisher can take an id from another one. A publisher
is a client, by its name, or several whose names agree up to the first slash: tasks of one job,
which may publish each other's publications again.

A client that returns to a broker after its restart sends its unacknowledged publications, by
numbers; those that are in the log are not accepted again, whatever their ids.

::

   client     ids             taken
   relay/0    p1, p2          publisher relay: p1, p2
   relay/1    p2, p3                           p3 (p2 goes nowhere)
   ann        p1              publisher ann: p1
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sapwood.errors import InvariantError
from sapwood.limits import JOURNAL_IDS_REMEMBERED_MAX, SESSIONS_REMEMBERED_MAX


class Published(NamedTuple):
    """Publications of a client: their ids, and the number of the first in its session, or 0."""

    client: str
    session: str
    first: int
    ids: list[bytes]


_NOBODY: Final = ("", 0, 0)


def publisher_of(client: str) -> str:
    """The publisher that a client belongs to: its name, up to a slash."""
    return client.partition("/")[0] or client


class Publishers:
    """The ids that were taken last, and each client's last run of numbers without a gap.

    #: _ids[p] are the ids of publisher p in _taken, without those that were given back
    #: _count is the number of ids in _taken; the ids of all its entries but the first are fewer
    #: than ids_max
    #: _runs[client] = session, first, last: these numbers of that session are in the log
    """

    __slots__ = ("_clients_max", "_count", "_ids", "_runs", "_taken", "ids_max")

    def __init__(
        self,
        ids_max: int = JOURNAL_IDS_REMEMBERED_MAX,
        clients_max: int = SESSIONS_REMEMBERED_MAX,
    ) -> None:
        self.ids_max = ids_max
        self._clients_max = clients_max
        self._ids: dict[str, set[bytes]] = {}
        #: in the order in which they were taken: the publisher, and its ids
        self._taken: deque[tuple[str, Sequence[bytes]]] = deque()
        self._count = 0
        self._runs: dict[str, tuple[str, int, int]] = {}

    def __len__(self) -> int:
        """The number of known ids."""
        return sum(map(len, self._ids.values()))

    def recall(self, published: Iterable[Published]) -> None:
        """Take in the earlier publications of clients, in order."""
        for client, session, first, ids in published:
            self.take(client, ids)
            self.published(client, session, first, len(ids))

    def knows(self, client: str, id_: bytes) -> bool:
        """True if an id of a client is taken."""
        return id_ in self._ids.get(publisher_of(client), ())

    def take_new(self, client: str, ids: Sequence[bytes]) -> bool:
        """`take` ids if none of them is taken, nor given twice; true if they were taken."""
        publisher = publisher_of(client)
        known = self._ids.get(publisher)
        if known is None:
            known = set()
        elif not known.isdisjoint(ids):
            return False
        before = len(known)
        known.update(ids)
        if len(known) - before != len(ids):
            known.difference_update(ids)
            return False
        if ids:
            self._ids[publisher] = known
            self._remember(publisher, ids)
        return True

    def take(self, client: str, ids: Sequence[bytes]) -> None:
        """Take these ids of a client; the ids taken first are forgotten.

        They are forgotten in the groups in which they were taken.
        """
        if not ids:
            return
        publisher = publisher_of(client)
        self._ids.setdefault(publisher, set()).update(ids)
        self._remember(publisher, ids)

    def _remember(self, publisher: str, ids: Sequence[bytes]) -> None:
        self._taken.append((publisher, ids))
        self._count += len(ids)
        while self._count - len(self._taken[0][1]) >= self.ids_max:
            self._forget(*self._taken.popleft())

    def _forget(self, publisher: str, ids: Sequence[bytes]) -> None:
        self._count -= len(ids)
        known = self._ids[publisher]
        known.difference_update(ids)
        if not known:
            del self._ids[publisher]

    def give_back(self, client: str, id_: bytes) -> None:
        """Give back the id taken last: its publication was refused."""
        publisher, ids = self._taken.pop()
        if publisher != publisher_of(client) or list(ids) != [id_]:
            raise InvariantError("an id is given back that was not the last one")
        self._forget(publisher, ids)
        self._runs.pop(client, None)

    def published(self, client: str, session: str, first: int, count: int) -> None:
        """Record `count` publications of a client, from number `first` on, or without any (0)."""
        if not first:
            return
        known, begin, last = self._runs.pop(client, _NOBODY)
        if known != session or first > last + 1:
            begin = first
        self._runs[client] = session, begin, first + count - 1
        if len(self._runs) > self._clients_max:
            del self._runs[next(iter(self._runs))]

    def received(self, client: str, session: str, acknowledged: int) -> int:
        """The last number up to which a client's publications are in the log, or acknowledged.

        Numbers before a gap are not included: they may have been refused without the client's
        knowing.
        """
        known, begin, last = self._runs.get(client, _NOBODY)
        if known != session or begin > acknowledged + 1:
            return acknowledged
        return max(acknowledged, last)
