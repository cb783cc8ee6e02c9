"""Subscriptions that a client requests or withdraws many at a time, bit by bit.

A million requests in one go would lie in the queues of both ends, and nothing else would be done
meanwhile. So only some are under way, each answer makes room for another, and each step takes a few
milliseconds. Withdrawals share the room, and come first.

Worked example, rooms for 6 and steps of 4: of ten subscriptions s0 to s9 four are requested, and
two at the next step. s0, s1 and s2 are answered: s6, s7 and s8 are requested. All ten are to be
withdrawn: s9 was never requested, and is gone; there is no room for others. Answers to s3 and s4
make room for the withdrawals of s0 and s1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from sapwood.limits import (
    SUBSCRIBE_MANY_MAX,
    SUBSCRIPTIONS_UNANSWERED_MAX,
    SUBSCRIPTIONS_WANTED_AT_ONCE_MAX,
)
from sapwood.session.client_entries import HELD, ClientEntries, Entry
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.messages import SubscribeManyRequest, UnsubscribeManyRequest

_ENTRY_BYTES: Final = 16
"""At most so many bytes stand before an id and a text, of either language, in MessagePack."""

_CHAR_BYTES: Final = 4
"""The most bytes that a character of a text takes."""

Subscription: TypeAlias = Entry[InterestText, Any]


class BulkRequests:
    """The requests and withdrawals of one client, in order, on one connection after the other.

    #: an entry is to be requested iff it is among the entries of the client, `asked` is not
    #: `connection`, and it is in _again or in one of _held; what is in _held is `HELD` until then
    #: _under_way are the ids that a broker has yet to answer
    """

    __slots__ = ("_again", "_connection", "_entries", "_held", "_under_way", "_withdrawn")

    def __init__(self, entries: ClientEntries[InterestText, Any]) -> None:
        self._entries = entries
        #: the number of the connection; of none, that of the last
        self._connection = 0
        #: what earlier connections have requested
        self._again: deque[Subscription] = deque()
        self._held: deque[deque[Subscription]] = deque()
        self._withdrawn: deque[Iterator[str]] = deque()
        self._under_way: set[str] = set()

    def begin(self, connection: int) -> None:
        """There is a new connection, on which all that was requested is to be requested again."""
        self._connection = connection
        self._again = deque(self._entries)
        self._under_way.clear()

    def put(self, held: deque[Subscription]) -> None:
        """Let subscriptions that were held be requested, after those before."""
        self._held.append(held)

    def withdraw(self, ids: Sequence[str]) -> None:
        """Let subscriptions be withdrawn; those that are gone already are passed over."""
        self._withdrawn.append(iter(ids))

    def is_requested(self, entry: Entry[Any, Any]) -> bool:
        """Whether the broker of this connection knows of an entry."""
        return entry.asked == self._connection

    def is_under_way(self, id_: str) -> bool:
        """Whether the broker has yet to answer about one that was requested with others."""
        return id_ in self._under_way

    @property
    def is_restated(self) -> bool:
        """Whether all is requested again that earlier connections have requested."""
        return not self._again

    @property
    def are_answered(self) -> bool:
        """Whether nothing is to be requested, and no answer is waited for."""
        return not (self._again or self._held or self._under_way)

    def has_work(self, *, is_open: bool) -> bool:
        """Whether there is a step that waits for no answer."""
        if not is_open:
            return bool(self._withdrawn)
        is_room = len(self._under_way) < SUBSCRIPTIONS_UNANSWERED_MAX
        return is_room and bool(self._withdrawn or self._again or self._held)

    def answered(self, *ids: str) -> None:
        """The broker has answered."""
        self._under_way.difference_update(ids)

    def _room(self) -> int:
        room = SUBSCRIPTIONS_UNANSWERED_MAX - len(self._under_way)
        return max(0, min(SUBSCRIPTIONS_WANTED_AT_ONCE_MAX, room))

    def request(self, bytes_max: int) -> SubscribeManyRequest | None:
        """The next request, if there is room for one, of at most so many bytes.

        One that is longer by itself has a frame of its own.
        """
        ids, texts, size = list[str](), list[InterestText](), 0
        most, looks = self._room(), SUBSCRIPTIONS_WANTED_AT_ONCE_MAX
        while len(ids) < most and looks and (self._again or self._held):
            looks -= 1
            source = self._again or self._held[0]
            if not source:
                self._held.popleft()
                continue
            entry = source[0]
            if self._is_to_be_requested(entry, again=source is self._again):
                size += _bytes_of(entry.id) + _text_bytes(entry.filter) + _ENTRY_BYTES
                if ids and size > bytes_max:
                    break
                entry.asked = self._connection
                ids.append(entry.id)
                texts.append(entry.filter)
            source.popleft()
        if self._held and not self._held[0]:
            self._held.popleft()
        self._under_way.update(ids)
        return SubscribeManyRequest(tuple(ids), tuple(texts)) if ids else None

    def _is_to_be_requested(self, entry: Subscription, *, again: bool) -> bool:
        if entry.asked == self._connection or (again and entry.asked == HELD):
            return False
        return self._entries.get(entry.id) is entry

    def leave(self, *, is_open: bool) -> tuple[list[Subscription], list[str]]:
        """The next that are withdrawn: those that are gone by that, and the ids of the others."""
        gone, known = list[Subscription](), list[str]()
        most = self._room() if is_open else SUBSCRIPTIONS_WANTED_AT_ONCE_MAX
        while most and self._withdrawn:
            ids = list(islice(self._withdrawn[0], most))
            if not ids:
                self._withdrawn.popleft()
            most -= len(ids)
            for id_ in ids:
                entry = self._entries.get(id_)
                if entry is None or entry.is_leaving:
                    continue
                if is_open and self.is_requested(entry):
                    self._entries.leave(entry)
                    known.append(id_)
                else:
                    self._entries.remove(entry)
                    gone.append(entry)
        self._under_way.update(known)
        return gone, known


def withdrawals(ids: Sequence[str], bytes_max: int) -> Iterator[UnsubscribeManyRequest]:
    """Requests to withdraw subscriptions, in frames of at most so many bytes."""
    some, size = list[str](), 0
    for id_ in ids:
        size += _bytes_of(id_) + _ENTRY_BYTES
        if some and (size > bytes_max or len(some) == SUBSCRIBE_MANY_MAX):
            yield UnsubscribeManyRequest(tuple(some))
            some, size = [], _bytes_of(id_) + _ENTRY_BYTES
        some.append(id_)
    if some:
        yield UnsubscribeManyRequest(tuple(some))


def _text_bytes(text: InterestText) -> int:
    if isinstance(text, XPathText):
        bound = text.bindings or ()
        return _bytes_of(text.text) + sum(
            _bytes_of(one) + _ENTRY_BYTES for pair in bound for one in pair
        )
    return _bytes_of(text)


def _bytes_of(text: str) -> int:
    """At most so many bytes does a text take."""
    return len(text) if text.isascii() else len(text) * _CHAR_BYTES
