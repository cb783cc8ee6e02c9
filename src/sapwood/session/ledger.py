"""Publications between "sent" and "accepted", at both ends.

A client numbers its publications from 1, without gaps, in a *session*: one run of a client under
its name, across all its connections. The broker answers cumulatively. A client that reconnects
sends its unacknowledged publications again; the broker drops those that it passed on already. So a
retry never publishes twice, as long as the broker remembers the session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from sapwood.errors import FrameError, InvariantError
from sapwood.limits import (
    SESSIONS_REMEMBERED_MAX,
    UNACKNOWLEDGED_BYTES_MAX,
    UNACKNOWLEDGED_MAX,
)
from sapwood.model.publication import Publication


class PublisherLedger:
    """The publications of one publisher's session, and their answers, at its broker.

    #: numbers in `_outstanding` ascend, and none is above `received`
    #: every number up to `received` is outstanding, accepted or refused
    """

    __slots__ = ("_batches", "_outstanding", "_refused", "received", "session")

    def __init__(self, session: str, received: int = 0) -> None:
        self.session = session
        #: the last publication that was passed on or refused
        self.received = received
        #: passed on and not yet answered: an id with its number, or publications that were passed
        #: on together, with the number of the first one
        self._outstanding: deque[tuple[int, str | Sequence[Publication]]] = deque()
        #: the number of batches in `_outstanding`
        self._batches = 0
        #: reasons by number, kept as long as the client may not have read them
        self._refused: dict[int, str] = {}

    @property
    def through(self) -> int:
        """The last publication up to which every publication is answered."""
        return self._outstanding[0][0] - 1 if self._outstanding else self.received

    def admit(self, sequence: int) -> bool:
        """True if the publication with this number is new; it then has to be passed on or refused.

        Raises `FrameError` where a number was left out, or too many wait for an answer.
        """
        if sequence <= self.received:
            return False
        if sequence != self.received + 1:
            raise FrameError(f"publication {sequence} came after {self.received}")
        if self._waiting() >= UNACKNOWLEDGED_MAX:
            raise FrameError(f"more than {UNACKNOWLEDGED_MAX} publications wait for an answer")
        return True

    def admit_many(self, first: int, count: int) -> int | None:
        """The number of known publications among `count` consecutive ones; these come first.

        The others have to be passed on. `None` where they are to be admitted one by one.
        """
        waiting = self._waiting()
        if first > self.received + 1 or (waiting and waiting + count > UNACKNOWLEDGED_MAX):
            return None
        return min(count, self.received + 1 - first)

    def pass_on_many(self, first: int, publications: Sequence[Publication]) -> None:
        """Record publications that go to the router together, which will answer for them."""
        self.received = first + len(publications) - 1
        self._outstanding.append((first, publications))
        self._batches += 1

    def settle_many(self, count: int) -> None:
        """Settle the `count` oldest outstanding publications, which the router has answered for."""
        while count:
            if not self._outstanding:
                raise InvariantError(f"{count} publications were answered without being asked")
            first, which = self._outstanding.popleft()
            size = 1 if isinstance(which, str) else len(which)
            if size > count:
                self._outstanding.appendleft((first + count, which[count:]))
                return
            self._batches -= not isinstance(which, str)
            count -= size

    def pass_on(self, sequence: int, publication_id: str) -> None:
        """Record a publication that goes to the router, which will answer."""
        self.received = sequence
        self._outstanding.append((sequence, publication_id))

    def settle(self, publication_id: str) -> int:
        """Settle the oldest outstanding publication of this id; return its number."""
        if self._batches:
            self._spell_out()
        if self._outstanding and self._outstanding[0][1] == publication_id:
            return self._outstanding.popleft()[0]
        for position, (sequence, other) in enumerate(self._outstanding):
            if other == publication_id:
                del self._outstanding[position]
                return sequence
        raise InvariantError(f"publication {publication_id!r} was answered without being asked")

    def _waiting(self) -> int:
        """The number of publications that are not yet answered."""
        if not self._batches:
            return len(self._outstanding)
        return sum(1 if isinstance(which, str) else len(which) for _, which in self._outstanding)

    def _spell_out(self) -> None:
        """Split all batches into single publications, as they are answered one by one."""
        outstanding, self._outstanding, self._batches = self._outstanding, deque(), 0
        for first, which in outstanding:
            ids = (which,) if isinstance(which, str) else [one.id for one in which]
            self._outstanding.extend(enumerate(ids, first))

    def refuse(self, sequence: int, reason: str) -> None:
        """Refuse a publication; the reason is kept for a client that did not read it."""
        self.received = max(self.received, sequence)
        self._refused[sequence] = reason
        # A client stops at UNACKNOWLEDGED_MAX unacknowledged publications, so it has read the older
        # answers.
        while len(self._refused) > UNACKNOWLEDGED_MAX:
            del self._refused[next(iter(self._refused))]

    def leave(self) -> None:
        """Detach the client; it has to send again what the router did not get until now."""
        self.received = self.through
        self._outstanding.clear()
        self._batches = 0

    def resume(self, acknowledged: int) -> list[tuple[int, str]]:
        """Attach the client again, which has read all answers up to `acknowledged`.

        Returns the refusals that it has not read. A number that was never received here comes from
        before this broker's time.
        """
        self._refused = {n: reason for n, reason in self._refused.items() if n > acknowledged}
        self.received = max(self.received, acknowledged)
        return sorted(self._refused.items())


class SessionMemory:
    """The publishers' sessions that a broker remembers, by client name.

    Sessions of clients that are connected are always remembered; of those that have left, the
    `remembered_max` that left last.
    """

    __slots__ = ("_connected", "_left", "remembered_max")

    def __init__(self, remembered_max: int = SESSIONS_REMEMBERED_MAX) -> None:
        self.remembered_max = remembered_max
        self._connected: dict[str, PublisherLedger] = {}
        #: in the order of leaving
        self._left: dict[str, PublisherLedger] = {}

    def __len__(self) -> int:
        return len(self._connected) + len(self._left)

    def attach(self, name: str, session: str) -> PublisherLedger:
        """The ledger of a client that connects: its former one, if this is the same session."""
        if name in self._connected:
            raise InvariantError(f"client {name!r} is connected already")
        ledger = self._left.pop(name, None)
        if ledger is None or ledger.session != session:
            ledger = PublisherLedger(session)
        self._connected[name] = ledger
        return ledger

    def detach(self, name: str, *, forget: bool) -> None:
        """Detach a client; `forget` where it said goodbye for good."""
        ledger = self._connected.pop(name)
        if forget:
            return
        ledger.leave()
        self._left[name] = ledger
        while len(self._left) > self.remembered_max:
            del self._left[next(iter(self._left))]


class Unacknowledged:
    """A client's publications that wait for the broker's answer, oldest first.

    #: numbers ascend without gaps from `acknowledged + 1` to `last`
    """

    __slots__ = ("_bytes", "_waiting", "acknowledged", "bytes_max", "last", "publications_max")

    def __init__(
        self,
        publications_max: int = UNACKNOWLEDGED_MAX,
        bytes_max: int = UNACKNOWLEDGED_BYTES_MAX,
    ) -> None:
        self.publications_max = publications_max
        self.bytes_max = bytes_max
        #: every publication up to this one has been answered
        self.acknowledged = 0
        #: the number of the newest publication
        self.last = 0
        self._waiting: deque[bytes] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """True if the next publication has to wait for an answer to an earlier one."""
        return len(self._waiting) >= self.publications_max or self._bytes >= self.bytes_max

    def add(self, publication: bytes) -> int:
        """Keep a publication until it is answered; returns its number."""
        if self.full:
            raise InvariantError("a publication was added to a full window")
        self.add_again(publication)
        return self.last

    def begin_after(self, number: int) -> None:
        """Begin behind the publications of earlier runs, all of which are answered."""
        if self.last:
            raise InvariantError("publications are numbered already")
        self.acknowledged = self.last = number

    def add_again(self, publication: bytes) -> None:
        """Keep a publication that an earlier run has added, full or not."""
        self._waiting.append(publication)
        self._bytes += len(publication)
        self.last += 1

    def refused(self, number: int) -> None:
        """Record the broker's refusal of a publication that waits for the answers to earlier ones.

        The application, once informed, may have published it again under another number, so it must
        never be accepted: it is replaced by empty bytes, which every broker refuses.
        """
        at = number - self.acknowledged - 1
        if at >= 0:
            self._bytes -= len(self._waiting[at])
            self._waiting[at] = b""

    def answered(self, through: int) -> None:
        """Drop all publications up to `through`, which the broker has answered.

        Raises `FrameError` for publications that were never sent.
        """
        if through > self.last:
            raise FrameError(f"the broker accepted publication {through} of {self.last}")
        for _ in range(through - self.acknowledged):
            self._bytes -= len(self._waiting.popleft())
        self.acknowledged = max(self.acknowledged, through)

    def after(self, sequence: int) -> Iterator[tuple[int, bytes]]:
        """The publications after `sequence` that still wait, with their numbers."""
        for number, publication in enumerate(self._waiting, start=self.acknowledged + 1):
            if number > sequence:
                yield number, publication
