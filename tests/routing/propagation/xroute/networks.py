"""Nodes wired in memory, with one queue for each direction of each link.

Subscriptions are sets of numbers, written as filters on one attribute: `S(1, 2)` accepts records
with `e = 1` or `e = 2`, and contains `S(1)`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any
from zlib import crc32

from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.model import constraint
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.node import Node
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import Count, Operation
from sapwood.routing.propagation.xroute.view import View
from sapwood.routing.tables import CLIENTS

NUMBERS = range(6)


def S(*numbers: int) -> Filter:  # noqa: N802 - the thesis' letter
    """The subscription to these numbers."""
    return Filter((Conjunction((("e", constraint.one_of(numbers)),)),))


def accepts(wanted: Interest, number: int) -> bool:
    assert isinstance(wanted, Filter)
    return wanted.accepts({"e": number})


def strictly_contains(one: Interest, other: Interest) -> bool:
    return one.covers(other) and not other.covers(one)


class Forgetful(ReferenceCovering):
    """Finds some of the covers, always the same ones, so that what it finds is not transitive."""

    def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:
        found = super().cov(filter, len(self._filters) + 1)
        return [key for key in found if is_found(self._filters[key], filter)][:limit]

    def covered(self, filter: AdvertisedContent) -> list[int]:
        return [key for key in super().covered(filter) if is_found(filter, self._filters[key])]


def is_found(above: AdvertisedContent, below: AdvertisedContent) -> bool:
    """True if `Forgetful` finds that one filter covers another."""
    return crc32(f"{above}>{below}".encode()) % 3 > 0


class Network:
    """Nodes of a tree; `sent` lists what went over links, `clients` what was asked for."""

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        *,
        make_index: Callable[[], CoveringIndex[Any]] = ReferenceCovering,
        told: Mapping[str, str | None] | None = None,
        make_view: Callable[[Containment], View] = View,
    ) -> None:
        """`told` maps a node to its only neighbor on the way to the producer, where there is one.

        Without it, every node may publish.
        """
        self.links = [*links]
        names = dict.fromkeys(name for link in self.links for name in link)
        self.nodes = {name: Node(make_index, make_view) for name in names}
        self.clients: dict[str, Counter[Interest]] = {name: Counter() for name in names}
        self.queues: dict[tuple[str, str], deque[Operation]] = {}
        self.sent: list[tuple[str, str, Operation]] = []
        #: how often a neighbor was told in more than one operation
        self.compound = 0
        self._told = told
        for a, b in self.links:
            self._connect(a, b)

    def _connect(self, a: str, b: str) -> None:
        for one, other in ((a, b), (b, a)):
            is_told = self._told is None or self._told.get(one) == other
            self.nodes[one].connect(other, is_told=is_told)
            self.queues[one, other] = deque()

    def subscribe(self, name: str, wanted: Interest, count: int = 1) -> None:
        for _ in range(count):
            self.clients[name][wanted] += 1
            self._send(name, self.nodes[name].subscribe(wanted))

    def unsubscribe(self, name: str, wanted: Interest) -> None:
        self.clients[name] -= Counter((wanted,))
        self._send(name, self.nodes[name].unsubscribe(wanted))

    def cut(self, a: str, b: str) -> None:
        """Take a link down, with all that is on it."""
        self.links.remove((a, b))
        for one, other in ((a, b), (b, a)):
            del self.queues[one, other]
            for told in self.nodes[one].disconnect(other):
                self._send(one, told)

    def join(self, a: str, b: str) -> None:
        """Bring a link up."""
        self.links.append((a, b))
        self._connect(a, b)
        for one, other in ((a, b), (b, a)):
            for operation in self.nodes[one].start(other):
                self._send(one, {other: [operation]})

    def _send(self, sender: str, told: Mapping[str, Sequence[Operation]]) -> None:
        for receiver, operations in told.items():
            self.compound += len(operations) > 1
            for operation in operations:
                self.sent.append((sender, receiver, operation))
                self.queues[sender, receiver].append(operation)

    def step(self, choose: Random) -> bool:
        """Move one message of a link that is chosen."""
        waiting = [ends for ends, queue in self.queues.items() if queue]
        if not waiting:
            return False
        sender, receiver = waiting[choose.randrange(len(waiting))]
        operation = self.queues[sender, receiver].popleft()
        self._send(receiver, self.nodes[receiver].take(operation, sender))
        return True

    def settle(self) -> None:
        choose = Random(0)
        while self.step(choose):
            pass

    # What must be ------------------------------------------------------------------------------

    def behind(self, router: str, neighbor: str) -> Counter[Interest]:
        """All that is subscribed on the other side of a link."""
        reached = [(router, neighbor)]
        found: Counter[Interest] = Counter()
        for previous, current in reached:
            found += self.clients[current]
            for a, b in self.links:
                if current in (a, b):
                    other = a if current == b else b
                    if other != previous:
                        reached.append((current, other))
        return found

    def check(self, *, is_transitive: bool = True) -> None:
        """Everything that holds when nothing is under way.

        Where covering is not found transitively, neighbors may know more than they need.
        """
        for name, node in self.nodes.items():
            node.validate()
            counts = node.interfaces[CLIENTS].counts
            assert counts == {f: Count(n, 0) for f, n in self.clients[name].items() if n}
            for side, interface in node.interfaces.items():
                if side != CLIENTS:
                    self._check_side(name, side, interface.counts, is_transitive=is_transitive)

    def _check_side(
        self, name: str, side: str, counts: Mapping[Interest, Count], *, is_transitive: bool
    ) -> None:
        view = self.nodes[side].views.get(name)
        if view is None:
            assert counts == {}
            return
        assert counts == view.propagated, "mirror: the tops there are what is known here"
        wanted = self.behind(name, side)
        maximal = {f for f in wanted if not any(strictly_contains(g, f) for g in wanted)}
        if is_transitive:
            assert counts.keys() == maximal, "minimal: what is not covered, and nothing else"
            assert all(count.instances == wanted[f] for f, count in counts.items())
        assert maximal <= counts.keys() <= wanted.keys()
        total = sum(count.total for count in counts.values())
        assert total == wanted.total(), "conservation: every subscription is counted once"

    def reached(self, origin: str, number: int) -> tuple[list[tuple[str, str]], list[str]]:
        """The links that a publication crosses, and the nodes with clients that get it."""
        crossed: list[tuple[str, str]] = []
        arrived = [("", origin)]
        for previous, current in arrived:
            for side, interface in self.nodes[current].interfaces.items():
                if side in (CLIENTS, previous):
                    continue
                if any(accepts(f, number) for f in interface.counts):
                    crossed.append((current, side))
                    arrived.append((current, side))
        got = [
            name
            for _, name in arrived
            if any(accepts(f, number) for f in self.nodes[name].interfaces[CLIENTS].counts)
        ]
        return crossed, got

    def check_routing(self, origins: Iterable[str]) -> None:
        """Perfect routing: exactly who wants it, over exactly the links that lead there."""
        for origin in origins:
            for number in NUMBERS:
                crossed, got = self.reached(origin, number)
                wanting = {
                    name
                    for name, wanted in self.clients.items()
                    if any(accepts(f, number) for f in wanted)
                    and (name == origin or self._way_is_there(origin, name))
                }
                assert sorted(got) == sorted(wanting)
                assert all(any(accepts(f, number) for f in self.behind(a, b)) for a, b in crossed)

    def _way_is_there(self, start: str, end: str) -> bool:
        reached = [start]
        for current in reached:
            for link in self.links:
                if current in link:
                    other = link[0] if link[1] == current else link[1]
                    if other not in reached:
                        reached.append(other)
        return end in reached

    def is_empty(self) -> bool:
        return not any(
            node.views[neighbor].entries or node.interfaces[neighbor].counts
            for node in self.nodes.values()
            for neighbor in node.views
        )


def random_tree(generator: Random, nodes: int) -> list[tuple[str, str]]:
    """The links of a tree over `n0`, `n1` and so on; the first is in every one."""
    return [(f"n{generator.randrange(i)}", f"n{i}") for i in range(1, nodes)]
