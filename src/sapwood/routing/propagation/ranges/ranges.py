"""Subscriptions by range: the filter table of IRBR (004, L166-214), and its pull repair.

`entries.received` is the table: for each slot of this router with any subscription, those of the
routers in that range, by key. The slot follows from the key, as it begins with the name of the
subscription's home. The subscriptions of this router's clients are there beside it.

A router should have, of another one's range, all subscriptions that homes in the range have with a
reach of as many digits as the range has, or fewer (`own`). A router in the range has these itself,
at least if its entries of longer ranges are right. So a table that is wrong, in whatever way, is
right after as many comparisons as there are digits in which routers differ, longest ranges first,
if nothing else happens (dossier 004, 2.9). A comparison requests the entries where a digest
differs. An entry that was missing `RANGES_STRIKES` times in a row is dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from sapwood.errors import InvariantError
from sapwood.language.interests import Interests
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.limits.structured import RANGES_REPAIR_S, RANGES_STRIKES
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.kept import accepts_nothing, kept
from sapwood.overlay.identifiers import Range
from sapwood.routing.client_entries import (
    SUBSCRIPTIONS,
    ClientEntries,
    Outcome,
    unexpected_message,
)
from sapwood.routing.effects import Effect
from sapwood.routing.messages import Known, RangeEntries, SubscriptionMessage
from sapwood.routing.propagation.protocol import NO_ADVERTISEMENTS, LinkSubscriptions
from sapwood.routing.propagation.ranges.own import Candidate, Own, OwnSubscriptions, Telling
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import CLIENTS, Follower, LocalEntry, ReceivedEntry

_DIGEST_BYTES: Final = 16


class RangePropagation(ClientEntries[Interest]):
    """All subscriptions at one router of a circle.

    #: entries.received has the ranges with any subscription, and these, with their reach
    #: _since[key] is the time at which it was received, for all of these
    #: _missed[key] is how often in a row a router that should have it did not
    #: _reported[range] are the entries of a router there, as far as it has sent them
    """

    __slots__ = ("_missed", "_own", "_reported", "_since")

    def __init__(self, identity: str, follower: Follower[Interest] | None = None) -> None:
        super().__init__(SUBSCRIPTIONS, identity, follower)
        self._own: OwnSubscriptions | None = None
        self._since: dict[str, float] = {}
        self._missed: dict[str, int] = {}
        self._reported: dict[Range, dict[str, tuple[Interest, int]]] = {}

    def follow_circle(self, telling: Telling) -> None:
        """Set the object that sends subscriptions to others; comes before anything else."""
        self._own = OwnSubscriptions(telling, self._others)

    @property
    def own_subscriptions(self) -> OwnSubscriptions:
        """The subscriptions of this router's clients."""
        assert self._own is not None, "a router on a circle can tell others"
        return self._own

    def _others(self) -> Iterator[Candidate]:
        """The subscriptions received from others, the longest ranges first."""
        for range_ in sorted(self.entries.received, key=len, reverse=True):
            for key, entry in self.entries.received[range_].items():
                yield Candidate(key, entry.filter, len(range_))

    # Clients -----------------------------------------------------------------------------------

    def _announce(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Send a subscription to others, as far as no other stands for it."""
        self.own_subscriptions.add(entry.key, entry.filter)
        return []

    def _withdraw(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Withdraw a subscription, after those that rely on it have found another cover."""
        self.own_subscriptions.withdraw(entry.key)
        return []

    def in_force(self, key: str) -> bool:
        """True if each router has the subscription, or one that stands for it."""
        own = self.own_subscriptions.records.get(key)
        return own is None or own.is_confirmed

    def why(self, neighbor: str, key: str) -> Reasons:  # noqa: ARG002
        """One reason: subscriptions are sent to ranges, not to neighbors."""
        return (Reason(Treatment.NOWHERE),)

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key of the entry received from a range; `None` if it is missing."""
        return told.key if told.key in self.entries.received.get(neighbor, ()) else None

    @property
    def unconfirmed(self) -> int:
        """The number of subscriptions not yet sent, or cancelled, as far as they have to be."""
        return self.own_subscriptions.unsettled

    # The table ---------------------------------------------------------------------------------

    def learn(self, range_: Range, key: str, wanted: Interest, reach: int, now: float) -> None:
        """Register a subscription of a range."""
        present = self.entries.received.get(range_)
        if present is None:
            self.entries.link_up(range_)
        elif key in present:
            if present[key].sending == reach:
                return
            self.entries.leave(range_, key)
        self.entries.enter(range_, key, ReceivedEntry(kept(wanted), reach))
        self._since[key] = now
        self._missed.pop(key, None)

    def unlearn(self, range_: Range, key: str) -> list[Own]:
        """Remove a subscription of a range; returns the own subscriptions that relied on it."""
        present = self.entries.received.get(range_)
        if present is None or key not in present:
            return []
        self.entries.leave(range_, key)
        if not present:
            self.entries.link_down(range_)
        del self._since[key]
        self._missed.pop(key, None)
        return self.own_subscriptions.uncover(key)

    # Repair ------------------------------------------------------------------------------------

    def digest(self, range_: Range) -> bytes:
        """The digest of a range's subscriptions as received from others."""
        return _digest(self.entries.received.get(range_, {}))

    def differing(self, range_: Range, digest: bytes) -> list[RangeEntries]:
        """The subscriptions here of a range that this router is in, if their digest differs."""
        known = self._within(range_)
        if _digest(known) == digest:
            return []
        keys = sorted(known)
        parts = [
            keys[first : first + SUBSCRIPTIONS_AT_ONCE_MAX]
            for first in range(0, max(len(keys), 1), SUBSCRIPTIONS_AT_ONCE_MAX)
        ]
        return [
            RangeEntries(
                range_,
                tuple(Known(key, known[key][1]) for key in part),
                Interests(known[key][0] for key in part),
                is_last=part is parts[-1],
            )
            for part in parts
        ]

    def _within(self, range_: Range) -> dict[str, tuple[Interest, int]]:
        """The subscriptions of a range that this router is in, as far as others must have them."""
        length = len(range_)
        known = {
            own.key: (own.filter, own.reach)
            for own in self.own_subscriptions.records.values()
            if own.reach <= length and not own.is_leaving
        }
        for longer, received in self.entries.received.items():
            if len(longer) > length and longer.startswith(range_):
                for key, entry in received.items():
                    if entry.sending <= length:
                        known[key] = entry.filter, entry.sending
        return known

    def reconcile(self, message: RangeEntries, now: float) -> None:
        """Compare the table with the entries of a range as a router in it has sent them."""
        range_ = message.range
        reported = self._reported.setdefault(range_, {})
        for (key, reach), wanted in zip(message.entries, message.filters.values, strict=True):
            reported[key] = wanted, reach
        if not message.is_last:
            return
        del self._reported[range_]
        for key, (wanted, reach) in reported.items():
            if key not in self.entries.received.get(range_, {}):
                self.learn(range_, key, wanted, reach, now)
            self._missed.pop(key, None)
        for key in [*self.entries.received.get(range_, {})]:
            if key not in reported:
                self._miss(range_, key, now)

    def nobody_in(self, range_: Range, now: float) -> None:
        """Count all entries of a range as missing: no router was found in it."""
        for key in [*self.entries.received.get(range_, {})]:
            self._miss(range_, key, now)

    def found_equal(self, range_: Range) -> None:
        """Reset the counts of missing entries: a router in the range has equal ones."""
        for key in self.entries.received.get(range_, ()):
            self._missed.pop(key, None)

    def _miss(self, range_: Range, key: str, now: float) -> None:
        """Count an entry as missing; drop it after too many times, unless it may be under way."""
        if now - self._since[key] < RANGES_REPAIR_S:
            return
        self._missed[key] = self._missed.get(key, 0) + 1
        if self._missed[key] >= RANGES_STRIKES:
            self.unlearn(range_, key)

    # Operations of trees, mostly without effect here -------------------------------------------

    @property
    def links(self) -> Mapping[str, LinkSubscriptions]:
        """Empty: subscriptions are sent to ranges, not to neighbors."""
        return {}

    @property
    def behind(self) -> Collection[str]:
        """`CLIENTS`, while clients that have gone have subscriptions here."""
        return (CLIENTS,) if self.entries.leaving else ()

    def sent(self) -> Iterable[tuple[str, str, Interest]]:
        """Empty: subscriptions are sent to ranges, not to neighbors."""
        return ()

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """Do nothing: the circle determines the range of a neighbor."""

    def replay(self, neighbor: str, at_once: int) -> list[Effect]:  # noqa: ARG002
        """Do nothing: a neighbor requests the entries that it lacks."""
        return []

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Withdraw more entries of clients that have gone; no neighbor has a backlog."""
        return self.clear(at_once) if neighbor == CLIENTS else []

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:  # noqa: ARG002
        """Do nothing: no entry was received from a neighbor as such."""
        return []

    def on_message(self, neighbor: str, message: SubscriptionMessage) -> Outcome:  # noqa: ARG002
        """Object: these messages do not exist on a circle."""
        return Outcome([], objection=unexpected_message(message))

    def advertised(
        self,
        neighbor: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        filter: AdvertisedContent,  # noqa: ARG002
        at_once: int | None = None,  # noqa: ARG002
    ) -> list[Effect]:
        """Do nothing: subscriptions go everywhere, whatever is advertised where."""
        return []

    def unadvertised(
        self,
        neighbor: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        at_once: int | None = None,  # noqa: ARG002
    ) -> list[Effect]:
        """Do nothing: subscriptions go everywhere, whatever is advertised where."""
        return []

    def validate(
        self,
        advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS,  # noqa: ARG002
    ) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.entries.validate()
        self.own_subscriptions.validate()
        keys = [key for received in self.entries.received.values() for key in received]
        if not all(self.entries.received.values()):
            raise InvariantError("a range in which nothing is wanted has a table")
        if set(keys) != self._since.keys() or not self._missed.keys() <= self._since.keys():
            raise InvariantError("it is not known when what is in the table came")
        records = self.own_subscriptions.records
        wanted = {key for key, own in records.items() if not own.is_leaving}
        entries = self.entries.by_key
        if wanted != {key for key, one in entries.items() if not accepts_nothing(one.content)}:
            raise InvariantError("not exactly what clients want is told to others")


def _digest(keys: Iterable[str]) -> bytes:
    """A digest of keys that does not depend on their order."""
    found = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for key in sorted(keys):
        found.update(key.encode())
        found.update(b"\0")
    return found.digest()
