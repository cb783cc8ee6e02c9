"""Subscriptions that a client requests or withdraws in bulk, a few milliseconds at a time.

A million requests at once would lie in the queues of both ends, and nothing else would be done
meanwhile. So only a bounded number of requests is under way, each answer makes room for another
one, and each step takes a few milliseconds. Withdrawals share the room, and come first.

Worked example, with room for 6 and steps of 4: of ten subscriptions s0 to s9 four are requested,
and two at the next step. s0, s1 and s2 are answered: s6, s7 and s8 are requested. Then all ten are
to be withdrawn: s9 was never requested, and is gone; there is no room for the others. The answers
to s3 and s4 make room for the withdrawals of s0 and s1.
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
"""The most bytes that precede an id and a text, of either language, in MessagePack."""

_CHAR_BYTES: Final = 4
"""The most bytes that one character of a text takes."""

Subscription: TypeAlias = Entry[InterestText, Any]


class BulkRequests:
    """The bulk requests and withdrawals of one client, in order, across its connections.

    #: an entry is to be requested iff it is among the entries of the client, its `asked` is not
    #: `_connection`, and it is in _again or in a queue of _held; an entry in _held is `HELD` until
    #: then
    #: _under_way are the ids that the broker has yet to answer
    """

    __slots__ = ("_again", "_connection", "_entries", "_held", "_under_way", "_withdrawn")

    def __init__(self, entries: ClientEntries[InterestText, Any]) -> None:
        self._entries = entries
        #: the number of the present connection; between two connections, that of the last one
        self._connection = 0
        #: entries that earlier connections have requested, to be requested again
        self._again: deque[Subscription] = deque()
        self._held: deque[deque[Subscription]] = deque()
        self._withdrawn: deque[Iterator[str]] = deque()
        self._under_way: set[str] = set()

    def begin(self, connection: int) -> None:
        """Begin a connection, on which all entries requested before are requested again."""
        self._connection = connection
        self._again = deque(self._entries)
        self._under_way.clear()

    def put(self, held: deque[Subscription]) -> None:
        """Queue held subscriptions for their request, behind those queued before."""
        self._held.append(held)

    def withdraw(self, ids: Sequence[str]) -> None:
        """Queue subscriptions for their withdrawal; ids that are gone already are passed over."""
        self._withdrawn.append(iter(ids))

    def is_requested(self, entry: Entry[Any, Any]) -> bool:
        """True if an entry was requested on this connection."""
        return entry.asked == self._connection

    def is_under_way(self, id_: str) -> bool:
        """True if the broker has yet to answer about a subscription that was requested in bulk."""
        return id_ in self._under_way

    @property
    def is_restated(self) -> bool:
        """True if every entry of earlier connections is requested again."""
        return not self._again

    @property
    def are_answered(self) -> bool:
        """True if no entry is to be requested, and no answer is outstanding."""
        return not (self._again or self._held or self._under_way)

    def has_work(self, *, is_open: bool) -> bool:
        """True if there is a step that need not wait for an answer."""
        if not is_open:
            return bool(self._withdrawn)
        is_room = len(self._under_way) < SUBSCRIPTIONS_UNANSWERED_MAX
        return is_room and bool(self._withdrawn or self._again or self._held)

    def answered(self, *ids: str) -> None:
        """Take in the broker's answer about these ids."""
        self._under_way.difference_update(ids)

    def _room(self) -> int:
        room = SUBSCRIPTIONS_UNANSWERED_MAX - len(self._under_way)
        return max(0, min(SUBSCRIPTIONS_WANTED_AT_ONCE_MAX, room))

    def request(self, bytes_max: int) -> SubscribeManyRequest | None:
        """The next request, of at most `bytes_max` bytes, if there is room for one.

        A subscription that is longer by itself has a frame of its own.
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
        """The next withdrawals: the entries that are gone at once, and the ids to send."""
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
    """Requests to withdraw subscriptions, in frames of at most `bytes_max` bytes."""
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
    """An upper bound of the number of bytes of a text."""
    return len(text) if text.isascii() else len(text) * _CHAR_BYTES
