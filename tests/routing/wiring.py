"""Routers wired in memory: FIFO links, no time, everything delivered until nothing moves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import (
    Accepted,
    Advertised,
    CloseLink,
    Deliver,
    Effect,
    Refused,
    Send,
    Subscribed,
    Unadvertised,
    Unsubscribed,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Message
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.world import LOOK_EVERY


def core_of(router: Router) -> RoutingCore:
    """The only core of a router on a tree."""
    assert isinstance(router.membership, RoutingCore)
    return router.membership


class Wiring:
    """Some routers and the links between them.

    `step` moves one message; `settle` moves all until nothing is left, and then validates every
    router that took something. On the way there is a look after each `LOOK_EVERY`th input.

    #: _unseen have taken something since they were validated
    """

    def __init__(self, protocol: str | Protocol, edges: Iterable[tuple[str, str]] = ()) -> None:
        self.protocol = protocol
        self.routers: dict[str, Router] = {}
        self.queues: dict[tuple[str, str], deque[Message]] = {}
        self.log: list[tuple[str, Effect]] = []
        self._given = 0
        self._unseen: dict[str, None] = {}
        for a, b in edges:
            self.link(a, b)

    def router(self, name: str) -> Router:
        if name not in self.routers:
            self.routers[name] = Router(name, self.protocol)
        return self.routers[name]

    def link(self, a: str, b: str) -> None:
        self.queues[a, b] = deque()
        self.queues[b, a] = deque()
        self.give(a, LinkUp(b))
        self.give(b, LinkUp(a))

    def cut(self, a: str, b: str) -> None:
        del self.queues[a, b], self.queues[b, a]
        self.give(a, LinkDown(b))
        self.give(b, LinkDown(a))

    def give(self, name: str, entered: Input) -> list[Effect]:
        router = self.router(name)
        effects = router.handle(entered, now=0.0)
        self._given += 1
        self._unseen[name] = None
        if self._given % LOOK_EVERY == 0:
            self.look(name)
        for effect in effects:
            self.log.append((name, effect))
            if isinstance(effect, Send) and (name, effect.neighbor) in self.queues:
                self.queues[name, effect.neighbor].append(effect.message)
            if isinstance(effect, CloseLink):
                del self.queues[name, effect.neighbor], self.queues[effect.neighbor, name]
                self.give(effect.neighbor, LinkDown(name))
        return effects

    def look(self, *names: str) -> None:
        """Let routers check themselves."""
        for name in names:
            self._unseen.pop(name, None)
            self.routers[name].validate()

    def step(self) -> bool:
        for (sender, receiver), queue in self.queues.items():
            if queue:
                self.give(receiver, Receive(sender, queue.popleft()))
                return True
        return False

    def settle(self) -> None:
        for _ in range(100_000):
            if not self.step():
                self.look(*self._unseen)
                return
        raise AssertionError("the overlay does not come to rest")

    def attach(self, name: str, client: str) -> None:
        self.give(name, AttachClient(client))

    def detach(self, name: str, client: str) -> None:
        self.give(name, DetachClient(client))
        self.settle()

    def subscribe(self, name: str, client: str, subscription: str, text: str) -> None:
        self.give(name, ClientSubscribe(client, subscription, parse_filter(text)))
        self.settle()

    def unsubscribe(self, name: str, client: str, subscription: str) -> None:
        self.give(name, ClientUnsubscribe(client, subscription))
        self.settle()

    def advertise(self, name: str, client: str, advertisement: str, text: str) -> None:
        self.give(name, ClientAdvertise(client, advertisement, parse_filter(text)))
        self.settle()

    def unadvertise(self, name: str, client: str, advertisement: str) -> None:
        self.give(name, ClientUnadvertise(client, advertisement))
        self.settle()

    def publish(self, name: str, client: str, publication: str, **attributes: object) -> None:
        self.give(name, ClientPublish(client, Publication(publication, attributes)))
        self.settle()

    def deliveries(self) -> list[tuple[str, str, str]]:
        """All (publication, client, subscription) so far, in order."""
        return [
            (effect.publication.id, effect.client, subscription)
            for _, effect in self.log
            if isinstance(effect, Deliver)
            for subscription in effect.subscriptions
        ]

    def sent(self, kind: type[Message]) -> int:
        """The number of messages of a kind that were put on links."""
        return sum(isinstance(e, Send) and isinstance(e.message, kind) for _, e in self.log)

    def answers(
        self,
    ) -> list[Subscribed | Unsubscribed | Advertised | Unadvertised | Accepted | Refused]:
        """The answers to clients, deliveries aside."""
        kinds = Subscribed | Unsubscribed | Advertised | Unadvertised | Accepted | Refused
        return [effect for _, effect in self.log if isinstance(effect, kinds)]


LINE = (("r1", "r2"), ("r2", "r3"))
STAR = (("r1", "r2"), ("r1", "r3"), ("r1", "r4"))
PROTOCOLS = ("flooding", "simple", "identity", "covering", "covering+merging", "maximal", "xroute")
ADVERTISED = (
    "advertisement",
    "advertisement+identity",
    "advertisement+covering",
    "advertisement+covering+merging",
    "advertisement+xroute",
)
