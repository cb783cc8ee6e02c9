"""Subscriptions that a client requests many at a time: which it has requested, which are to come.

A million requests in one go would lie in the queues of both ends. So only some are under way, and
each answer makes room for another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from sapwood.limits import SUBSCRIBE_MANY_MAX, SUBSCRIPTIONS_UNANSWERED_MAX
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.messages import SubscribeManyRequest, UnsubscribeManyRequest

_ENTRY_BYTES: Final = 16
"""At most so many bytes stand before an id and a text, of either language, in MessagePack."""

_CHAR_BYTES: Final = 4
"""The most bytes that a character of a text takes."""


class BulkRequests:
    """The requests of one connection, in order.

    #: an id is in _waiting, to be requested, or in _under_way, or in neither
    """

    __slots__ = ("_order", "_under_way", "_waiting")

    def __init__(self) -> None:
        self._order: deque[str] = deque()
        self._waiting: set[str] = set()
        self._under_way: set[str] = set()

    def begin(self, ids: Iterable[str]) -> None:
        """Forget what was requested: there is a new connection, on which these are to be."""
        self._order = deque(ids)
        self._waiting = set(self._order)
        self._under_way.clear()

    def put(self, ids: Sequence[str]) -> None:
        """Let further subscriptions be requested, after those before."""
        self._order.extend(ids)
        self._waiting.update(ids)

    def drop(self, id_: str) -> bool:
        """Give one up that is to be requested; whether it was, and the broker knows nothing."""
        if id_ not in self._waiting:
            return False
        self._waiting.remove(id_)
        return True

    @property
    def are_made(self) -> bool:
        """Whether nothing is to be requested, answered or not."""
        return not self._waiting

    @property
    def are_answered(self) -> bool:
        """Whether nothing is to be requested, and no answer is waited for."""
        return not (self._waiting or self._under_way)

    def answered(self, id_: str) -> None:
        """The broker has answered."""
        self._under_way.discard(id_)

    def frames(
        self, text_of: Callable[[str], InterestText], bytes_max: int
    ) -> Iterator[SubscribeManyRequest]:
        """The requests that there is room for, in frames of at most so many bytes.

        One that is longer by itself has a frame of its own.
        """
        while self._order and len(self._under_way) < SUBSCRIPTIONS_UNANSWERED_MAX:
            ids, texts, size = list[str](), list[InterestText](), 0
            most = min(SUBSCRIBE_MANY_MAX, SUBSCRIPTIONS_UNANSWERED_MAX - len(self._under_way))
            while self._order and len(ids) < most:
                id_ = self._order[0]
                if id_ in self._waiting:
                    text = text_of(id_)
                    size += _bytes_of(id_) + _text_bytes(text) + _ENTRY_BYTES
                    if ids and size > bytes_max:
                        break
                    self._waiting.remove(id_)
                    ids.append(id_)
                    texts.append(text)
                self._order.popleft()
            if ids:
                self._under_way.update(ids)
                yield SubscribeManyRequest(tuple(ids), tuple(texts))


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
