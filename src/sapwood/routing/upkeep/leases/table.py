"""The leases of one kind of entries at one router, and when the next one runs out."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator

from msgspec import Struct

from sapwood.errors import InvariantError


class Lease(Struct, gc=False):
    """One entry's lease.

    `begun` and `expires` are times of the router's clock. The renewal was at most `age_ns` old
    then, `None` where that is not known; `sending` is the number under which the neighbor last sent
    the entry, 0 where it is not known. `ticket` is that of its place in the order of expiries.
    """

    begun: float
    expires: float
    age_ns: int | None
    sending: int = 0
    ticket: int = 0

    @property
    def length_s(self) -> float:
        """Its length as a whole."""
        return self.expires - self.begun


class LeaseTable:
    """Leases by neighbor and key.

    #: for each lease the heap has one entry with its ticket, due when it expires, or before;
    #: entries with other tickets mean nothing
    """

    __slots__ = ("_heap", "_ticket", "of")

    def __init__(self) -> None:
        self.of: dict[str, dict[str, Lease]] = {}
        self._heap: list[tuple[float, int, str, str]] = []
        self._ticket = 0

    def __len__(self) -> int:
        return sum(map(len, self.of.values()))

    def get(self, neighbor: str, key: str) -> Lease | None:
        """The lease of an entry, if it has one."""
        leases = self.of.get(neighbor)
        return None if leases is None else leases.get(key)

    def begin(self, neighbor: str, key: str, lease: Lease) -> None:
        """Give an entry a lease, in the place of an earlier one."""
        leases = self.of.setdefault(neighbor, {})
        present = leases.get(key)
        leases[key] = lease
        if present is not None and lease.expires >= present.expires:
            lease.ticket = present.ticket
        else:
            self._await(neighbor, key, lease)

    def drop(self, neighbor: str, key: str) -> None:
        """Forget the lease of an entry that is gone, if it had one."""
        self.of.get(neighbor, {}).pop(key, None)

    def link_down(self, neighbor: str) -> None:
        """Forget all leases of a link."""
        self.of.pop(neighbor, None)

    def keep_only(self, neighbor: str, keys: Collection[str]) -> None:
        """Forget the leases of entries that a link does not have any more."""
        leases = self.of.get(neighbor, {})
        for key in leases.keys() - set(keys):
            del leases[key]

    def next_expiry(self) -> float | None:
        """The time at which the next lease runs out, if nothing is renewed before."""
        while self._heap:
            due, ticket, neighbor, key = self._heap[0]
            lease = self.get(neighbor, key)
            if lease is not None and lease.ticket == ticket and lease.expires <= due:
                return due
            heapq.heappop(self._heap)
            if lease is not None and lease.ticket == ticket:  # it was renewed
                self._await(neighbor, key, lease)
        return None

    def expired(self, now: float) -> Iterator[tuple[str, str]]:
        """Remove the leases that have run out, earliest first; yields their neighbors and keys."""
        while (due := self.next_expiry()) is not None and due <= now:
            _, _, neighbor, key = heapq.heappop(self._heap)
            self.drop(neighbor, key)
            yield neighbor, key

    def validate(self) -> None:
        """Check that every lease is in the order of expiries; raises `InvariantError`."""
        due = {ticket: time for time, ticket, _, _ in self._heap}
        for leases in self.of.values():
            for key, lease in leases.items():
                if due.get(lease.ticket, lease.expires + 1) > lease.expires:
                    raise InvariantError(f"nobody looks when the lease of {key} runs out")

    def _await(self, neighbor: str, key: str, lease: Lease) -> None:
        """Enter a lease in the order of expiries."""
        self._ticket += 1
        lease.ticket = self._ticket
        heapq.heappush(self._heap, (lease.expires, self._ticket, neighbor, key))
