"""All durable subscriptions of one broker.

The shell calls with requests of clients, with what the router delivers to owners, with parts of the
journal, and with the time; it carries out the effects, keeps the rows, and reads publications for
what is handed out. Once a turn, before output leaves: `settle` for what consumers get, `rows` for
what is kept with it. Nothing that `settle` gives may leave before the rows are kept.

For the router each durable subscription is a client, its *owner*, with one subscription. Its name
has a space in it, which no client's has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from sapwood.errors import InputError, LimitError
from sapwood.limits.durable import DURABLES_LISTED_MAX, DURABLES_MAX, LAST_VALUES_MAX
from sapwood.session.durable.catching_up import Arrival, CatchingUp
from sapwood.session.durable.effects import Attach, Detach, Effect, Hand, Leave, Say, Turn
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
"""What names of owners begin with: of subscriptions with a name, and of a client's own."""

SUBSCRIPTION_ID: Final = "durable"
"""What an owner calls its one subscription."""

_AGES_S: Final = 1.0
"""Seconds between two looks at how old publications in mailboxes are."""


def is_owner(client: str) -> bool:
    """Whether a client of the router is an owner."""
    return " " in client


class Look(NamedTuple):
    """A part of the journal to look at: for what a filter accepts, from a place up to another.

    Where there are attributes `last_by`, what is found has a key of theirs.
    """

    owner: str
    filter: InterestText
    first: int
    before: int
    last_by: tuple[str, ...] = ()


class Making(NamedTuple):
    """What a subscription is made with.

    `start` is where it begins in the journal, `None` for what comes from now on, and `next_place`
    the end of the journal; `generation` is new. It is on the quota of the identity `maker`, if
    there is one, which may have made so many `durables` with so many `bytes_max` in all.
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
    #: _catching_up has those whose progress is
    """

    def __init__(self) -> None:
        self._by_owner: dict[str, DurableSubscription] = {}
        self._consumers: dict[Consumer, DurableSubscription] = {}
        #: those that catch up, in the order of their turns
        self._catching_up: dict[str, DurableSubscription] = {}
        #: those of which something is to be kept, or handed out or told, by owner
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
        """Be what an earlier life has kept; `next_place` is the end of the journal.

        Each subscription looks at what the journal has got since its last rows.
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
        """A consumer comes; the subscription is made if it is not there.

        One that is there goes on where it is.
        """
        consumer = (client, request.id)
        present = self._consumers.get(consumer)
        if present is not None and request.is_change and present.name == request.name:
            wanted = present.filter if request.filter is None else request.filter
            self._touch(present)
            return list(present.change_filter(wanted, consumer))
        if present is not None:
            return [Turn(consumer, f"{request.id!r} is a consumer already; choose another id")]
        owner = OWNER + request.name if request.name else f"{OWN}{client} {request.id}"
        there = self._by_owner.get(owner)
        try:
            if there is None:
                there = self._make(owner, request, making)
                effects: list[Effect] = [Attach(owner, there.filter)]
                effects.append(Say(there.name, "made"))
            else:
                effects = list(self._changed(there, request, making))
        except InputError as error:
            return [Turn(consumer, str(error), isinstance(error, BeyondQuotaError))]
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
        """The bounds of a new one, within the quota of its maker. Raises `InputError` beyond.

        Who says no bound of bytes gets the default, or what is left.
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
        """How many are on the quota of an identity, and for how many bytes."""
        theirs = [one for one in self._by_owner.values() if one.is_kept and one.maker == maker]
        return len(theirs), sum(one.mailbox.bounds.bytes_max for one in theirs)

    def _changed(
        self, there: DurableSubscription, request: DurableRequest, making: Making
    ) -> Iterator[Effect]:
        """What a further consumer's request changes. Raises `InputError` for what cannot be."""
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
            yield Say(there.name, "bounds changed")

    def _checked(self, name: str, bounds: Bounds) -> Bounds:
        """Bounds of a subscription. Raises `InputError` where they name what cannot be."""
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
        """Remove a durable subscription with all that waits. Raises `InputError`."""
        there = self._named(name)
        reason = f"the durable subscription {name!r} was removed"
        effects: list[Effect] = [Turn(consumer, reason) for consumer in there.consumers]
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
        return [Detach(there.owner), Say(there.name, "removed", count=there.mailbox.count)]

    # What the router says ----------------------------------------------------------------------

    def confirmed(self, owner: str) -> list[Effect]:
        """The subscription of an owner is in force."""
        there = self._by_owner.get(owner)
        if there is None:
            return []
        self._touch(there)
        return list(there.confirm())

    def refused(self, owner: str, reason: str) -> list[Effect]:
        """The router refuses the subscription of an owner."""
        there = self._by_owner.get(owner)
        if there is None:
            return []
        effects: list[Effect] = [Turn(consumer, reason) for consumer in there.consumers]
        return [*effects, *self._drop(there)]

    def delivered(self, owner: str, arrivals: Iterable[Arrival], time: float) -> list[Effect]:
        """The router delivers publications to an owner, which are at these places."""
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
        """What is to be looked at in the journal next, if there is something."""
        for there in self._catching_up.values():
            progress = there.progress
            last_by = () if there.last is None else there.last.by
            return Look(there.owner, there.filter, progress.cursor, progress.floor, last_by)
        return None

    def looked(self, owner: str, found: list[Arrival], through: int, time: float) -> list[Effect]:
        """The journal was looked at up to, and without, a place, and this was found."""
        there = self._by_owner.get(owner)
        if there is None or not there.progress.catching_up:
            return []
        arrivals = there.looked(found, through)
        if there.last is not None and there.last.are_too_many:
            where = f"the number of different {' and '.join(there.last.by)} in the journal"
            bound = LimitError("LAST_VALUES_MAX", LAST_VALUES_MAX, None, where)
            return self.refused(owner, str(bound))
        # Another owner's turn: those that catch up at the same time share the journal.
        self._catching_up.pop(owner, None)
        self._catch_up(there)
        return self._put(there, arrivals, time)

    def _catch_up(self, there: DurableSubscription) -> None:
        """Look at the journal for a subscription, if it has to."""
        if there.progress.catching_up:
            self._catching_up[there.owner] = there

    def not_kept_before(self, place: int, time: float) -> list[Effect]:
        """The journal begins with this place; what stands before is let go, aloud."""
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
        """A place below which none of them needs anything of the journal.

        As low as the last look at ages found it, or lower: what is let go for good is not urgent.
        """
        return self._held

    def _hold(self, place: int) -> None:
        """Something at this place is needed from now on."""
        self._held = place if self._held is None else min(self._held, place)

    def _look_at_holds(self) -> None:
        needed = (there.lowest_place() for there in self._by_owner.values())
        self._held = min((place for place in needed if place is not None), default=None)

    # Consumers ---------------------------------------------------------------------------------

    def acknowledge(self, client: str, request: AcknowledgeRequest) -> None:
        """A consumer is done with deliveries. Raises `InputError` for what never was one.

        Of one that is gone meanwhile nothing is known any more, and that is no fault.
        """
        consumer = (client, request.id)
        there = self._consumers.get(consumer)
        if there is None:
            return
        there.acknowledge(consumer, request.runs, request.serial)
        self._touch(there)

    def leave(self, client: str, id_: str, time: float) -> list[Effect] | None:
        """A consumer goes as it wishes; `None` where it is no consumer."""
        consumer = (client, id_)
        if consumer not in self._consumers:
            return None
        return [*self._gone(consumer, time), Leave(consumer)]

    def is_named(self, consumer: Consumer) -> bool:
        """Whether a consumer is one of a subscription with a name, which others may share."""
        return self._consumers[consumer].is_kept

    def turn_away(self, consumer: Consumer, reason: str, time: float) -> list[Effect]:
        """A consumer may not be there any more; what it has goes to others."""
        if consumer not in self._consumers:
            return []
        return [*self._gone(consumer, time), Turn(consumer, reason)]

    def gone(self, client: str, time: float) -> list[Effect]:
        """A client is gone, and all consumers with it."""
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
        """What was delivered as often as may be goes into another mailbox, or is let go.

        Both are kept by the rows of the same turn: it is in one of the two, whatever happens.
        """
        spent = there.take_spent()
        if not spent:
            return []
        other = self._by_owner.get(OWNER + there.mailbox.bounds.dead_letter)
        if other is not None:
            self._touch(there)
            said = Say(there.name, f"publications given up, for {other.name}", count=len(spent))
            return [said, *self._put(other, spent, time)]
        there.reason = SPENT
        there.mailbox.dropped += len(spent)
        return self._let_go(there, len(spent))

    # Time --------------------------------------------------------------------------------------

    def tick(self, now: float, time: float) -> list[Effect]:
        """Take back what was not acknowledged in time, let go what is too old."""
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
        """When `tick` is to be called; `None` for never."""
        if not self._by_owner:
            return None
        busy = {there.owner: there for there in self._consumers.values()}
        due = [there.mailbox.next_deadline() for there in busy.values()]
        return min([one for one in due if one is not None] + [self._age_due])

    # Once a turn -------------------------------------------------------------------------------

    def settle(self, now: float) -> list[Effect]:
        """What consumers get now."""
        effects: list[Effect] = []
        waiting, self._waiting = self._waiting, {}
        for there in waiting.values():
            effects += there.tell()
            handed: list[Hand] = list(there.hand(now))
            effects += handed
        return effects

    def rows(self, next_place: int, time: float) -> list[Row]:
        """What is to be kept since the last time; `next_place` is the end of the journal."""
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
        """Say what the bounds of a mailbox have let go."""
        if not count:
            return []
        self._touch(there)
        return [Say(there.name, "publications let go", there.reason, count)]

    # What is shown -----------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """Whether there is something to be kept, or taken away, or handed out."""
        return bool(self._removed or self._touched or self._waiting)

    def not_handed(
        self, consumer: Consumer, numbers: Iterable[int], reason: str = NOT_KEPT
    ) -> list[Effect]:
        """What was to be handed to a consumer is not in the journal, say: it is let go, aloud."""
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
        """One durable subscription. Raises `InputError` where there is none of this name."""
        return self._named(name).state(time)

    def state(self, owner: str, time: float) -> DurableState | None:
        """That of an owner, with a name or without, if there is one."""
        there = self._by_owner.get(owner)
        return None if there is None else there.state(time)

    def listed(self, after: str, time: float, names: Callable[[str], bool]) -> DurablesReply:
        """The durable subscriptions whose names come after one, of those that `names` allows."""
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
