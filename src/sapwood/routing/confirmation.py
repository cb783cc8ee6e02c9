"""Confirmations: a subscription is in force when every router that it must reach has confirmed.

A subscription waits, on each link where it matters, for the confirmation of its representative
there (itself, or one that covers it). When nothing is awaited any more it is in force, and the
router confirms it to where it came from; so confirmations travel from the edges of the overlay
back to the home router, and the client is notified last.

Publications accepted anywhere after that moment are matched against the subscription: on a FIFO
link nothing overtakes it, and on a tree there is one path only.

A link that goes may have all of a broker's subscriptions waiting on it, so they are settled chunk
by chunk. Until its turn comes, a subscription is not in force; one that is withdrawn before, or
waits on that link anew, is passed over:

    waiting   {"n": {"a": {"a", "b"}, "c": {"c"}}}     b is covered by a
    n goes    {}                                       a, b, c are to be settled
    settle 2  a and b are in force; c is withdrawn
    settle 2  nothing is left

Something else may have to be done here first, as an advertisement is confirmed only behind all
subscriptions that it makes wanted: then it is *held*, and not in force before it is released,
whatever is confirmed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from sapwood.errors import InvariantError
from sapwood.routing.propagation.protocol import Propagation


class Confirmations:
    """The subscriptions that are not yet in force, and the confirmations that they wait for.

    #: awaited[s] == {link: representative of s on that link}; never empty; a link may be one of
    #: _severed, on which s waits no more
    #: waiting[link][r] == the subscriptions that wait for r on that link, in order of arrival
    #: sent[link] has the number under which each that is propagated there was last sent
    #: confirmed[link] is part of what was propagated there; the links are those that are up
    #: held are not in force, whether they are awaited or not
    """

    __slots__ = ("_severed", "awaited", "confirmed", "held", "sent", "waiting")

    def __init__(self) -> None:
        self.awaited: dict[str, dict[str, str]] = {}
        self.waiting: dict[str, dict[str, dict[str, None]]] = {}
        self.confirmed: dict[str, set[str]] = {}
        self.sent: dict[str, dict[str, int]] = {}
        self.held: set[str] = set()
        #: links that are gone, and the rest of the keys that waited on each, to be settled
        self._severed: deque[tuple[str, Iterator[str]]] = deque()

    def in_force(self, key: str) -> bool:
        """True if nothing is awaited for the subscription, and it is not held."""
        return key not in self.awaited and key not in self.held

    @property
    def unconfirmed(self) -> int:
        """The number of subscriptions that are not in force."""
        return len(self.awaited) + sum(key not in self.awaited for key in self.held)

    def release(self, keys: Iterable[str]) -> list[str]:
        """Hold the keys no longer; returns those that are in force because of it."""
        released = [key for key in keys if key in self.held]
        self.held.difference_update(released)
        return [key for key in released if key not in self.awaited]

    def link_up(self, link: str) -> None:
        """Begin with a link on which nothing is confirmed."""
        self.waiting[link] = {}
        self.confirmed[link] = set()
        self.sent[link] = {}

    def link_down(self, link: str) -> None:
        """Give up a link; the keys that wait on it are to be settled."""
        del self.confirmed[link], self.sent[link]
        waiting = self.waiting.pop(link)
        if waiting:
            self._severed.append((link, (key for keys in waiting.values() for key in keys)))

    @property
    def is_behind(self) -> bool:
        """True if keys that waited on links that are gone are still to be settled."""
        return bool(self._severed)

    def settle(self, count: int | None) -> list[str]:
        """Settle up to `count` keys of links that are gone, or all; returns those now in force.

        They come in the order in which the links went, and on each link in that of `waiting`.
        """
        settled: list[str] = []
        while self._severed and count != 0:
            link, keys = self._severed[0]
            some = list(islice(keys, count))
            settled.extend(key for key in some if self._is_severed(key, link))
            if count is None or len(some) < count:
                self._severed.popleft()
            count = None if count is None else count - len(some)
        return settled

    def expect(self, key: str, link: str, representative: str | None) -> None:
        """Let a subscription wait on a link until its representative there is confirmed."""
        self.expect_many((key,), link, {key: representative}.get)

    def expect_many(
        self, keys: Iterable[str], link: str, representative: Callable[[str], str | None]
    ) -> None:
        """Let several wait on a link, each until its representative there is confirmed."""
        awaited, waiting, confirmed = self.awaited, self.waiting[link], self.confirmed[link]
        for key in keys:
            standing = representative(key)
            if standing is None or standing in confirmed:
                continue
            links = awaited.get(key)
            if links is None:
                awaited[key] = {link: standing}
            else:
                links[link] = standing
            keys_there = waiting.get(standing)
            if keys_there is None:
                waiting[standing] = {key: None}
            else:
                keys_there[key] = None

    def confirm(self, link: str, representative: str, sending: int) -> list[str]:
        """Take in a confirmation; returns the subscriptions that are in force because of it.

        One that crossed with a withdrawal, or answers an earlier sending, has no effect.
        """
        return self.confirm_many(link, ((representative, sending),))

    def confirm_many(self, link: str, confirmed: Iterable[tuple[str, int]]) -> list[str]:
        """Take in several confirmations of one link, in order."""
        sent, known, waiting = self.sent[link], self.confirmed[link], self.waiting[link]
        awaited, held = self.awaited, self.held
        found: list[str] = []
        for representative, sending in confirmed:
            if sent.get(representative) != sending:
                continue
            known.add(representative)
            for key in waiting.pop(representative, ()):
                links = awaited[key]
                del links[link]
                if not links:
                    del awaited[key]
                    if key not in held:
                        found.append(key)
        return found

    def withdraw(
        self, link: str, representative: str, heir: Callable[[str], str | None]
    ) -> list[str]:
        """Forget a representative; the keys that waited for it wait for their `heir` on the link.

        Returns the subscriptions that are in force because the heir is confirmed already.
        """
        self.confirmed[link].discard(representative)
        del self.sent[link][representative]
        keys = self.waiting[link].pop(representative, {})
        return [key for key in keys if self._inherit(key, link, heir(key))]

    def reassign(self, link: str, heir: Callable[[str], str | None]) -> list[str]:
        """Let each key on a link wait for its `heir` if its representative has changed.

        Returns the subscriptions that are in force because of that.
        """
        settled: list[str] = []
        for representative, keys in list(self.waiting[link].items()):
            for key in [key for key in keys if heir(key) != representative]:
                del keys[key]
                if self._inherit(key, link, heir(key)):
                    settled.append(key)
            if not keys:
                del self.waiting[link][representative]
        return settled

    def discard(self, key: str) -> None:
        """Forget a subscription that was withdrawn and waits no longer."""
        self.held.discard(key)
        for link, representative in self.awaited.pop(key, {}).items():
            keys = self.waiting.get(link, {}).get(representative, {})
            if key in keys:  # and not only on a link of that name that is gone
                del keys[key]
                if not keys:
                    del self.waiting[link][representative]

    def validate(self, links: Mapping[str, Propagation[Any]]) -> None:
        """Check the relations above; raises `InvariantError`."""
        if not self.confirmed.keys() == self.waiting.keys() == self.sent.keys() == links.keys():
            raise InvariantError("confirmations are kept for other links than those that are up")
        expected: dict[str, dict[str, str]] = {}
        for link, waiting in self.waiting.items():
            for representative, keys in waiting.items():
                for key in keys:
                    expected.setdefault(key, {})[link] = representative
                    if links[link].representative(key) != representative:
                        raise InvariantError(f"{key} waits on {link} for a stranger")
                if not keys or representative in self.confirmed[link]:
                    raise InvariantError(f"nobody needs to wait on {link} for {representative}")
        severed = {link for link, _ in self._severed}
        for key, awaited in self.awaited.items():
            on_links = expected.pop(key, {})
            if on_links.items() <= awaited.items() and awaited.keys() - on_links <= severed:
                continue
            raise InvariantError(f"what {key} awaits is not what it waits for")
        if expected:
            raise InvariantError("what is awaited is not what is waited for")
        for link, confirmed in self.confirmed.items():
            if self.sent[link].keys() != links[link].propagated.keys():
                raise InvariantError(f"the numbers sent on {link} are not of what is propagated")
            if not confirmed <= links[link].propagated.keys():
                raise InvariantError(f"something is confirmed on {link} that was not propagated")

    def _inherit(self, key: str, link: str, heir: str | None) -> bool:
        """Let a subscription wait on a link for its heir; true if it is in force instead."""
        if heir is None or heir in self.confirmed[link]:
            return self._settle(key, link)
        self.awaited[key][link] = heir
        self.waiting[link].setdefault(heir, {})[key] = None
        return False

    def _is_severed(self, key: str, link: str) -> bool:
        """Strike a link that is gone off what a key awaits; true if it is in force because of that.

        It may wait on a link of that name that has come since.
        """
        representative = self.awaited.get(key, {}).get(link)
        if representative is None:
            return False
        if key in self.waiting.get(link, {}).get(representative, ()):
            return False
        return self._settle(key, link)

    def _settle(self, key: str, link: str) -> bool:
        """Strike a link off what a subscription awaits; true if it is in force because of that."""
        awaited = self.awaited[key]
        del awaited[link]
        if awaited:
            return False
        del self.awaited[key]
        return key not in self.held
