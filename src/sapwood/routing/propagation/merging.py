"""Merging: the propagated entries of an inner strategy, with mergers in place of their members.

XPE dissemination 2.19, per link: towards a neighbor a merger takes the place of its members, in one
message; when members go, the merger is kept as long as it is within the budget for those that are
left, else they take its place. Mergers are made in passes over all propagated entries of the link,
one after a number of newcomers (the work says periodically; here nothing depends on time, and no
subscription waits for others). A newcomer that a pass merges before it was sent travels nowhere,
and neither does one that a merger covers: it becomes a member at once. Of many that come together,
as many are added at a time as no pass can be due before, and the merger that covers each is looked
up in an index of the mergers.

A merger has a key of its own, made from a prefix that nothing else in the overlay uses. To the
neighbor it is a subscription like any other. Each router has the members from their own links, so
that nothing is delivered, or sent on, which only the merger accepts; what an imperfect merger
accepts beyond its members crosses one link and ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, cast

from sapwood.covering.advertised import AdvertisedIndex
from sapwood.covering.merging.records import Candidate, Merger
from sapwood.errors import InvariantError
from sapwood.limits import MERGING_PASS_MIN
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.order import has_one_form
from sapwood.routing.propagation.protocol import Change, Propagation, Unconditional, net_change
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import W


class MergedLinks(Generic[W]):
    """Makes the states of a router's links; the keys of each link's mergers have a prefix."""

    __slots__ = ("_identity", "_make", "_merger", "_serial")

    def __init__(self, make: Callable[[], Propagation[W]], merger: Merger, identity: str) -> None:
        self._make = make
        self._merger = merger
        self._identity = identity
        self._serial = 0

    def __call__(self) -> Merging[W]:
        """Make the state of one more link."""
        return Merging(*self._parts())

    def _parts(self) -> tuple[Propagation[W], Merger, str]:
        """The arguments for the state of one more link."""
        self._serial += 1
        return self._make(), self._merger, f"{self._identity}.m{self._serial}"


class Merging(Unconditional[W]):
    """The state of a link on which mergers stand for what the inner strategy propagates.

    `prefix` begins the keys of mergers.

    #: _members[m] are the members of merger m: at least two keys that the inner strategy has
    #: propagated; _merger_of is the inverse
    #: _numbers[f] is the number of a merger with filter f, for exactly the filters of mergers, and
    #: _covers has that filter under it
    #: propagated == the mergers, and what the inner strategy has propagated and no merger replaces
    """

    __slots__ = (
        "_covers",
        "_inner",
        "_members",
        "_merger",
        "_merger_of",
        "_newcomers",
        "_numbers",
        "_prefix",
        "_propagated",
        "_serial",
    )

    def __init__(self, inner: Propagation[W], merger: Merger, prefix: str) -> None:
        self._inner = inner
        self._merger = merger
        self._prefix = prefix
        self._serial = 0
        self._members: dict[str, dict[str, None]] = {}
        self._merger_of: dict[str, str] = {}
        self._covers = AdvertisedIndex()
        self._numbers: dict[AdvertisedContent, int] = {}
        self._propagated: dict[str, W] = {}
        #: the number of keys sent since the last pass
        self._newcomers = 0

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Propagate the entries of the inner strategy, merged."""
        told = self._follow(self._inner.start(candidates))
        return net_change((told, self._pass()))

    def add(self, key: str, filter: W) -> Change:
        """Add a candidate."""
        return self._passing(self._follow(self._inner.add(key, filter)))

    def add_many(self, candidates: Sequence[tuple[str, W]]) -> Change:
        """Add several candidates, together up to where a pass may be due."""
        changes: list[Change] = []
        first = 0
        while first < len(candidates):
            last = first + max(1, self._due - self._newcomers)  # each is a newcomer at most
            told = self._inner.add_many(candidates[first:last])
            changes.append(self._passing(self._follow(told)))
            first = last
        return changes[0] if len(changes) == 1 else net_change(changes)

    def remove(self, key: str) -> Change:
        """Remove a candidate."""
        return self._passing(self._follow(self._inner.remove(key)))

    def representative(self, key: str) -> str | None:
        """The representative of the inner strategy, or the merger that stands for that one."""
        inner = self._inner.representative(key)
        return None if inner is None else self._merger_of.get(inner, inner)

    def why(self, key: str) -> Reasons:
        """The reasons of the inner strategy, with the merger of its representative if any."""
        inner = self._inner.why(key)
        merger = self._merger_of.get(inner[-1].key)
        if merger is None:
            return inner
        known = inner if inner[-1].how is not Treatment.ITSELF else inner[:-1]
        told: Any = self._propagated[merger]
        return (*known, Reason(Treatment.MERGED, merger, told))

    @property
    def rank(self) -> Callable[[W], Any] | None:
        """The rank of the inner strategy."""
        return self._inner.rank

    @property
    def propagated(self) -> Mapping[str, W]:
        """The subscriptions that the neighbor has, mergers included."""
        return self._propagated

    @property
    def mergers(self) -> int:
        """The number of mergers among the propagated subscriptions."""
        return len(self._members)

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check that mergers replace exactly their members, and accept all that these accept."""
        self._inner.validate(candidates)
        inverse = {key: m for m, members in self._members.items() for key in members}
        if inverse != self._merger_of or any(len(keys) < 2 for keys in self._members.values()):
            raise InvariantError("mergers and their members disagree")
        inner = self._inner.propagated
        if not inverse.keys() <= inner.keys():
            raise InvariantError("a merger stands for what is not there")
        if self._propagated.keys() != {*self._members, *(inner.keys() - inverse.keys())}:
            raise InvariantError("not exactly the mergers and what they leave is propagated")
        numbers = {self._propagated[m]: self._number_of(m) for m in self._members}
        if numbers != self._numbers or len(self._covers) != len(numbers):
            raise InvariantError("the index of mergers has others")
        for key, wanted in self._propagated.items():
            if key in inner and inner[key] != wanted:
                raise InvariantError(f"{key} was propagated with another filter")
            if key not in inner and key not in self._members:
                raise InvariantError(f"{key} was propagated and nobody asked for it")
            for member in self._members.get(key, ()):
                # For filters with several forms, a cover may hold that `covers` does not see.
                is_certain = has_one_form(inner[member]) and has_one_form(wanted)
                if is_certain and not wanted.covers(inner[member]):
                    raise InvariantError(f"merger {key} does not cover {member}")

    def _follow(self, change: Change) -> Change:
        """The change on the link for one of the inner strategy, before the next pass."""
        told: list[str] = []
        gone: list[str] = []
        for key in change.propagate:
            wanted = self._inner.propagated[key]
            merger = self._standing_for(wanted)
            if merger is None:
                self._propagated[key] = wanted
                self._newcomers += 1
                told.append(key)
            else:
                self._join(merger, (key,))
        lessened: dict[str, None] = {}
        for key in change.withdraw:
            merger = self._merger_of.pop(key, None)
            if merger is None:
                del self._propagated[key]
                gone.append(key)
            else:
                del self._members[merger][key]
                lessened[merger] = None
        for merger in lessened:
            told.extend(self._settle(merger))
            if merger not in self._members:
                gone.append(merger)
        return Change(tuple(told), tuple(gone))

    def _settle(self, merger: str) -> list[str]:
        """Keep a merger that has lost members, or dissolve it; returns the members to send then."""
        left = tuple(self._members[merger])
        wanted = self._propagated[merger]
        originals = [self._inner.propagated[key] for key in left]
        if len(left) > 1 and self._merger.may_stand(wanted, originals):
            return []
        del self._members[merger]
        self._drop(merger)
        for key, original in zip(left, originals, strict=True):
            del self._merger_of[key]
            self._propagated[key] = original
        self._newcomers += len(left)
        return list(left)

    def _passing(self, change: Change) -> Change:
        """The change, and that of a pass if one is due."""
        if self._newcomers < self._due:
            return change
        return net_change((change, self._pass()))

    @property
    def _due(self) -> int:
        """The newcomers with which a pass is due."""
        return max(MERGING_PASS_MIN, len(self._propagated) // 8)

    def _pass(self) -> Change:
        """Merge whatever can be merged now."""
        self._newcomers = 0
        told: list[str] = []
        gone: list[str] = []
        known = {key: Candidate(one, self._originals(key)) for key, one in self._propagated.items()}
        for interest, keys in self._merger.groups(known):
            self._serial += 1
            merger = f"{self._prefix}.{self._serial}"
            members = [member for key in keys for member in self._members.pop(key, (key,))]
            for key in keys:
                self._drop(key)
            self._propagated[merger] = cast("W", interest)
            self._numbers[interest] = self._serial
            self._covers.add(self._serial, interest)
            self._members[merger] = {}
            self._join(merger, members)
            told.append(merger)
            gone.extend(keys)
        return Change(tuple(told), tuple(gone))

    def _standing_for(self, wanted: W) -> str | None:
        """A merger that accepts all that a newcomer accepts, if there is one."""
        if not self._members:
            return None
        number = self._numbers.get(wanted)
        if number is None:
            found = self._covers.cov(wanted, 1)
            if not found:
                return None
            number = found[0]
        return f"{self._prefix}.{number}"

    def _drop(self, key: str) -> None:
        """Remove a subscription, or a merger, from the propagated ones."""
        wanted = self._propagated.pop(key)
        number = self._numbers.get(wanted)
        if number is not None and key == f"{self._prefix}.{number}":
            del self._numbers[wanted]
            self._covers.remove(number)

    def _number_of(self, merger: str) -> int:
        return int(merger.removeprefix(f"{self._prefix}."))

    def _join(self, merger: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._members[merger][key] = None
            self._merger_of[key] = merger

    def _originals(self, key: str) -> tuple[W, ...]:
        inner = self._inner.propagated
        return tuple(inner[member] for member in self._members.get(key, (key,)))
