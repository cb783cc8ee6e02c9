"""The spreading of subscriptions, and of advertisements, from router to router.

Both spread alike: a client makes an entry under an id of its own, routers pass it on over their
links as far as these need it, and the client is notified when every router that it must reach has
confirmed. They differ in their messages (`EntryKind`) and in their propagation strategies.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
)
from itertools import count
from typing import cast

from sapwood.errors import InvariantError
from sapwood.language.interests import Interests
from sapwood.limits import REPLACED_KEYS_MAX, SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.limits.bulk import REGISTERED_AT_ONCE_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.kept import accepts_nothing, kept
from sapwood.routing.client_entries import (
    ClientEntries,
    EntryKind,
    Outcome,
    cycle_reason,
    unexpected_message,
)
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import Effect, Send
from sapwood.routing.messages import (
    Confirm,
    ConfirmMany,
    Replace,
    Subscribe,
    SubscribeMany,
    SubscriptionMessage,
    Unsubscribe,
    UnsubscribeMany,
    portions,
)
from sapwood.routing.propagation.backlog import Backlog
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.orphans import Orphans
from sapwood.routing.propagation.protocol import NO_ADVERTISEMENTS, Change, Propagation, net_change
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import CLIENTS, Follower, LocalEntry, ReceivedEntry, SentEntry, W


class EntryPropagation(ClientEntries[W]):
    """All entries of one kind at one router: known, sent to neighbors, confirmed.

    `identity` is unique among all routers and all their lives; it begins every key made here.
    `propagation` makes the state of one link.

    #: links.keys() == entries.received.keys(): the links that are up
    #: the candidates of links[n] are all entries that did not come from n, except for those in
    #: _backlogs[n], which are still to be sent to that neighbor; there is one at least
    #: _orphans came over links that are gone, and are candidates as well until they are withdrawn
    """

    __slots__ = ("_backlogs", "_orphans", "_propagation", "_sendings", "confirmations", "links")

    def __init__(
        self,
        kind: EntryKind,
        identity: str,
        propagation: Callable[[], Propagation[W]],
        follower: Follower[W] | None = None,
    ) -> None:
        super().__init__(kind, identity, follower)
        self.links: dict[str, Propagation[W]] = {}
        self.confirmations = Confirmations()
        self._propagation = propagation
        self._sendings = 0
        self._backlogs: dict[str, Backlog[W]] = {}
        self._orphans: Orphans[W] = Orphans()

    # Clients -----------------------------------------------------------------------------------

    def _announce(self, entry: LocalEntry[W]) -> list[Effect]:
        """Propagate a client's entry."""
        return self.propagate(((entry.key, entry.filter),), source=None)

    def _announce_many(
        self, entries: Sequence[LocalEntry[W]], filters: Sequence[W]
    ) -> list[Effect]:
        """Propagate several entries at once."""
        keys = [entry.key for entry in entries]
        return self.propagate(list(zip(keys, filters, strict=True)), source=None)

    def _withdraw(self, entry: LocalEntry[W]) -> list[Effect]:
        """Withdraw an entry."""
        return self.stop_propagating((entry.key,), self.links)

    def _withdraw_many(self, entries: Sequence[LocalEntry[W]]) -> list[Effect]:
        """Withdraw several entries at once."""
        return self.stop_propagating([entry.key for entry in entries], self.links)

    def in_force(self, key: str) -> bool:
        """True if every router that the entry must reach has confirmed it."""
        return self.confirmations.in_force(key)

    @property
    def unconfirmed(self) -> int:
        """The number of entries, of clients and of neighbors, that are not yet in force."""
        return self.confirmations.unconfirmed

    def unhold(self, keys: Iterable[str]) -> list[Effect]:
        """Release held entries, and report those that wait for nothing else as in force."""
        return self._report(self.confirmations.release(keys))

    # Links -------------------------------------------------------------------------------------

    def link_up(self, neighbor: str, *, is_told: bool = True) -> None:
        """Add a link, over which nothing is sent yet, or nothing ever (not `is_told`)."""
        self.links[neighbor] = self._propagation() if is_told else Flooding()
        self.entries.link_up(neighbor)
        self.confirmations.link_up(neighbor)

    def replay(self, neighbor: str, at_once: int | None) -> list[Effect]:
        """Send a neighbor all entries that it needs; if there are more than `at_once`, the first.

        Without `at_once`, all are sent.
        """
        link, entries = self.links[neighbor], self.entries
        if at_once is None or not link.is_gradual or entries.size_without(neighbor) <= at_once:
            return self.emit(neighbor, link.start(entries.candidates(neighbor)))
        self._backlogs[neighbor] = Backlog(entries.keys_without(neighbor), link.rank)
        return self.drained(neighbor, at_once)

    @property
    def behind(self) -> Collection[str]:
        """The neighbors with a backlog of entries that were there before their link.

        And `CLIENTS`, while clients or links that have gone have entries here, or entries wait for
        such links.
        """
        doubtful = [name for name, link in self.links.items() if link.is_doubtful]
        if self.entries.leaving or self._orphans or self.confirmations.is_behind:
            return {*self._backlogs, *doubtful, CLIENTS}
        return {*self._backlogs, *doubtful} if doubtful else self._backlogs.keys()

    def drained(self, neighbor: str, at_once: int) -> list[Effect]:
        """Send the next chunk of a neighbor's backlog; for `CLIENTS`, withdraw the next chunk."""
        if neighbor == CLIENTS and self.confirmations.is_behind:
            return self._report(self.confirmations.settle(at_once))
        if neighbor == CLIENTS:
            return self.clear(at_once) if self.entries.leaving else self._clear_orphans(at_once)
        backlog = self._backlogs.get(neighbor)
        if backlog is None:
            link = self.links.get(neighbor)
            if link is None or not link.is_doubtful:
                return []
            return self._withdrawn(neighbor, link.review(at_once))
        some = backlog.take(at_once, self._filters_of)
        if not backlog.pending:
            del self._backlogs[neighbor]
        return self.emit(neighbor, self.links[neighbor].add_many(some))

    def _filters_of(self, keys: Sequence[str]) -> list[W]:
        """The filters of candidates."""
        own = map(self.entries.by_key.get, keys)
        return [
            self._filter_of(key) if entry is None else entry.filter
            for key, entry in zip(keys, own, strict=True)
        ]

    def _filter_of(self, key: str) -> W:
        """The filter of a candidate, which may have come over a link that is gone."""
        is_here = key in self.entries.by_key or self.entries.source_of(key) is not None
        return self.entries.filter_of(key) if is_here else self._orphans.filter_of(key)

    def link_down(self, neighbor: str, at_once: int | None = None) -> list[Effect]:
        """Remove a link, and withdraw all entries received over it.

        If there are more than `at_once` they are withdrawn chunk by chunk, by `drained`; likewise
        the entries that wait for confirmations of the neighbor come into force.
        """
        del self.links[neighbor]
        self._backlogs.pop(neighbor, None)
        self._orphans.link_down(neighbor)
        received = self.entries.link_down(neighbor)
        self.confirmations.link_down(neighbor)
        effects = self._report(self.confirmations.settle(at_once))
        if at_once is None or len(received) <= at_once:
            return [*effects, *self.stop_propagating(tuple(received), self.links)]
        self._orphans.add(received, self.links)
        return [*effects, *self._clear_orphans(at_once)]

    def _clear_orphans(self, count: int) -> list[Effect]:
        """Withdraw up to `count` entries that came over links that are gone."""
        return self.stop_propagating(*self._orphans.take(count)) if self._orphans else []

    def _reclaim(self, keys: Iterable[str]) -> list[Effect]:
        """Withdraw entries that have come again before they were withdrawn."""
        if not self._orphans:
            return []
        again = list(self._orphans.reclaim(keys))
        return [effect for some, links in again for effect in self.stop_propagating(some, links)]

    def advertised(
        self: EntryPropagation[Interest],
        neighbor: str,
        key: str,
        filter: AdvertisedContent,
        at_once: int | None = None,
    ) -> list[Effect]:
        """Register an advertisement of a link, and send the subscriptions it makes wanted.

        If more than `at_once` may be wanted, send the first ones, and the rest by `drained`.
        """
        link, backlog = self.links[neighbor], self._backlogs.get(neighbor)
        if at_once is None or link.waiting <= at_once:
            return self.emit(neighbor, link.advertised(key, filter))
        waiting = link.put_off(key, filter)
        if backlog is not None:
            backlog.extend(waiting)
            return []
        self._backlogs[neighbor] = Backlog(waiting, link.rank)
        return self.drained(neighbor, at_once)

    def unadvertised(
        self: EntryPropagation[Interest], neighbor: str, key: str, at_once: int | None = None
    ) -> list[Effect]:
        """Remove an advertisement of a link, and withdraw what only it made wanted there.

        If there are more than `at_once`, the rest is withdrawn by `drained`.
        """
        link = self.links[neighbor]
        if link.advertisements is None:
            return []
        return self._withdrawn(neighbor, link.unadvertised(key, at_once))

    def _withdrawn(self, neighbor: str, change: Change) -> list[Effect]:
        """Send the change of a link on which less is wanted, and update the waiting entries."""
        return [*self.emit(neighbor, change), *self.reassign(neighbor)]

    def pattern(self) -> Iterator[object]:
        """The state of a link on which nothing is propagated, and its inner states.

        Their configuration is that of all links.
        """
        link: object = self._propagation()
        while link is not None:
            yield link
            link = getattr(link, "_inner", None)

    # Messages ----------------------------------------------------------------------------------

    def on_message(
        self: EntryPropagation[Interest], neighbor: str, message: SubscriptionMessage
    ) -> Outcome:
        """Carry out a neighbor's message about subscriptions."""
        match message:
            case Subscribe(key, wanted, sending):
                return self._enter(neighbor, key, wanted, sending, ())
            case Replace(key, wanted, sending, replaced):
                return self._enter(neighbor, key, wanted, sending, replaced)
            case Unsubscribe(key):
                is_known = key in self.entries.received[neighbor]
                return Outcome(self.retract(neighbor, key) if is_known else [])
            case Confirm(key, sending):
                return Outcome(self.confirmed(neighbor, ((key, sending),)))
            case SubscribeMany(keys, filters, sending):
                return self._enter_many(neighbor, keys, filters.values, sending)
            case UnsubscribeMany(keys):
                received = self.entries.received[neighbor]
                left = tuple(key for key in dict.fromkeys(keys) if key in received)
                return Outcome(self.retract_many(neighbor, left))
            case ConfirmMany(keys, sendings):
                return Outcome(self.confirmed(neighbor, zip(keys, sendings, strict=True)))
            case _:
                return Outcome([], objection=unexpected_message(message))

    def known(self, key: str) -> str | None:
        """The source of an entry that is known already, in words; `None` if it is new."""
        if key in self.entries.by_key:
            return "here"
        source = self.entries.source_of(key)
        return None if source is None else f"over the link to {source}"

    def receive(
        self,
        neighbor: str,
        key: str,
        filter: W,
        sending: int,
        replaced: Sequence[str] = (),
    ) -> list[Effect]:
        """Register a neighbor's new entry, in the place of its entries under other keys."""
        again = self._reclaim((key,))
        self.entries.enter(neighbor, key, ReceivedEntry(kept(filter), sending))
        for other in replaced:
            self.entries.leave(neighbor, other)
        return [*again, *self.propagate(((key, filter),), neighbor, replaced)]

    def retract(self, neighbor: str, key: str) -> list[Effect]:
        """Withdraw a neighbor's entry."""
        return self.retract_many(neighbor, (key,))

    def retract_many(self, neighbor: str, keys: Sequence[str]) -> list[Effect]:
        """Withdraw several entries of a neighbor."""
        for key in keys:
            self.entries.leave(neighbor, key)
        return self.stop_propagating(keys, self.links.keys() - {neighbor})

    def confirmed(self, neighbor: str, confirmed: Iterable[tuple[str, int]]) -> list[Effect]:
        """Take in a neighbor's confirmations: keys, and the numbers that they were sent with."""
        return self._report(self.confirmations.confirm_many(neighbor, confirmed))

    # Propagation -------------------------------------------------------------------------------

    def propagate(
        self,
        entries: Sequence[tuple[str, W]],
        source: str | None,
        replaced: Sequence[str] = (),
    ) -> list[Effect]:
        """Propagate new entries on all links but `source`, as far as these need them.

        The entries in `replaced`, which came from `source` as well, are gone.
        """
        effects: list[Effect] = []
        confirmations, keys = self.confirmations, [key for key, _ in entries]
        for other in replaced:
            confirmations.discard(other)
        for neighbor, link in self.links.items():
            if neighbor != source:
                change = link.add_many(entries)
                left = self._candidates_among(neighbor, replaced)
                if left:  # one change, so that it travels on as one
                    change = net_change((change, link.remove_many(left)))
                effects.extend(self.emit(neighbor, change))
                confirmations.expect_many(keys, neighbor, link.representative)
        effects.extend(self._report([key for key in keys if confirmations.in_force(key)]))
        return effects

    def stop_propagating(self, keys: Sequence[str], among: Container[str]) -> list[Effect]:
        """Withdraw entries on the links `among`, of which they were candidates."""
        for key in keys:
            self.confirmations.discard(key)
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor in among:
                left = self._candidates_among(neighbor, keys)
                effects.extend(self.emit(neighbor, link.remove_many(left)))
        return effects

    def emit(self, neighbor: str, change: Change) -> list[Effect]:
        """Turn a change of a link's propagated entries into messages.

        The last propagated entry takes the place of the withdrawn ones, in one message.
        """
        link = self.links[neighbor]
        told, withdrawn = change.propagate, change.withdraw
        replaced: tuple[str, ...] = ()
        if told and self.kind.replace is not None:
            replaced = withdrawn[:REPLACED_KEYS_MAX]
        effects = self._state(neighbor, told[:-1] if replaced else told)
        if replaced and self.kind.replace is not None:
            number = self._number(neighbor, told[-1:])
            filter_ = link.propagated[told[-1]]
            effects.append(Send(neighbor, self.kind.replace(told[-1], filter_, number, replaced)))
        left = withdrawn[len(replaced) :]
        many = self.kind.many
        if many is not None and len(left) > 1:
            some = portions(left, SUBSCRIPTIONS_AT_ONCE_MAX)
            effects.extend(Send(neighbor, many.withdraw(keys)) for keys in some)
        else:
            effects.extend(Send(neighbor, self.kind.withdraw(key)) for key in left)
        settled: list[str] = []
        for key in withdrawn:
            settled.extend(self.confirmations.withdraw(neighbor, key, link.representative))
        effects.extend(self._report(settled))
        return effects

    def reassign(self, neighbor: str) -> list[Effect]:
        """Let no entry wait on a link that does not need it any more."""
        link = self.links[neighbor]
        return self._report(self.confirmations.reassign(neighbor, link.representative))

    # For comparisons of tables (`tables.Table`) ------------------------------------------------

    def held_from(self, neighbor: str) -> Iterator[SentEntry]:
        """The entries received over a link."""
        for key, entry in self.entries.received[neighbor].items():
            yield SentEntry(key, entry.content, entry.sending)

    def sent_to(self, neighbor: str) -> Iterator[SentEntry]:
        """The entries sent to a neighbor and not withdrawn."""
        sent = self.confirmations.sent[neighbor]
        for key, wanted in self.links[neighbor].propagated.items():
            yield SentEntry(key, wanted, sent.get(key, 0))

    def side_of(self, key: str) -> str | None:
        """The side of an entry; `None` for one that is not here."""
        return CLIENTS if key in self.entries.by_key else self.entries.source_of(key)

    def neighbors(self) -> Collection[str]:
        """The neighbors whose links are up."""
        return self.links.keys()

    def keys_from(self, neighbor: str) -> KeysView[str]:
        """The keys of the entries received over a link that is up."""
        return self.entries.received[neighbor].keys()

    def held(self, neighbor: str, key: str) -> SentEntry | None:
        """The entry received over a link, up or not, under a key; `None` if there is none."""
        entry = self.entries.received.get(neighbor, {}).get(key)
        return None if entry is None else SentEntry(key, entry.content, entry.sending)

    def stated(self, neighbor: str, key: str) -> SentEntry | None:
        """The entry sent to a neighbor under a key and not withdrawn; `None` if there is none."""
        link = self.links.get(neighbor)
        if link is None or key not in link.propagated:
            return None
        number = self.confirmations.sent[neighbor].get(key, 0)
        return SentEntry(key, link.propagated[key], number)

    def is_confirmed(self, neighbor: str, key: str) -> bool:
        """True if a neighbor has confirmed the entry it was sent under a key."""
        return key in self.confirmations.confirmed[neighbor]

    def renumber(self, neighbor: str, key: str, sending: int) -> None:
        """Give an entry received over a link another sequence number, and change nothing else."""
        received = self.entries.received[neighbor]
        received[key] = ReceivedEntry(received[key].content, sending)

    def unanswered(self, neighbor: str) -> Iterator[str]:
        """The keys sent to a neighbor, whose confirmation other entries wait for."""
        return iter(self.confirmations.waiting[neighbor])

    def why(self, neighbor: str, key: str) -> Reasons:
        """The reasons why a neighbor has an entry, or does not have it."""
        entry = self.entries.by_key.get(key)
        if entry is not None and accepts_nothing(entry.content):
            return (Reason(Treatment.EMPTY),)
        backlog = self._backlogs.get(neighbor)
        if backlog is not None and key in backlog.pending:
            return (Reason(Treatment.WAITING),)
        return self.links[neighbor].why(key)

    def held_as(self, neighbor: str, told: Reason) -> str | None:
        """The key of an entry here that a neighbor reports to have sent; `None` if missing."""
        return told.key if told.key in self.entries.received[neighbor] else None

    def sent(self) -> Iterator[tuple[str, str, W]]:
        """Neighbor, key and filter of all entries sent to neighbors."""
        for neighbor, link in self.links.items():
            for key, wanted in link.propagated.items():
                yield neighbor, key, wanted

    def validate(
        self, advertisements: Mapping[str, Mapping[str, AdvertisedContent]] = NO_ADVERTISEMENTS
    ) -> None:
        """Check every relation between the tables; raises `InvariantError`.

        `advertisements` are those that came over each link.
        """
        if list(self.links) != list(self.entries.received):
            raise InvariantError("links and received tables differ")
        self.entries.validate()
        for neighbor, link in self.links.items():
            backlog = self._backlogs.get(neighbor)
            pending = {} if backlog is None else backlog.pending
            candidates = dict(self.entries.candidates(neighbor))
            candidates.update(self._orphans.candidates(neighbor))
            if not pending.keys() <= candidates.keys():
                raise InvariantError(f"{neighbor} is to be told of what is there no longer")
            link.validate({key: one for key, one in candidates.items() if key not in pending})
            if link.advertisements is not None and link.advertisements != advertisements[neighbor]:
                raise InvariantError(
                    f"link {neighbor} knows other advertisements than came over it"
                )
        if not self._backlogs.keys() <= self.links.keys() or not all(
            backlog.pending for backlog in self._backlogs.values()
        ):
            raise InvariantError("a neighbor is behind that is told nothing, or with nothing")
        self._orphans.validate(self.links, [key for key, _ in self.entries.candidates(CLIENTS)])
        self.confirmations.validate(self.links)

    def _enter(
        self: EntryPropagation[Interest],
        neighbor: str,
        key: str,
        filter: Interest,
        sending: int,
        replaced: tuple[str, ...],
    ) -> Outcome:
        """Register a neighbor's subscription, in the place of its `replaced` ones that are here."""
        known = self.known(key)
        if known is not None:
            return Outcome([], objection=cycle_reason(f"subscription {key}", known, neighbor))
        received = self.entries.received[neighbor]
        left = tuple(other for other in dict.fromkeys(replaced) if other in received)
        return Outcome(self.receive(neighbor, key, filter, sending, left))

    def _enter_many(
        self: EntryPropagation[Interest],
        neighbor: str,
        keys: Sequence[str],
        filters: Sequence[Interest],
        first: int,
    ) -> Outcome:
        """Register a neighbor's subscriptions, up to the first that breaks a rule."""
        fresh: dict[str, ReceivedEntry[Interest]] = {}
        objection = None
        for sending, (key, filter_) in enumerate(zip(keys, filters, strict=True), first):
            known = f"over the link to {neighbor}" if key in fresh else self.known(key)
            if known is not None:
                objection = cycle_reason(f"subscription {key}", known, neighbor)
                break
            fresh[key] = ReceivedEntry(kept(filter_), sending)
        again = self._reclaim(fresh)
        told = list(zip(fresh, filters, strict=False))  # those before the fault
        self.entries.enter_many(neighbor, fresh, told)
        return Outcome([*again, *self.propagate(told, neighbor)], objection)

    def _candidates_among(self, neighbor: str, keys: Sequence[str]) -> Sequence[str]:
        """The keys that are candidates of a link's strategy; those in its backlog are dropped."""
        backlog = self._backlogs.get(neighbor)
        if backlog is None:
            return keys
        left = [key for key in keys if not backlog.drop(key)]
        if not backlog.pending:
            del self._backlogs[neighbor]
        return left

    def _state(self, neighbor: str, keys: tuple[str, ...]) -> list[Effect]:
        """The messages that send the entries under these keys to a neighbor."""
        propagated, many = self.links[neighbor].propagated, self.kind.many
        if many is None or len(keys) == 1:
            return [
                Send(
                    neighbor,
                    self.kind.state(key, propagated[key], self._number(neighbor, (key,))),
                )
                for key in keys
            ]
        return [
            Send(
                neighbor,
                many.state(
                    some,
                    Interests(cast("Interest", propagated[key]) for key in some),
                    self._number(neighbor, some),
                ),
            )
            for some in portions(keys, REGISTERED_AT_ONCE_MAX)
        ]

    def _number(self, neighbor: str, keys: Sequence[str]) -> int:
        """The sequence number of keys sent to a neighbor: that of the first of several."""
        first = self._sendings + 1
        self._sendings += len(keys)
        self.confirmations.sent[neighbor].update(zip(keys, count(first)))
        return first

    def _report(self, keys: Iterable[str]) -> list[Effect]:
        """Report entries as in force to the clients and neighbors that they came from."""
        clients: dict[str, list[str]] = {}
        links: dict[str, list[tuple[str, int]]] = {}
        entries, many = self.entries, self.kind.many
        for key in keys:
            entry = entries.by_key.get(key)
            if entry is not None:
                if not (entries.leaving or entries.aside) or entries.is_current(entry):
                    clients.setdefault(entry.client, []).append(entry.id)
                continue
            source = entries.source_of(key)
            if source is not None:
                sending = entries.received[source][key].sending
                links.setdefault(source, []).append((key, sending))
        effects: list[Effect] = []
        for client, ids in clients.items():
            if many is not None and len(ids) > 1:
                effects.append(many.in_force(client, tuple(ids)))
            else:
                effects.extend(self.kind.in_force(client, id_) for id_ in ids)
        for source, confirmed in links.items():
            if many is None or len(confirmed) == 1:
                effects.extend(Send(source, self.kind.confirm(*one)) for one in confirmed)
                continue
            for some in portions(confirmed, REGISTERED_AT_ONCE_MAX):
                named, sendings = zip(*some, strict=True)
                effects.append(Send(source, many.confirm(named, sendings)))
        return effects
