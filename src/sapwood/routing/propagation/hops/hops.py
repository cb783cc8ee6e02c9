"""Subscriptions on the ways of a circle: from each router to those that it routes by.

The baselines that IRBR is compared with (dossier 004, 2.10) both keep, at each router, the
subscriptions of neighbors that have sent any, and pass them on: Scribe all of them to a *parent*,
the next router towards the rendezvous; reverse path forwarding those from outside the range that
two routers have in common, to the router that represents a slot. `Leads` determines for which of
the receiving neighbors (*targets*) the subscriptions of a neighbor (a *source*) are. It makes no
circles: a parent is nearer to the rendezvous, and slots get longer from one to the next.

On each of these links, covering selects the subscriptions to propagate (`propagation.covering`),
and a subscription is in force when all its targets have confirmed it, as on a tree
(`routing.confirmation`). Two things are not as on a tree:

* Ways change, and a subscription may come by two at once. So every router that passes it on gives
  it a name of its own: no subscription has one name on two links into a router.
* A target may come or go while its link is up: all its subscriptions are sent to it, or withdrawn.

The subscriptions of a neighbor are kept as long as the link to it: no entry outlives the link, so
no tables are compared. That is also why the subscriptions behind a router that crashes are missing
beyond it until they have been sent on another way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.language.interests import Interests
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.kept import accepts_nothing, kept
from sapwood.routing.client_entries import (
    SUBSCRIPTIONS,
    ClientEntries,
    Outcome,
    unexpected_message,
)
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import Effect, Send, Subscribed
from sapwood.routing.messages import (
    Confirm,
    ConfirmMany,
    Subscribe,
    SubscribeMany,
    SubscriptionMessage,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.protocol import NO_ADVERTISEMENTS, Change
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import CLIENTS, Follower, LocalEntry, ReceivedEntry

Leads: TypeAlias = Callable[[str, str], bool]
"""True if the subscriptions of a source (first argument) are for a target (second)."""


class HopPropagation(ClientEntries[Interest]):
    """All subscriptions at one router, and those propagated to its targets.

    #: links has the targets; the candidates of each are the clients' entries and those that lead
    #: there
    #: entries.received has the neighbors with at least one subscription here
    #: _names and _named are inverse: propagated candidates, and the names they were sent under
    """

    __slots__ = ("_leads", "_named", "_names", "_sendings", "confirmations", "links")

    def __init__(self, identity: str, follower: Follower[Interest] | None = None) -> None:
        super().__init__(SUBSCRIPTIONS, identity, follower)
        self.links: dict[str, Covering[Interest]] = {}
        self.confirmations = Confirmations()
        self._sendings = 0
        self._leads: Leads = lambda source, target: source != target
        self._names: dict[str, str] = {}
        self._named: dict[str, str] = {}

    def follow_circle(self, leads: Leads) -> None:
        """Set the function that selects the targets of a source; comes before anything else."""
        self._leads = leads

    # Clients -----------------------------------------------------------------------------------

    def _announce(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Propagate a client's entry to all targets."""
        return self._propagate([(entry.key, entry.filter)], CLIENTS)

    def _announce_many(
        self, entries: Sequence[LocalEntry[Interest]], filters: Sequence[Interest]
    ) -> list[Effect]:
        """Propagate several entries to all targets at once."""
        keys = [entry.key for entry in entries]
        return self._propagate(list(zip(keys, filters, strict=True)), CLIENTS)

    def _withdraw(self, entry: LocalEntry[Interest]) -> list[Effect]:
        """Withdraw an entry from all targets."""
        return self._stop((entry.key,), CLIENTS)

    def _withdraw_many(self, entries: Sequence[LocalEntry[Interest]]) -> list[Effect]:
        """Withdraw several entries from all targets at once."""
        return self._stop([entry.key for entry in entries], CLIENTS)

    def in_force(self, key: str) -> bool:
        """True if all targets of the entry have confirmed it."""
        return self.confirmations.in_force(key)

    @property
    def unconfirmed(self) -> int:
        """The number of entries, of clients and of neighbors, that are not yet in force."""
        return len(self.confirmations.awaited)

    # Targets and neighbors -----------------------------------------------------------------------

    def turn(self, targets: Sequence[str], peers: Collection[str]) -> list[Effect]:
        """Make `targets` the only targets; `peers` are the neighbors with a link.

        Entries are sent to new targets before they are withdrawn from former ones, and entries that
        were not in force wait for the new ones.
        """
        effects: list[Effect] = []
        for target in targets:
            if target not in self.links:
                effects += self._begin(target)
        for target in [one for one in self.links if one not in targets]:
            effects += self._end(target, is_up=target in peers)
        return effects

    def _begin(self, target: str) -> list[Effect]:
        link = self.links[target] = Covering()
        self.confirmations.link_up(target)
        candidates = dict(self._candidates(target))
        effects = self._emit(target, link.start(candidates.items()))
        for key in candidates:
            if not self.confirmations.in_force(key):
                self.confirmations.expect(key, target, link.representative(key))
        return effects

    def _end(self, target: str, *, is_up: bool) -> list[Effect]:
        told = [self._names[key] for key in self.links.pop(target).propagated]
        self.confirmations.link_down(target)
        effects = _withdrawals(target, told) if is_up else []
        return [*effects, *self._report(self.confirmations.settle(None))]

    def _candidates(self, target: str) -> Iterator[tuple[str, Interest]]:
        for own in self.entries.by_key.values():
            if not accepts_nothing(own.content):
                yield own.key, own.filter
        for source, received in self.entries.received.items():
            if self._leads(source, target):
                for key, entry in received.items():
                    yield key, entry.filter

    def gone(self, neighbor: str) -> list[Effect]:
        """Remove a neighbor whose link is gone, with all its subscriptions."""
        if neighbor not in self.entries.received:
            return []
        return self._stop(tuple(self.entries.link_down(neighbor)), neighbor)

    # Messages ----------------------------------------------------------------------------------

    def on_message(self, neighbor: str, message: SubscriptionMessage) -> Outcome:
        """Carry out a neighbor's message about subscriptions."""
        match message:
            case Subscribe(key, wanted, sending):
                return self._enter(neighbor, (key,), (wanted,), sending)
            case SubscribeMany(keys, filters, sending):
                return self._enter(neighbor, keys, filters.values, sending)
            case Unsubscribe(key):
                return Outcome(self._retract(neighbor, (key,)))
            case UnsubscribeMany(keys):
                return Outcome(self._retract(neighbor, tuple(dict.fromkeys(keys))))
            case Confirm(key, sending):
                return Outcome(self._confirmed(neighbor, ((key, sending),)))
            case ConfirmMany(keys, sendings):
                return Outcome(self._confirmed(neighbor, zip(keys, sendings, strict=True)))
            case _:
                return Outcome([], objection=unexpected_message(message))

    def _enter(
        self, neighbor: str, keys: Sequence[str], filters: Sequence[Interest], first: int
    ) -> Outcome:
        """Register subscriptions of a neighbor."""
        for key in keys:
            if key in self.entries.by_key or self.entries.source_of(key) is not None:
                return Outcome([], objection=f"{neighbor} said twice that it wants {key}")
        if len(set(keys)) < len(keys):
            return Outcome([], objection=f"{neighbor} said twice at once that it wants something")
        if neighbor not in self.entries.received:
            self.entries.link_up(neighbor)
        some = list(zip(keys, filters, strict=True))
        entries: dict[str, ReceivedEntry[Interest]] = {
            key: ReceivedEntry(kept(wanted), sending)
            for sending, (key, wanted) in enumerate(some, first)
        }
        self.entries.enter_many(neighbor, entries, some)
        return Outcome(self._propagate(some, neighbor))

    def _retract(self, neighbor: str, keys: Sequence[str]) -> list[Effect]:
        """Withdraw subscriptions of a neighbor."""
        received = self.entries.received.get(neighbor, {})
        left = [key for key in keys if key in received]
        for key in left:
            self.entries.leave(neighbor, key)
        if left and not received:
            self.entries.link_down(neighbor)
        return self._stop(left, neighbor)

    def _confirmed(self, target: str, confirmed: Iterable[tuple[str, int]]) -> list[Effect]:
        """Take in a target's confirmations; all routers beyond it have confirmed as well."""
        if target not in self.links:
            return []
        found: list[str] = []
        for name, sending in confirmed:
            key = self._named.get(name)
            if key is not None:
                found += self.confirmations.confirm(target, key, sending)
        return self._report(found)

    def _propagate(self, some: Sequence[tuple[str, Interest]], source: str) -> list[Effect]:
        """Propagate new entries of a source, or of clients, to the targets that they are for."""
        effects: list[Effect] = []
        for target, link in self.links.items():
            if source == CLIENTS or self._leads(source, target):
                effects += self._emit(target, link.add_many(some))
                for key, _ in some:
                    self.confirmations.expect(key, target, link.representative(key))
        in_force = [key for key, _ in some if self.confirmations.in_force(key)]
        return [*effects, *self._report(in_force)]

    def _stop(self, keys: Sequence[str], source: str) -> list[Effect]:
        """Withdraw entries from the targets that they were for."""
        effects: list[Effect] = []
        if keys:
            for key in keys:
                self.confirmations.discard(key)
            for target, link in self.links.items():
                if source == CLIENTS or self._leads(source, target):
                    effects += self._emit(target, link.remove_many(keys))
        for key in keys:
            self._named.pop(self._names.pop(key, ""), None)
        return effects

    def _emit(self, target: str, change: Change) -> list[Effect]:
        """Turn a change of a target's propagated entries into messages."""
        effects: list[Effect] = []
        link = self.links[target]
        told = change.propagate
        for first in range(0, len(told), SUBSCRIPTIONS_AT_ONCE_MAX):
            some = told[first : first + SUBSCRIPTIONS_AT_ONCE_MAX]
            number = self._sendings + 1
            self._sendings += len(some)
            self.confirmations.sent[target].update(zip(some, count(number)))
            names = tuple(self._name(key) for key in some)
            filters = [link.propagated[key] for key in some]
            if len(some) == 1:
                effects.append(Send(target, Subscribe(names[0], filters[0], number)))
            else:
                effects.append(Send(target, SubscribeMany(names, Interests(filters), number)))
        effects += _withdrawals(target, [self._names[key] for key in change.withdraw])
        settled: list[str] = []
        for key in change.withdraw:
            settled += self.confirmations.withdraw(target, key, link.representative)
        return [*effects, *self._report(settled)]

    def _name(self, key: str) -> str:
        """The name under which this router sends an entry on: no other router uses it."""
        name = self._names.get(key)
        if name is None:
            name = key
            if key not in self.entries.by_key:
                self._serial += 1
                name = f"{self._identity}.{self._serial}"
            self._names[key] = name
            self._named[name] = key
        return name

    def _report(self, keys: Iterable[str]) -> list[Effect]:
        """Report entries as in force to the clients and neighbors that they came from."""
        effects: list[Effect] = []
        confirmed: dict[str, list[tuple[str, int]]] = {}
        entries = self.entries
        for key in keys:
            entry = entries.by_key.get(key)
            if entry is not None:
                if entries.is_current(entry):
                    effects.append(Subscribed(entry.client, entry.id))
                continue
            source = entries.source_of(key)
            if source is not None:
                sending = entries.received[source][key].sending
                confirmed.setdefault(source, []).append((key, sending))
        for source, some in confirmed.items():
            for first in range(0, len(some), SUBSCRIPTIONS_AT_ONCE_MAX):
                part = some[first : first + SUBSCRIPTIONS_AT_ONCE_MAX]
                if len(part) == 1:
                    effects.append(Send(source, Confirm(*part[0])))
                else:
                    named, sendings = zip(*part, strict=True)
                    effects.append(Send(source, ConfirmMany(named, sendings)))
        return effects

    # Operations of trees, mostly without effect here -------------------------------------------

    @property
    def behind(self) -> Collection[str]:
        """`CLIENTS`, while clients that have gone have subscriptions here."""
        return (CLIENTS,) if self.entries.leaving else ()

    def sent(self) -> Iterable[tuple[str, str, Interest]]:
        """Target, name and filter of all entries sent to targets."""
        for target, link in self.links.items():
            for key, wanted in link.propagated.items():
                yield target, self._names[key], wanted

    def why(self, neighbor: str, key: str) -> Reasons:
        """The reasons why a target has an entry, or does not have it."""
        if neighbor not in self.links or key not in dict(self._candidates(neighbor)):
            return (Reason(Treatment.NOWHERE),)
        return self.links[neighbor].why(key)

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key of the entry received from a neighbor; `None` if it is missing."""
        return told.key if told.key in self.entries.received.get(neighbor, ()) else None

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """Do nothing: the circle determines the targets, whichever links are up."""

    def replay(self, neighbor: str, at_once: int) -> list[Effect]:  # noqa: ARG002
        """Do nothing: `turn` sends the entries that a target needs."""
        return []

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Withdraw more entries of clients that have gone; no neighbor has a backlog."""
        return self.clear(at_once) if neighbor == CLIENTS else []

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:  # noqa: ARG002
        """Do nothing: `turn` and `gone` forget the entries of a link."""
        return []

    def advertised(
        self,
        neighbor: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        filter: AdvertisedContent,  # noqa: ARG002
        at_once: int | None = None,  # noqa: ARG002
    ) -> list[Effect]:
        """Do nothing: advertisements do not change the ways of subscriptions."""
        return []

    def unadvertised(
        self,
        neighbor: str,  # noqa: ARG002
        key: str,  # noqa: ARG002
        at_once: int | None = None,  # noqa: ARG002
    ) -> list[Effect]:
        """Do nothing: advertisements do not change the ways of subscriptions."""
        return []

    def validate(
        self,
        advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS,  # noqa: ARG002
    ) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.entries.validate()
        if not all(self.entries.received.values()):
            raise InvariantError("a neighbor that wants nothing has a table")
        for target, link in self.links.items():
            link.validate(dict(self._candidates(target)))
            if not link.propagated.keys() <= self._names.keys():
                raise InvariantError(f"{target} was told of something that has no name")
        if self._named != {name: key for key, name in self._names.items()}:
            raise InvariantError("names are not those of what was told")
        known = {key for received in self.entries.received.values() for key in received}
        if not self._names.keys() <= known | self.entries.by_key.keys():
            raise InvariantError("something has a name that is there no longer")
        self.confirmations.validate(self.links)


def _withdrawals(target: str, names: Sequence[str]) -> list[Effect]:
    if len(names) == 1:
        return [Send(target, Unsubscribe(names[0]))]
    return [
        Send(target, UnsubscribeMany(tuple(names[first : first + SUBSCRIPTIONS_AT_ONCE_MAX])))
        for first in range(0, len(names), SUBSCRIPTIONS_AT_ONCE_MAX)
    ]
