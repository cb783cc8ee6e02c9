"""A broker of lists around the durable subscriptions: journal, rows, router and consumers.

Publications are numbers, and a filter is the text of a divisor: it accepts what that divides. What
a turn brought is committed as a whole or, in a crash, lost as a whole, with all that was to leave.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import assert_never

from sapwood.session.durable.catching_up import Arrival
from sapwood.session.durable.effects import (
    Acknowledged,
    Attach,
    Detach,
    Effect,
    Hand,
    Join,
    Leave,
    LogEvent,
    Refuse,
    ReportDropped,
    ToConsumer,
)
from sapwood.session.durable.mailbox import Consumer, Parcel
from sapwood.session.durable.rows import Kind, Row
from sapwood.session.durable.subscriptions import DurableSubscriptions, Making
from sapwood.wire.durable import AcknowledgeRequest, DurableRequest, Policy

SIZE = 10


@dataclass
class Reader:
    """A consumer, as it sees things: what it was handed, and what it has to acknowledge."""

    name: str
    joined: bool = False
    turned: str = ""
    parcels: list[Parcel] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    unacknowledged: dict[int, Parcel] = field(default_factory=dict)
    serial: int = 0
    #: numbers by the serial of the request that acknowledged them
    asked: dict[int, list[int]] = field(default_factory=dict)


class World:
    """One broker and its consumers."""

    def __init__(self) -> None:
        self.journal: list[int] = []
        self.durable_end = 0
        self.rows: dict[tuple[Kind, str, int], Row] = {}
        self.kept: dict[tuple[Kind, str, int], Row] = {}
        self.owners: dict[str, int] = {}
        #: owners and places that the router has not delivered yet, and of those the committed ones
        self.under_way: list[tuple[str, int]] = []
        self.under_way_kept: list[tuple[str, int]] = []
        self.readers: dict[Consumer, Reader] = {}
        self.output: list[ToConsumer] = []
        self.said: list[LogEvent] = []
        self.now = self.time = 100.0
        self.lives = 1
        self.hub = DurableSubscriptions()
        #: places whose acknowledgement was answered, by name
        self.done: dict[str, set[int]] = defaultdict(set)
        self.seen: dict[str, list[int]] = defaultdict(list)
        self.numbers: dict[tuple[str, int], int] = {}

    # Requests ----------------------------------------------------------------------------------

    def open(
        self,
        name: str,
        client: str = "c1",
        *,
        divisor: int | None = 1,
        start: int | None = None,
        window: int = 100,
        policy: Policy | None = None,
    ) -> Reader:
        request = DurableRequest(
            f"{name}-end",
            name,
            None if divisor is None else str(divisor),
            policy=policy or Policy(),
            window=window,
        )
        consumer = (client, request.id)
        reader = Reader(name)
        if consumer not in self.readers:
            self.readers[consumer] = reader
        making = Making(start, len(self.journal), f"life-{self.lives}-{len(self.journal)}")
        self.carry_out(self.hub.open(client, request, making, self.time))
        return self.readers.get(consumer, reader)

    def publish(self, *numbers: int, late: bool = False) -> None:
        """Publications are accepted, and delivered: at once, or with the next `deliver`."""
        for number in numbers:
            place = len(self.journal)
            self.journal.append(number)
            self.under_way += [
                (owner, place) for owner, divisor in self.owners.items() if number % divisor == 0
            ]
        if not late:
            self.deliver()

    def deliver(self) -> None:
        """The router delivers what is under way."""
        under_way, self.under_way = self.under_way, []
        for owner, place in under_way:
            self.carry_out(self.hub.delivered(owner, [Arrival(place, SIZE)], self.time))

    def acknowledge(self, reader: Reader, numbers: list[int]) -> None:
        """Acknowledge some of what a consumer has."""
        (consumer,) = (key for key, one in self.readers.items() if one is reader)
        reader.serial += 1
        reader.asked[reader.serial] = numbers
        runs = tuple(number for one in numbers for number in (one, one))
        request = AcknowledgeRequest(consumer[1], reader.serial, runs)
        self.hub.acknowledge(consumer[0], request)

    def leave(self, client: str) -> None:
        """A client is gone."""
        for consumer in [one for one in self.readers if one[0] == client]:
            del self.readers[consumer]
        self.carry_out(self.hub.gone(client, self.time))

    def look(self, places: int) -> bool:
        """Look at a part of the journal, as far as it is durable."""
        look = self.hub.looks()
        if look is None:
            return False
        end = min(look.before, look.first + places, self.durable_end)
        divisor = int(str(look.filter))
        accepted = [p for p in range(look.first, end) if self.journal[p] % divisor == 0]
        found = [Arrival(place, SIZE) for place in accepted]
        self.carry_out(self.hub.looked(look.owner, found, end, self.time))
        return end > look.first

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.time += seconds
        self.carry_out(self.hub.tick(self.now, self.time))

    # Turns and crashes -------------------------------------------------------------------------

    def turn(self) -> None:
        """End a turn: its rows are with those that are to be kept, its output behind them."""
        self.carry_out(self.hub.settle(self.now))
        for row in self.hub.rows(len(self.journal), self.time):
            if row.value is None:
                self.rows.pop(row[:3], None)
            else:
                self.rows[row[:3]] = row
        self.hub.validate()

    def commit(self) -> None:
        """End a turn, keep all, and let the output out."""
        self.turn()
        self.kept = dict(self.rows)
        self.under_way_kept = list(self.under_way)
        self.durable_end = len(self.journal)
        output, self.output = self.output, []
        for effect in output:
            self._leaves(effect)

    def crash(self, *, keeps_journal: bool = False) -> None:
        """Begin another life with what was committed, or with that and the end of the journal."""
        if keeps_journal:
            self.durable_end = len(self.journal)
        del self.journal[self.durable_end :]
        self.under_way = list(self.under_way_kept)
        self.rows = dict(self.kept)
        self.owners.clear()
        self.readers.clear()
        self.output.clear()
        self.lives += 1
        self.hub = DurableSubscriptions()
        ordered = sorted(self.kept.values(), key=lambda row: row[:3])
        self.carry_out(self.hub.restore(ordered, len(self.journal), self.time))

    # Effects -----------------------------------------------------------------------------------

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Attach(owner, filter_):
                    self.owners[owner] = int(str(filter_))
                    self.carry_out(self.hub.confirmed(owner))
                case Detach(owner):
                    self.owners.pop(owner, None)
                case LogEvent():
                    self.said.append(effect)
                case _:
                    self.output.append(effect)

    def _leaves(self, effect: ToConsumer) -> None:
        reader = self.readers.get(effect.consumer)
        if reader is None:
            return
        match effect:
            case Join():
                reader.joined = True
            case Refuse(_, reason):
                reader.turned = reason
            case ReportDropped(_, dropped, _):
                reader.told.append(dropped)
            case Hand(_, parcels):
                for parcel in parcels:
                    self._received(reader, parcel)
            case Acknowledged(_, serial):
                for earlier in [one for one in reader.asked if one <= serial]:
                    for number in reader.asked.pop(earlier):
                        place = reader.unacknowledged.pop(number).place
                        self.done[reader.name].add(place)
            case Leave(consumer):
                del self.readers[consumer]
            case _:
                assert_never(effect)

    def _received(self, reader: Reader, parcel: Parcel) -> None:
        assert parcel.place < self.durable_end, "a publication left before it was durable"
        assert parcel.place not in self.done[reader.name], "acknowledged, and handed out again"
        before = self.numbers.setdefault((reader.name, parcel.number), parcel.place)
        assert before == parcel.place, "a number stands for two publications"
        if parcel.attempt == 1:
            assert parcel.place not in self.seen[reader.name], "a first attempt is the second"
        self.seen[reader.name].append(parcel.place)
        reader.parcels.append(parcel)
        reader.unacknowledged[parcel.number] = parcel
