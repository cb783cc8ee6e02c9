"""All durable subscriptions of one broker.

The shell calls with requests of clients, with the router's deliveries to owners, with parts of the
journal, and with the time; it carries out the effects, stores the rows, and reads the publications
that are to be delivered. Once a turn, before output leaves, it calls `settle` for the effects on
consumers, and `rows` for the rows to be stored with them. No effect of `settle` may leave before
the rows are stored.

For the router each durable subscription is a client, its *owner*, with one subscription. An owner's
name contains a space, which no client's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from sapwood.errors import InputError, LimitError
from sapwood.limits.durable import DURABLES_LISTED_MAX, DURABLES_MAX, LAST_VALUES_MAX
from sapwood.session.durable.catching_up import Arrival, CatchingUp
from sapwood.session.durable.effects import Attach, Detach, Effect, Hand, Leave, LogEvent, Refuse
from sapwood.session.durable.mailbox import Consumer, Mailbox
from sapwood.session.durable.policy import Bounds
from sapwood.session.durable.restoring import restored
from sapwood.session.durable.rows import Kind, Row, SeenValue, SubscriptionValue, encoded
from sapwood.session.durable.subscription import NOT_KEPT, SPENT, DurableSubscription
from sapwood.session.quotas import BeyondQuotaError, why_beyond
from sapwood.wire.durable import AcknowledgeRequest, DurableRequest, DurablesReply, DurableState
from sapwood.wire.interests import InterestText

OWNER: Final = "durable "
OWN: Final = "since "
"""The prefixes of the names of owners: for named subscriptions, and for those without a name."""

SUBSCRIPTION_ID: Final = "durable"
"""The id of an owner's one subscription."""

_AGES_S: Final = 1.0
"""Seconds between two checks of the ages of publications in mailboxes."""


def is_owner(client: str) -> bool:
    """True if a client of the router is an owner."""
    return " " in client


class Look(NamedTuple):
    """A part of the journal to scan for the publications that a filter accepts.

    The part is from the place `first` up to, and without, `before`. With attributes `last_by`, each
    publication found has its keys by them.
    """

    owner: str
    filter: InterestText
    first: int
    before: int
    last_by: tuple[str, ...] = ()


class Making(NamedTuple):
    """The circumstances in which a subscription is made.

    `start` is the place in the journal at which it begins, `None` for its end, and `next_place` is
    that end; `generation` is new. The subscription counts for the quota of the identity `maker`, if
    there is one, which may have `durables` of them with `bytes_max` in all.
    """

    start: int | None
    next_place: int
    generation: str
    maker: str = ""
    durables: int | None = None
    bytes_max: int | None = None


class DurableSubscriptions:
    """The durable subscriptions of one broker, by owner.

    #: a consumer is in _consumers iff it is in one of the subscriptions' consumers
    #: _catching_up has the subscriptions whose progress is catching up
    """

    def __init__(self) -> None:
        self._by_owner: dict[str, DurableSubscription] = {}
        self._consumers: dict[Consumer, DurableSubscription] = {}
        #: the subscriptions that catch up, in the order of their turns
        self._catching_up: dict[str, DurableSubscription] = {}
        #: the subscriptions with rows to store, and those with deliveries or notices to send, by
        #: owner
        self._touched: dict[str, DurableSubscription] = {}
        self._waiting: dict[str, DurableSubscription] = {}
        self._removed: list[Row] = []
        self._seen: int | None = None
        self._held: int | None = None
        self._age_due = 0.0

    def __len__(self) -> int:
        return len(self._by_owner)

    # Life --------------------------------------------------------------------------------------

    def restore(self, rows: Iterable[Row], next_place: int, time: float) -> list[Effect]:
        """Restore the stored subscriptions; `next_place` is the end of the journal.

        Each subscription scans what was appended to the journal after its last rows.
        """
        seen, subscriptions = restored(rows, next_place, OWNER)
        self._seen = seen
        effects: list[Effect] = []
        for subscription in subscriptions:
            self._by_owner[subscription.owner] = subscription
            self._catch_up(subscription)
            effects.append(Attach(subscription.owner, subscription.filter))
            effects += self._let_go(subscription, subscription.age(time))
        self._look_at_holds()
        return effects

    def open(
        self, client: str, request: DurableRequest, making: Making, time: float
    ) -> list[Effect]:
        """Add a consumer; make the subscription if it does not exist.

        A subscription that exists continues where it is.
        """
        consumer = (client, request.id)
        present = self._consumers.get(consumer)
        if present is not None and request.is_change and present.name == request.name:
            wanted = present.filter if request.filter is None else request.filter
            self._touch(present)
            return list(present.change_filter(wanted, consumer))
        if present is not None:
            return [Refuse(consumer, f"{request.id!r} is a consumer already; choose another id")]
        owner = OWNER + request.name if request.name else f"{OWN}{client} {request.id}"
        there = self._by_owner.get(owner)
        try:
            if there is None:
                there = self._make(owner, request, making)
                effects: list[Effect] = [Attach(owner, there.filter)]
                effects.append(LogEvent(there.name, "made"))
            else:
                effects = list(self._changed(there, request, making))
        except InputError as error:
            return [Refuse(consumer, str(error), isinstance(error, BeyondQuotaError))]
        self._consumers[consumer] = there
        there.seen = time
        is_change = request.is_change and request.filter is not None
        effects += there.join(consumer, request.window, is_asking=is_change)
        if is_change and request.filter is not None:
            effects += there.change_filter(request.filter, consumer)
        self._touch(there)
        return effects

    def _make(self, owner: str, request: DurableRequest, making: Making) -> DurableSubscription:
        if request.filter is None:
            raise InputError(
                f"there is no durable subscription {request.name!r} here; give a filter to make it"
            )
        if request.name and request.last_by:
            raise InputError("last values are for a subscription without a durable name")
        if len(self._by_owner) >= DURABLES_MAX:
            where = "the number of durable subscriptions of this broker"
            raise LimitError("DURABLES_MAX", DURABLES_MAX, len(self._by_owner) + 1, where)
        begin = making.next_place if making.start is None else making.start
        bounds = self._checked(request.name, Bounds().changed(request.policy))
        if request.name:
            bounds = self._within(making, bounds, request)
        value = SubscriptionValue(
            making.generation, request.filter, bounds.policy(), confirmed=False, maker=making.maker
        )
        made = DurableSubscription(
            request.name,
            owner,
            value,
            Mailbox(bounds),
            CatchingUp(begin, begin, making.next_place),
            is_kept=bool(request.name),
            last_by=request.last_by,
        )
        made.change()
        self._by_owner[owner] = made
        self._catch_up(made)
        self._hold(begin)
        return made

    def _within(self, making: Making, bounds: Bounds, request: DurableRequest) -> Bounds:
        """The bounds of a new subscription, within its maker's quota. Raises `InputError` beyond.

        Without a bound of bytes in the request, it gets the default, or what is left of the quota.
        """
        count, set_aside = self._made_by(making.maker)
        if making.durables is not None and count >= making.durables:
            raise BeyondQuotaError(why_beyond("durables", making.durables, count, "remove some"))
        if making.bytes_max is None:
            return bounds
        left = making.bytes_max - set_aside
        if request.policy.bytes_max is None and 0 < left < bounds.bytes_max:
            return replace(bounds, bytes_max=left)
        if bounds.bytes_max > left:
            remedy = f"with a bound of {max(0, left):,} bytes it fits; make those of others smaller"
            raise BeyondQuotaError(why_beyond("durable_bytes", making.bytes_max, set_aside, remedy))
        return bounds

    def _made_by(self, maker: str) -> tuple[int, int]:
        """The number of subscriptions that an identity made, and the bytes of their mailboxes."""
        theirs = [one for one in self._by_owner.values() if one.is_kept and one.maker == maker]
        return len(theirs), sum(one.mailbox.bounds.bytes_max for one in theirs)

    def _changed(
        self, there: DurableSubscription, request: DurableRequest, making: Making
    ) -> Iterator[Effect]:
        """Apply the request of a further consumer. Raises `InputError` for an impossible one."""
        if request.filter not in (None, there.filter) and not request.is_change:
            raise InputError(
                f"the durable subscription {there.name!r} is there with another filter, "
                f"{written(there.filter)}; leave the filter out, choose another name, or remove it"
            )
        before = there.mailbox.bounds
        bounds = before.changed(request.policy)
        if bounds.dead_letter != before.dead_letter:
            self._checked(there.name, bounds)
        more = bounds.bytes_max - before.bytes_max
        if more > 0 and making.bytes_max is not None and there.maker == making.maker:
            _, used = self._made_by(there.maker)
            if used + more > making.bytes_max:
                remedy = "make those of others smaller"
                raise BeyondQuotaError(why_beyond("durable_bytes", making.bytes_max, used, remedy))
        if bounds != before:
            there.mailbox.bounds = bounds
            there.change()
            yield LogEvent(there.name, "bounds changed")

    def _checked(self, name: str, bounds: Bounds) -> Bounds:
        """The bounds, once checked. Raises `InputError` for an impossible `dead_letter`."""
        other = bounds.dead_letter
        if other == name != "":
            raise InputError(f"what {name!r} cannot deliver does not go to {name!r} itself")
        if other and OWNER + other not in self._by_owner:
            raise InputError(
                f"there is no durable subscription {other!r} here: make it first; one to `false` "
                "gets nothing else"
            )
        return bounds

    def remove(self, name: str) -> list[Effect]:
        """Remove a durable subscription with all its publications. Raises `InputError`."""
        there = self._named(name)
        reason = f"the durable subscription {name!r} was removed"
        effects: list[Effect] = [Refuse(consumer, reason) for consumer in there.consumers]
        return [*effects, *self._drop(there)]

    def _drop(self, there: DurableSubscription) -> list[Effect]:
        for consumer in there.consumers:
            del self._consumers[consumer]
        del self._by_owner[there.owner]
        self._touched.pop(there.owner, None)
        self._waiting.pop(there.owner, None)
        self._catching_up.pop(there.owner, None)
        if there.is_kept:
            self._removed += there.mailbox.removal(there.name)
            for kind in (Kind.SUBSCRIPTION, Kind.STATE):
                self._removed.append(Row(kind, there.name, 0, None))
        return [Detach(there.owner), LogEvent(there.name, "removed", count=there.mailbox.count)]

    # What the router says ----------------------------------------------------------------------

    def confirmed(self, owner: str) -> list[Effect]:
        """Take in that the subscription of an owner is in force."""
        there = self._by_owner.get(owner)
        if there is None:
            return []
        self._touch(there)
        return list(there.confirm())

    def refused(self, owner: str, reason: str) -> list[Effect]:
        """Take in that the router refuses the subscription of an owner."""
        there = self._by_owner.get(owner)
        if there is None:
            return []
        effects: list[Effect] = [Refuse(consumer, reason) for consumer in there.consumers]
        return [*effects, *self._drop(there)]

    def delivered(self, owner: str, arrivals: Iterable[Arrival], time: float) -> list[Effect]:
        """Take in the publications, with their places, that the router delivers to an owner."""
        there = self._by_owner.get(owner)
        if there is None:
            return []
        arrived = there.progress.arrived
        return self._put(there, [one for one in arrivals if arrived(one)], time)

    def _put(
        self, there: DurableSubscription, arrivals: list[Arrival], time: float
    ) -> list[Effect]:
        self._touch(there)
        if arrivals:
            self._hold(min(one.place for one in arrivals))
        return self._let_go(there, there.put(arrivals, time))

    # The journal -------------------------------------------------------------------------------

    def looks(self) -> Look | None:
        """The next part of the journal to scan, if there is one."""
        for there in self._catching_up.values():
            progress = there.progress
            last_by = () if there.last is None else there.last.by
            return Look(there.owner, there.filter, progress.cursor, progress.floor, last_by)
        return None

    def looked(self, owner: str, found: list[Arrival], through: int, time: float) -> list[Effect]:
        """Take in the result of a scan: the publications found before the place `through`."""
        there = self._by_owner.get(owner)
        if there is None or not there.progress.catching_up:
            return []
        arrivals = there.looked(found, through)
        if there.last is not None and there.last.are_too_many:
            where = f"the number of different {' and '.join(there.last.by)} in the journal"
            bound = LimitError("LAST_VALUES_MAX", LAST_VALUES_MAX, None, where)
            return self.refused(owner, str(bound))
        # The next turn is another owner's: subscriptions that catch up together share the journal.
        self._catching_up.pop(owner, None)
        self._catch_up(there)
        return self._put(there, arrivals, time)

    def _catch_up(self, there: DurableSubscription) -> None:
        """Queue a subscription to scan the journal, if it has to."""
        if there.progress.catching_up:
            self._catching_up[there.owner] = there

    def not_kept_before(self, place: int, time: float) -> list[Effect]:
        """Drop what is before this place, where the journal now begins, with entries in the log."""
        effects: list[Effect] = []
        for there in self._by_owner.values():
            progress = there.progress
            ahead = []
            if progress.catching_up and progress.cursor < place:
                ahead = there.looked([], place)
                if not progress.catching_up:
                    del self._catching_up[there.owner]
            effects += self._let_go(there, there.forget_before(place))
            effects += self._put(there, ahead, time)
        return effects

    def holds(self) -> int | None:
        """A place below which no subscription needs the journal.

        As low as the last check of ages found it, or lower: releasing the journal is not urgent.
        """
        return self._held

    def _hold(self, place: int) -> None:
        """Keep the journal from this place on."""
        self._held = place if self._held is None else min(self._held, place)

    def _look_at_holds(self) -> None:
        needed = (there.lowest_place() for there in self._by_owner.values())
        self._held = min((place for place in needed if place is not None), default=None)

    # Consumers ---------------------------------------------------------------------------------

    def acknowledge(self, client: str, request: AcknowledgeRequest) -> None:
        """Acknowledge deliveries of a consumer. Raises `InputError` for numbers never delivered.

        A consumer that has gone meanwhile is unknown here, and that is no fault.
        """
        consumer = (client, request.id)
        there = self._consumers.get(consumer)
        if there is None:
            return
        there.acknowledge(consumer, request.runs, request.serial)
        self._touch(there)

    def leave(self, client: str, id_: str, time: float) -> list[Effect] | None:
        """Remove a consumer at its own request; `None` where there is no such consumer."""
        consumer = (client, id_)
        if consumer not in self._consumers:
            return None
        return [*self._gone(consumer, time), Leave(consumer)]

    def is_named(self, consumer: Consumer) -> bool:
        """True if a consumer's subscription has a name, so that others may share it."""
        return self._consumers[consumer].is_kept

    def turn_away(self, consumer: Consumer, reason: str, time: float) -> list[Effect]:
        """Remove a consumer that may not stay; its publications go to others."""
        if consumer not in self._consumers:
            return []
        return [*self._gone(consumer, time), Refuse(consumer, reason)]

    def gone(self, client: str, time: float) -> list[Effect]:
        """Remove all consumers of a client that is gone."""
        mine = [consumer for consumer in self._consumers if consumer[0] == client]
        return [effect for consumer in mine for effect in self._gone(consumer, time)]

    def _gone(self, consumer: Consumer, time: float) -> list[Effect]:
        there = self._consumers.pop(consumer)
        there.leave(consumer, time)
        if there.is_kept:
            self._touch(there)
            return self._give_up(there, time)
        return self._drop(there)

    def _give_up(self, there: DurableSubscription, time: float) -> list[Effect]:
        """Put publications delivered as often as allowed into another mailbox, or drop them.

        The rows of one turn store both sides: each publication is in one of the two, whatever
        happens.
        """
        spent = there.take_spent()
        if not spent:
            return []
        other = self._by_owner.get(OWNER + there.mailbox.bounds.dead_letter)
        if other is not None:
            self._touch(there)
            said = LogEvent(
                there.name, f"publications given up, for {other.name}", count=len(spent)
            )
            return [said, *self._put(other, spent, time)]
        there.reason = SPENT
        there.mailbox.dropped += len(spent)
        return self._let_go(there, len(spent))

    # Time --------------------------------------------------------------------------------------

    def tick(self, now: float, time: float) -> list[Effect]:
        """Take back publications not acknowledged in time, and drop those that are too old."""
        effects: list[Effect] = []
        for there in self._by_owner.values():
            if there.mailbox.out and there.expire(now):
                self._touch(there)
                effects += self._give_up(there, time)
        if now >= self._age_due:
            self._age_due = now + _AGES_S
            for there in self._by_owner.values():
                effects += self._let_go(there, there.age(time))
            self._look_at_holds()
        return effects

    def next_deadline(self) -> float | None:
        """The time at which `tick` is to be called; `None` for never."""
        if not self._by_owner:
            return None
        busy = {there.owner: there for there in self._consumers.values()}
        due = [there.mailbox.next_deadline() for there in busy.values()]
        return min([one for one in due if one is not None] + [self._age_due])

    # Once a turn -------------------------------------------------------------------------------

    def settle(self, now: float) -> list[Effect]:
        """The effects on consumers that are due now."""
        effects: list[Effect] = []
        waiting, self._waiting = self._waiting, {}
        for there in waiting.values():
            effects += there.notices()
            handed: list[Hand] = list(there.hand(now))
            effects += handed
        return effects

    def rows(self, next_place: int, time: float) -> list[Row]:
        """The rows to be stored since the last call; `next_place` is the end of the journal."""
        rows, self._removed = self._removed, []
        touched, self._touched = self._touched, {}
        for there in touched.values():
            rows += there.rows()
        if self._seen != next_place and any(one.is_kept for one in self._by_owner.values()):
            self._seen = next_place
            rows.append(Row(Kind.SEEN, "", 0, encoded(SeenValue(next_place, time))))
        return rows

    def _touch(self, there: DurableSubscription) -> None:
        self._touched[there.owner] = there
        self._waiting[there.owner] = there

    def _let_go(self, there: DurableSubscription, count: int) -> list[Effect]:
        """Log the number of publications that the bounds of a mailbox have dropped."""
        if not count:
            return []
        self._touch(there)
        return [LogEvent(there.name, "publications let go", there.reason, count)]

    # What is shown -----------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """True if there are rows to store, or deliveries or notices to send."""
        return bool(self._removed or self._touched or self._waiting)

    def not_handed(
        self, consumer: Consumer, numbers: Iterable[int], reason: str = NOT_KEPT
    ) -> list[Effect]:
        """Drop, with a log entry, publications of a consumer that cannot be sent to it."""
        there = self._consumers.get(consumer)
        if there is None:
            return []
        there.reason = reason
        return self._let_go(there, sum(there.mailbox.let_go(number) for number in numbers))

    def _named(self, name: str) -> DurableSubscription:
        there = self._by_owner.get(OWNER + name)
        if there is None:
            raise InputError(f"there is no durable subscription {name!r} here")
        return there

    def filter_of(self, name: str) -> InterestText | None:
        """The filter of a durable subscription, if there is one of this name."""
        there = self._by_owner.get(OWNER + name)
        return None if there is None else there.filter

    def show(self, name: str, time: float) -> DurableState:
        """The state of one durable subscription. Raises `InputError` where the name is unknown."""
        return self._named(name).state(time)

    def state(self, owner: str, time: float) -> DurableState | None:
        """The state of an owner's subscription, with a name or without, if it exists."""
        there = self._by_owner.get(owner)
        return None if there is None else there.state(time)

    def listed(self, after: str, time: float, names: Callable[[str], bool]) -> DurablesReply:
        """The states of the durable subscriptions after a name, of those that `names` allows."""
        after_it = (one for one in self._by_owner.values() if one.is_kept and one.name > after)
        kept = [one for one in after_it if names(one.name)]
        kept.sort(key=lambda one: one.name)
        states = tuple(one.state(time) for one in kept[:DURABLES_LISTED_MAX])
        return DurablesReply(states, more=len(kept) > len(states))

    def validate(self) -> None:
        """Check all relations; raises `InvariantError`."""
        for there in self._by_owner.values():
            there.mailbox.validate()
            is_there = there.owner in self._catching_up
            assert is_there == there.progress.catching_up, "somebody catches up alone"
            for consumer in there.consumers:
                assert self._consumers[consumer] is there, "a consumer is known elsewhere"
        assert all(consumer in there.consumers for consumer, there in self._consumers.items()), (
            "somebody is no consumer any more"
        )


def written(text: InterestText) -> str:
    """A filter as a person writes it."""
    return text if isinstance(text, str) else text.text
