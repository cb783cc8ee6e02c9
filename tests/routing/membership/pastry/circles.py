"""Routers of a circle wired in memory, in whatever order messages come; names are identifiers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import replace
from random import Random

from sapwood.language import parse_filter
from sapwood.limits.structured import RANGES_REPAIR_S
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import Identifier, IdentifierSpace, slot_of
from sapwood.overlay.plane import Plane
from sapwood.routing.effects import Accepted, Connect, Deliver, Effect, Measure, Send, Subscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    ClientUnsubscribe,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Receive,
    Tick,
)
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.messages import Message
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES, Router
from sapwood.simulation.world import LOOK_EVERY

VALUES = range(6)
"""The values of x in publications; filters are sets of these."""


class Literal(IdentifierSpace):
    """Identifiers that are names: 012 is at 012."""

    def identifier_of(self, name: str) -> Identifier:
        return name.split("~", maxsplit=1)[0]


class Ring:
    """Routers of a circle, validated after some inputs, and when all have settled (`Wiring`).

    A link carries messages in order; which link moves next is drawn. `sent` counts messages. Who is
    measured has a place in a plane; answers come whenever they come.
    """

    def __init__(
        self,
        space: IdentifierSpace,
        random: Random,
        kind: type[OnCircle] = Pastry,
        protocol_name: str = "irbr",
    ) -> None:
        self.kind = kind
        self.space = Literal(space.base, space.digits)
        self.random = random
        self.now = 0.0
        self.routers: dict[str, Router] = {}
        self.queues: dict[tuple[str, str], deque[Message]] = {}
        self.plane = Plane(random.randrange(1000))
        self.echoes: list[tuple[str, Measured]] = []
        self.lives: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.delivered: list[tuple[str, str, str]] = []
        self.in_force: set[tuple[str, str]] = set()
        self.wanted: dict[tuple[str, str], Filter] = {}
        self.kept = protocol(protocol_name)
        self._given = 0
        self._unseen: dict[str, None] = {}

    # Routers and links -------------------------------------------------------------------------

    def join(self, name: str, by: str | None = None) -> None:
        """Let a router run, introduced by another one."""

        def make(own: str, kept: object, engines: object, life: int) -> OnCircle:
            return self.kind(own, self.kept, DEFAULT_ENGINES, life, self.space)

        strategy = replace(self.kept.membership, make=make)
        chosen = replace(self.kept, membership=strategy)
        self.routers[name] = Router(name, chosen, incarnation=self.lives[name])
        self.lives[name] += 1
        self.give(name, AttachClient("c"))
        if by is not None:
            self.link(name, by)

    def link(self, a: str, b: str) -> None:
        if (a, b) not in self.queues:
            self.queues[a, b], self.queues[b, a] = deque(), deque()
            self.give(a, LinkUp(b))
            self.give(b, LinkUp(a))

    def cut(self, a: str, b: str) -> None:
        del self.queues[a, b], self.queues[b, a]
        for one, other in ((a, b), (b, a)):
            if one in self.routers:
                self.give(one, LinkDown(other))

    def crash(self, name: str) -> None:
        """Let a router be gone, with all that it knows and all that is on its links."""
        del self.routers[name]
        self.echoes = [echo for echo in self.echoes if echo[0] != name]
        for a, b in [pair for pair in self.queues if pair[0] == name]:
            self.cut(a, b)
        for key in [one for one in self.wanted if one[0] == name]:
            del self.wanted[key]
            self.in_force.discard(key)

    # Inputs and effects ------------------------------------------------------------------------

    def give(self, name: str, entered: Input) -> list[Effect]:
        router = self.routers[name]
        effects = router.handle(entered, self.now)
        self._given += 1
        self._unseen[name] = None
        if self._given % LOOK_EVERY == 0:
            self.look(name)
        for effect in effects:
            match effect:
                case Send(neighbor, message):
                    self.sent[type(message).__name__] += 1
                    if (name, neighbor) in self.queues:
                        self.queues[name, neighbor].append(message)
                case Connect(neighbor):
                    if neighbor in self.routers:
                        self.link(name, neighbor)
                case Measure(other, address):
                    delay = self.plane.delay_s(name, other) if other in self.routers else None
                    self.echoes.append((name, Measured(other, delay, address)))
                case Deliver(_, ids, publication):
                    self.delivered.extend((name, id_, publication.id) for id_ in ids)
                case Subscribed(_, id_):
                    self.in_force.add((name, id_))
                case _:
                    assert isinstance(effect, Accepted) or "subscribed" in repr(effect).lower()
        return effects

    def step(self) -> bool:
        """Let one message arrive, or one answer; false if none is on its way."""
        waiting = [pair for pair, queue in self.queues.items() if queue]
        if self.echoes and self.random.randrange(len(self.echoes) + len(waiting)) >= len(waiting):
            name, measured = self.echoes.pop(self.random.randrange(len(self.echoes)))
            self.give(name, measured)
            return True
        if not waiting:
            return False
        source, target = self.random.choice(waiting)
        self.give(target, Receive(source, self.queues[source, target].popleft()))
        return True

    def settle(self) -> None:
        while self.step():
            pass
        self.look(*self._unseen)

    def look(self, *names: str) -> None:
        """Let routers check themselves, but for those that have crashed."""
        for name in names:
            del self._unseen[name]
            if name in self.routers:
                self.routers[name].validate()

    def repair(self, rounds: int) -> None:
        """Let so many comparisons of tables pass, one after the other."""
        for _ in range(rounds):
            self.now += RANGES_REPAIR_S
            for name in list(self.routers):
                self.give(name, Tick())
            self.settle()

    # Clients -----------------------------------------------------------------------------------

    def subscribe(self, name: str, id_: str, values: Iterable[int]) -> None:
        wanted = parse_filter(f"x in ({', '.join(map(str, values))})")
        self.wanted[name, id_] = wanted
        self.give(name, ClientSubscribe("c", id_, wanted))

    def unsubscribe(self, name: str, id_: str) -> None:
        del self.wanted[name, id_]
        self.in_force.discard((name, id_))
        self.give(name, ClientUnsubscribe("c", id_))

    def publish(self, name: str, id_: str, value: int) -> None:
        self.give(name, ClientPublish("c", Publication(id_, {"x": value})))

    # What there should be ----------------------------------------------------------------------

    def due(self, value: int) -> set[tuple[str, str]]:
        """The subscriptions that want a value: router and id."""
        return {key for key, wanted in self.wanted.items() if wanted.matches({"x": value})}

    def got(self, publication: str) -> list[tuple[str, str]]:
        """The subscriptions to which a publication was delivered, once for each time."""
        return [(name, id_) for name, id_, got in self.delivered if got == publication]

    def wrong(self) -> list[str]:
        """The tables that accept other values than those in the range want: FT-exact (P5)."""
        found = []
        for name, router in self.routers.items():
            pastry = router.membership
            assert isinstance(pastry, Pastry)
            tables = pastry.subscriptions.entries.received
            should: dict[str, set[int]] = {}
            for (home, _), wanted in self.wanted.items():
                if home != name:
                    here, there = self.space.identifier_of(name), self.space.identifier_of(home)
                    values = {value for value in VALUES if wanted.matches({"x": value})}
                    should.setdefault(slot_of(here, there), set()).update(values)
            for slot in {*tables, *should}:
                known = [entry.filter for entry in tables.get(slot, {}).values()]
                has = {
                    v
                    for v in VALUES
                    if any(one.matches(Publication("probe", {"x": v})) for one in known)
                }
                if has != should.get(slot, set()):
                    found.append(f"{name} has {has} for {slot}, not {should.get(slot, set())}")
        return found


def drawn_ring(
    random: Random,
    count: int,
    space: IdentifierSpace,
    kind: type[OnCircle] = Pastry,
    protocol_name: str = "irbr",
) -> Ring:
    """So many routers at drawn identifiers, which have joined one after the other."""
    ring = Ring(space, random, kind, protocol_name)
    numbers = random.sample(range(space.size), min(count, space.size))
    for number in numbers:
        by = random.choice(list(ring.routers)) if ring.routers else None
        ring.join(space.written(number), by)
        ring.settle()
    return ring
