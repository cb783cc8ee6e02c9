"""One durable subscription: its mailbox, its consumers, and its progress in the journal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sapwood.limits.durable import DURABLE_HAND_BYTES, DURABLE_HAND_MAX
from sapwood.session.durable.catching_up import Arrival, CatchingUp
from sapwood.session.durable.effects import Acknowledged, Attach, Effect, Hand, Join, ReportDropped
from sapwood.session.durable.last_values import LastValues
from sapwood.session.durable.mailbox import Consumer, Mailbox
from sapwood.session.durable.rows import Kind, Row, StateValue, SubscriptionValue, encoded
from sapwood.wire.durable import DurableReply, DurableState
from sapwood.wire.interests import InterestText

BOUNDS_PASSED = "its mailbox was full"
TOO_OLD = "it waited longer than the mailbox keeps"
SPENT = "it was delivered as often as may be, and never acknowledged"
OVER = "its time to live was over"
NOT_KEPT = "the journal does not keep it any more"


@dataclass(slots=True)
class Attached:
    """The state of a consumer that has joined.

    #: serial >= told_serial, and the mailbox's dropped >= told_dropped
    """

    window: int
    #: the consumer was too slow with a publication, and has acknowledged none since: others come
    #: first
    is_late: bool = False
    #: the consumer knows that it has joined
    is_joined: bool = False
    #: the consumer knows the filter, or will be informed; it has requested a change, and waits for
    #: the answer
    knows_filter: bool = False
    is_asking: bool = False
    #: the mailbox's `dropped` when it was last reported to the consumer
    told_dropped: int = 0
    #: the serial of the last request to acknowledge, and of the last one answered
    serial: int = 0
    told_serial: int = 0
    #: a place above those of all publications sent to the consumer
    reached: int = 0


class DurableSubscription:
    """One durable subscription of a broker.

    A subscription without a name (`is_kept` false) belongs to its only consumer, begins in the
    journal, and is gone with the consumer: nothing of it is stored.
    """

    __slots__ = (
        "_is_changed",
        "_wanted",
        "consumers",
        "filter",
        "generation",
        "in_force",
        "is_kept",
        "last",
        "mailbox",
        "maker",
        "name",
        "owner",
        "progress",
        "reason",
        "seen",
    )

    def __init__(
        self,
        name: str,
        owner: str,
        value: SubscriptionValue,
        mailbox: Mailbox,
        progress: CatchingUp,
        *,
        is_kept: bool,
        last_by: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.owner = owner
        self.generation = value.generation
        self.maker = value.maker
        self.filter: InterestText = value.filter
        self.mailbox = mailbox
        self.progress = progress
        #: the last publications found so far, where the last one of each key is requested
        self.last = LastValues(last_by) if last_by else None
        self.is_kept = is_kept
        self.in_force = value.confirmed
        self.consumers: dict[Consumer, Attached] = {}
        #: the time of ages at which a consumer was last present
        self.seen = 0.0
        #: the reason why publications were last dropped
        self.reason = ""
        #: the definition of the subscription has changed since `rows`
        self._is_changed = False
        #: the filter that replaces the present one as soon as that is in force
        self._wanted: InterestText | None = None

    # What comes --------------------------------------------------------------------------------

    def put(self, arrivals: list[Arrival], time: float) -> int:
        """Put publications into the mailbox; return the number of those dropped."""
        put = self.mailbox.put
        gone = self.age(time)
        full = sum(put(place, size, time - age_s) for place, size, age_s, _ in arrivals)
        if full:
            self.reason = BOUNDS_PASSED
        return gone + full

    def looked(self, found: list[Arrival], through: int) -> list[Arrival]:
        """Move the cursor to the place `through`; return the arrivals to be put then."""
        progress, last = self.progress, self.last
        known = [one for one in found if one.place >= progress.cursor]
        ahead = progress.looked(through)
        if last is None:
            return [*known, *ahead]
        last.take(known)
        return [] if progress.catching_up else [*last.take_all(), *ahead]

    def age(self, time: float) -> int:
        """Drop the publications that have waited too long; return their number."""
        gone = self.mailbox.age(time)
        if gone:
            self.reason = TOO_OLD
        return gone

    def forget_before(self, place: int) -> int:
        """Drop the publications that the journal no longer has; return their number."""
        gone = self.mailbox.forget_before(place)
        if gone:
            self.reason = NOT_KEPT
        return gone

    def take_spent(self) -> list[Arrival]:
        """Remove and return the publications that were delivered as often as allowed."""
        return [Arrival(one.place, one.size) for one in self.mailbox.take_spent()]

    # Consumers ---------------------------------------------------------------------------------

    def join(self, consumer: Consumer, window: int, *, is_asking: bool = False) -> Iterator[Effect]:
        """Add a consumer; it is informed once the subscription is in force.

        A consumer that `is_asking` for another filter (`change_filter` follows) is informed once
        that filter is in force.
        """
        self.consumers[consumer] = Attached(window)
        if self.in_force and not is_asking:
            yield from self.welcome()

    def confirm(self) -> Iterator[Effect]:
        """Take in that the subscription is in force."""
        if not self.in_force:
            self.in_force = self._is_changed = True
        wanted, self._wanted = self._wanted, None
        if wanted is not None and wanted != self.filter:
            yield self._exchange(wanted)
        else:
            yield from self.welcome()

    def change_filter(self, wanted: InterestText, consumer: Consumer | None) -> Iterator[Effect]:
        """Replace the filter for a consumer, which may be absent; it is answered when that is done.

        Where the present filter is not in force yet, that is awaited first, so that it is clear
        which filter the router reports as in force. The publications in the mailbox stay.
        """
        attached = None if consumer is None else self.consumers[consumer]
        if attached is not None:
            attached.is_asking, attached.knows_filter = True, False
        if not self.in_force:
            self._wanted = wanted
        elif wanted != self.filter:
            yield self._exchange(wanted)
        else:
            yield from self.welcome()

    def _exchange(self, wanted: InterestText) -> Attach:
        self.filter, self.in_force, self._is_changed = wanted, False, True
        for attached in self.consumers.values():
            attached.knows_filter = False
        return Attach(self.owner, wanted, is_change=True)

    def welcome(self) -> Iterator[Effect]:
        """Inform the consumers that wait for the subscription to be in force."""
        for consumer, attached in self.consumers.items():
            if not attached.knows_filter:
                answers, attached.is_asking = attached.is_asking, False
                attached.is_joined = attached.knows_filter = True
                attached.told_dropped = self.mailbox.dropped
                yield Join(
                    consumer,
                    DurableReply(
                        consumer[1],
                        self.name,
                        self.generation,
                        self.filter,
                        self.mailbox.dropped,
                        is_change=answers,
                    ),
                )

    def expire(self, now: float) -> bool:
        """Take back publications not acknowledged in time; true if there were any."""
        late = self.mailbox.expire(now)
        for consumer in late:
            self.consumers[consumer].is_late = True
        return bool(late)

    def acknowledge(self, consumer: Consumer, runs: Sequence[int], serial: int) -> None:
        """Acknowledge deliveries of a consumer. Raises `InputError` for numbers never delivered."""
        self.mailbox.acknowledge(runs)
        attached = self.consumers[consumer]
        attached.serial = max(attached.serial, serial)
        attached.is_late = False

    def leave(self, consumer: Consumer, time: float) -> int:
        """Remove a consumer; return the number of publications that it gives back."""
        del self.consumers[consumer]
        self.seen = time
        return self.mailbox.give_back(consumer)

    def hand(self, now: float) -> Iterator[Hand]:
        """Publications for consumers, a frame at a time, those with the most room first.

        All have about equal room afterwards. A consumer that was late comes after all others, or it
        would get again and again what it does not process.
        """
        consumers, mailbox = self.consumers, self.mailbox
        able = {one: attached for one, attached in consumers.items() if attached.is_joined}
        while able and mailbox.is_ready:
            room = {one: able[one].window - mailbox.held(one)[0] for one in able}
            free = [one for one in able if room[one] > 0]
            if not free:
                return
            best = max(free, key=lambda one: (not able[one].is_late, room[one]))
            rivals = [
                room[one] for one in free if one != best and able[one].is_late == able[best].is_late
            ]
            ahead = room[best] - max(rivals, default=0)
            shared = max(0, mailbox.count - mailbox.out - ahead)
            share = ahead + -(-shared // (len(rivals) + 1))
            count_max = min(room[best], DURABLE_HAND_MAX, share)
            parcels = mailbox.take(best, count_max, DURABLE_HAND_BYTES, now)
            if parcels:
                yield Hand(best, parcels, able[best].reached)
                last = max(parcel.place for parcel in parcels)
                able[best].reached = max(able[best].reached, last + 1)
            else:  # the consumer has as many bytes as it may
                del able[best]

    def notices(self) -> Iterator[Effect]:
        """The notices that precede deliveries: acknowledgements, and numbers of drops."""
        for consumer, attached in self.consumers.items():
            if attached.serial > attached.told_serial:
                attached.told_serial = attached.serial
                yield Acknowledged(consumer, attached.serial)
            if attached.is_joined and self.mailbox.dropped > attached.told_dropped:
                attached.told_dropped = self.mailbox.dropped
                yield ReportDropped(consumer, self.mailbox.dropped, self.reason)

    # What is kept, and shown -------------------------------------------------------------------

    def change(self) -> None:
        """Record that the definition of the subscription has changed, and is to be stored."""
        self._is_changed = True

    def rows(self) -> Iterator[Row]:
        """The rows to be stored since the last call."""
        if not self.is_kept:
            return
        name, mailbox, progress = self.name, self.mailbox, self.progress
        if self._is_changed:
            self._is_changed = False
            value = SubscriptionValue(
                self.generation, self.filter, mailbox.bounds.policy(), self.in_force, self.maker
            )
            yield Row(Kind.SUBSCRIPTION, name, 0, encoded(value))
        yield from mailbox.rows(name)
        state = StateValue(
            mailbox.last,
            mailbox.dropped,
            self.seen,
            progress.start,
            progress.cursor,
            progress.catching_up,
            progress.earlier,
        )
        yield Row(Kind.STATE, name, 0, encoded(state))

    def lowest_place(self) -> int | None:
        """The lowest place of the journal that the subscription needs."""
        lowest = self.mailbox.lowest_place()
        if self.progress.catching_up:
            cursor = self.progress.cursor
            return cursor if lowest is None else min(cursor, lowest)
        return lowest

    def state(self, time: float) -> DurableState:
        """The state of the subscription, as it is shown."""
        mailbox = self.mailbox
        oldest = mailbox.oldest_time()
        state = "in force" if self.in_force else "being put in force"
        if self.progress.catching_up:
            state += ", catching up with the journal"
        return DurableState(
            name=self.name,
            generation=self.generation,
            filter=self.filter,
            policy=mailbox.bounds.policy(),
            waiting=mailbox.count,
            bytes=mailbox.bytes,
            out=mailbox.out,
            consumers=tuple(client for client, _ in self.consumers),
            dropped=mailbox.dropped,
            oldest_s=0.0 if oldest is None else max(0.0, time - oldest),
            last_seen_s=0.0 if self.consumers else max(0.0, time - self.seen),
            state=state,
            first=mailbox.first() or 0,
            last=mailbox.last,
        )
