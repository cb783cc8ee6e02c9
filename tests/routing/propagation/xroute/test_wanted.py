"""Views under advertisements: what is told is what is wanted, in any order of all that happens."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from zlib import crc32

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from sapwood.covering.columnar import ColumnarCovering
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.interface import Interface
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import Count, Operation, Triple
from sapwood.routing.propagation.xroute.wanted import WantedView
from sapwood.routing.tables import CLIENTS
from tests.examples import examples
from tests.routing.propagation.xroute.networks import (
    NUMBERS,
    Forgetful,
    Network,
    S,
    accepts,
    random_tree,
    strictly_contains,
)

HERE = ""
"""The side of what a node's own clients advertise."""


@dataclass(frozen=True, slots=True)
class Said:
    """An advertisement under way, or, without content, that it was taken back."""

    key: str
    content: Any


class Rash:
    """Advertised content that intersects what it does not, always the same."""

    def __init__(self, content: Filter) -> None:
        self.content = content

    def intersects(self, other: Interest) -> bool:
        return self.content.intersects(other) or crc32(f"{self.content}>{other}".encode()) % 3 == 0


class Advertising(Network):
    """A network whose nodes are told of what they advertise for; advertisements travel as they are.

    #: promised[n][side] are the advertisements that node n has from a side
    """

    queues: dict[tuple[str, str], deque[Any]]

    def __init__(
        self,
        links: Sequence[tuple[str, str]],
        make_index: Callable[[], CoveringIndex[Any]] = ReferenceCovering,
    ) -> None:
        self.promised: dict[str, dict[str, dict[str, Any]]] = {}
        super().__init__(links, make_index=make_index, make_view=WantedView)

    def _connect(self, a: str, b: str) -> None:
        super()._connect(a, b)
        for one, other in ((a, b), (b, a)):
            self.promised.setdefault(one, {HERE: {}})[other] = {}

    def advertise(self, name: str, key: str, content: Any) -> None:
        self.promised[name][HERE][key] = content
        self._say(name, Said(key, content), {HERE})

    def unadvertise(self, name: str, key: str) -> None:
        del self.promised[name][HERE][key]
        self._say(name, Said(key, None), {HERE})

    def cut(self, a: str, b: str) -> None:
        super().cut(a, b)
        for one, other in ((a, b), (b, a)):
            for key in self.promised[one].pop(other):
                self._say(one, Said(key, None), set())

    def join(self, a: str, b: str) -> None:
        known = {
            one: [pair for side in self.promised[one].values() for pair in side.items()]
            for one in (a, b)
        }
        super().join(a, b)
        for one, other in ((a, b), (b, a)):
            for key, content in known[one]:
                self.queues[one, other].append(Said(key, content))

    def _say(self, name: str, said: Said, besides: set[str]) -> None:
        for neighbor in self.promised[name].keys() - besides - {HERE}:
            self.queues[name, neighbor].append(said)

    def step(self, choose: Random) -> bool:
        waiting = [ends for ends, queue in self.queues.items() if queue]
        if not waiting:
            return False
        sender, receiver = waiting[choose.randrange(len(waiting))]
        item = self.queues[sender, receiver].popleft()
        node = self.nodes[receiver]
        if not isinstance(item, Said):
            self._send(receiver, node.take(item, sender))
            return True
        if item.content is None:
            del self.promised[receiver][sender][item.key]
            self._send(receiver, {sender: node.unadvertised(sender, item.key)})
        else:
            self.promised[receiver][sender][item.key] = item.content
            self._send(receiver, {sender: node.advertised(sender, item.key, item.content)})
        self._say(receiver, item, {sender})
        return True

    # What must be ------------------------------------------------------------------------------

    def advertised_behind(self, router: str, neighbor: str) -> list[Any]:
        """The advertisements on the other side of a link."""
        reached = [(router, neighbor)]
        for previous, current in reached:
            for link in self.links:
                if current in link:
                    other = link[0] if link[1] == current else link[1]
                    if other != previous:
                        reached.append((current, other))
        return [one for _, name in reached for one in self.promised[name][HERE].values()]

    def _check_side(
        self, name: str, side: str, counts: Mapping[Interest, Count], *, is_transitive: bool
    ) -> None:
        view = self.nodes[side].views[name]
        assert isinstance(view, WantedView)
        view.check_advertisements(self.promised[side][name])
        assert counts == view.propagated, "mirror: the tops there are what is known here"
        behind, promised = self.behind(name, side), self.advertised_behind(side, name)
        wanted = {f for f in behind if any(one.intersects(f) for one in promised)}
        maximal = {f for f in wanted if not any(strictly_contains(g, f) for g in wanted)}
        assert counts.keys() <= wanted, "nothing is told that nobody advertises for"
        assert all(count.instances <= behind[f] for f, count in counts.items())
        if any(isinstance(one, Rash) for one in promised):
            truly = [one.content if isinstance(one, Rash) else one for one in promised]
            needed = [f for f in wanted if any(one.intersects(f) for one in truly)]
            assert all(any(g.covers(f) for g in counts) for f in needed)
            return
        if is_transitive:
            assert counts.keys() == maximal, "minimal: what is not covered, and nothing else"
            assert all(count.instances == behind[f] for f, count in counts.items())
        assert maximal <= counts.keys()
        least = sum(behind[f] for f in wanted)
        assert least <= sum(one.total for one in counts.values()) <= behind.total()

    def check_routing(self, origins: Sequence[str]) -> None:  # type: ignore[override]
        """Exactly who wants it gets what was advertised at its origin."""
        for origin in origins:
            promised = [
                one.content if isinstance(one, Rash) else one
                for one in self.promised[origin][HERE].values()
            ]
            for number in NUMBERS:
                if not any(accepts(one, number) for one in promised):
                    continue
                crossed, got = self.reached(origin, number)
                wanting = {
                    name
                    for name, wanted in self.clients.items()
                    if any(accepts(f, number) for f in wanted)
                    and (name == origin or self._way_is_there(origin, name))
                }
                assert sorted(got) == sorted(wanting)
                assert all(any(accepts(f, number) for f in self.behind(a, b)) for a, b in crossed)


WIDE, NARROW, OTHER = S(1, 2, 3), S(1), S(4)


def sent(network: Network, sender: str, receiver: str) -> list[Operation]:
    found = [operation for a, b, operation in network.sent if (a, b) == (sender, receiver)]
    network.sent.clear()
    return found


def line() -> Advertising:
    """`s` with subscribers and `p` with publishers, `m` between them."""
    return Advertising([("s", "m"), ("m", "p")])


def test_subscriptions_travel_only_where_something_was_advertised_for_them() -> None:
    network = line()
    network.subscribe("s", NARROW)
    network.subscribe("s", WIDE)
    network.subscribe("s", OTHER)
    network.settle()
    assert sent(network, "s", "m") == [], "nobody advertises anything"
    network.advertise("p", "a", S(2))
    network.settle()
    assert network.sent == [("s", "m", (Triple(WIDE, 1, 0),)), ("m", "p", (Triple(WIDE, 1, 0),))]
    network.sent.clear()
    network.advertise("p", "b", S(1, 2))
    network.settle()
    assert sent(network, "s", "m") == [(Triple(WIDE, 0, 1),)], "what is covered is only counted"
    network.advertise("p", "c", S(4))
    network.settle()
    assert sent(network, "s", "m") == [(Triple(OTHER, 1, 0),)]
    network.subscribe("s", S(5))
    network.settle()
    assert sent(network, "s", "m") == []
    network.check()


def test_what_no_advertisement_is_left_for_is_withdrawn_in_one_operation_a_top() -> None:
    network = line()
    for wanted in (NARROW, S(2), WIDE, OTHER):
        network.subscribe("s", wanted)
    network.advertise("p", "a", S(1, 2))
    network.advertise("p", "b", S(4))
    network.settle()
    network.sent.clear()
    network.unadvertise("p", "a")
    network.settle()
    assert sent(network, "s", "m") == [(Triple(WIDE, 0, -2),), (Triple(WIDE, -1, 0),)]
    network.unadvertise("p", "b")
    network.settle()
    assert sent(network, "s", "m") == [(Triple(OTHER, -1, 0),)]
    network.check()
    assert network.is_empty()


def test_what_stays_advertised_for_stays_when_what_covers_it_is_withdrawn() -> None:
    network = line()
    network.subscribe("s", NARROW)
    network.subscribe("s", WIDE)
    network.advertise("p", "a", S(3))
    network.advertise("p", "b", S(1))
    network.settle()
    network.sent.clear()
    network.unadvertise("p", "b")
    network.settle()
    assert sent(network, "s", "m") == [(Triple(WIDE, 0, -1),)]
    network.unsubscribe("s", WIDE)
    network.settle()
    assert sent(network, "s", "m") == [(Triple(WIDE, -1, 0),)], "nobody advertises for the other"
    network.check()


def test_a_filter_counts_what_it_hides_where_that_is_not_wanted() -> None:
    """Two producers: what one of them is told to hide is counted, and canceled, for the other."""
    network = Advertising([("s", "m"), ("m", "p"), ("m", "q")])
    network.advertise("p", "a", S(2))
    network.advertise("q", "b", S(1))
    network.subscribe("s", NARROW)
    network.subscribe("s", S(3))
    network.settle()
    network.sent.clear()
    network.subscribe("s", WIDE)
    network.settle()
    (told,) = [operation for a, b, operation in network.sent if (a, b) == ("m", "p")]
    assert told == (Triple(WIDE, 1, 1),), "it hides the narrow one, of which p is not told"
    network.sent.clear()
    network.unsubscribe("s", WIDE)
    network.settle()
    assert ("m", "p", (Triple(WIDE, -1, 0),)) in network.sent
    assert ("m", "q", (Triple(WIDE, -1, 0), Triple(NARROW, 1, 0))) in network.sent
    network.check()


def test_what_a_filter_gives_back_to_another_is_told_although_it_was_not_wanted() -> None:
    """(S1; 0; 1) comes with the end of Q, which p never heard of, and belongs to S1."""
    network = Advertising([("s", "m"), ("t", "m"), ("m", "n"), ("n", "p"), ("n", "q")])
    q, s1, s2 = S(1, 2, 3), S(1, 5), S(1)
    network.advertise("p", "a", S(5))
    network.advertise("q", "b", S(0, 1, 2, 3, 4, 5))
    network.subscribe("t", s1)
    network.subscribe("s", s2)
    network.settle()
    network.subscribe("s", q)
    network.settle()
    network.check()
    network.sent.clear()
    network.unsubscribe("s", q)
    network.settle()
    assert [o for a, b, o in network.sent if (a, b) == ("m", "n")] == [
        (Triple(q, -1, 0), Triple(s1, 0, 1)),
    ]
    assert [o for a, b, o in network.sent if (a, b) == ("n", "p")] == [(Triple(s1, 0, 1),)]
    network.check()


class Churn(RuleBasedStateMachine):
    """Subscriptions, advertisements and links come and go at random, between random messages."""

    make_index: Callable[[], CoveringIndex[Any]] = staticmethod(ReferenceCovering)
    is_transitive = True
    rash = False

    def __init__(self) -> None:
        super().__init__()
        self.random = Random(0)
        self.network = Advertising(random_tree(self.random, 5), self.make_index)
        self.origins = [*self.network.nodes]
        self.cut: list[tuple[str, str]] = []
        self.asked: list[tuple[str, Interest]] = []
        self.promises: list[tuple[str, str]] = []
        self.made = 0

    sets = st.sets(st.sampled_from(NUMBERS), min_size=1)
    nodes = st.integers(0, 4)

    @rule(node=nodes, numbers=sets)
    def subscribe(self, node: int, numbers: set[int]) -> None:
        wanted = S(*numbers)
        self.network.subscribe(f"n{node}", wanted)
        self.asked.append((f"n{node}", wanted))

    @precondition(lambda self: self.asked)
    @rule(number=st.integers(0, 99))
    def unsubscribe(self, number: int) -> None:
        self.network.unsubscribe(*self.asked.pop(number % len(self.asked)))

    @rule(node=nodes, numbers=sets)
    def advertise(self, node: int, numbers: set[int]) -> None:
        self.made += 1
        content = Rash(S(*numbers)) if self.rash else S(*numbers)
        self.network.advertise(f"n{node}", f"a{self.made}", content)
        self.promises.append((f"n{node}", f"a{self.made}"))

    @precondition(lambda self: self.promises)
    @rule(number=st.integers(0, 99))
    def unadvertise(self, number: int) -> None:
        self.network.unadvertise(*self.promises.pop(number % len(self.promises)))

    @rule(steps=st.integers(1, 8))
    def deliver(self, steps: int) -> None:
        for _ in range(steps):
            self.network.step(self.random)

    @precondition(lambda self: self.network.links)
    @rule(number=st.integers(0, 99))
    def break_link(self, number: int) -> None:
        link = self.network.links[number % len(self.network.links)]
        self.network.cut(*link)
        self.cut.append(link)

    @precondition(lambda self: self.cut)
    @rule()
    def mend_link(self) -> None:
        # What was under way behind it has to have come, or else its keys would be there twice.
        self.network.settle()
        self.network.join(*self.cut.pop())

    @rule()
    def look(self) -> None:
        self.network.settle()
        self.network.check(is_transitive=self.is_transitive)
        self.network.check_routing(self.origins)

    def teardown(self) -> None:
        self.look()
        for name, key in self.promises:
            self.network.unadvertise(name, key)
        self.network.settle()
        for node in self.network.nodes.values():
            assert all(not one.counts for side, one in node.interfaces.items() if side != CLIENTS)
            assert all(not view.entries for view in node.views.values())


class ColumnarChurn(Churn):
    make_index = staticmethod(ColumnarCovering)


class ForgetfulChurn(Churn):
    """The index finds some covers only, the same ones at both ends of a link."""

    make_index = staticmethod(Forgetful)
    is_transitive = False


class RashChurn(Churn):
    """Advertisements say of some that they are wanted which are not."""

    rash = True


@pytest.mark.parametrize("churn", [Churn, ColumnarChurn, ForgetfulChurn, RashChurn])
def test_views_hold_what_is_wanted_under_churn(churn: type[Churn]) -> None:
    case = churn.TestCase
    case.settings = settings(max_examples=examples(8), stateful_step_count=40, deadline=None)
    case().runTest()


class Only:
    """Advertised content that says of one filter alone that it is intersected."""

    def __init__(self, wanted: Interest) -> None:
        self.wanted = wanted

    def intersects(self, other: Interest) -> bool:
        return other == self.wanted


def test_where_only_what_is_covered_counts_as_wanted_it_goes_and_comes_with_what_covers_it() -> (
    None
):
    view = WantedView(Containment(ReferenceCovering()))
    clients, side = Interface(), Interface(Containment(ReferenceCovering()))
    only: Any = Only(NARROW)
    assert view.advertised("a", only, []) == []
    registered = (Triple(NARROW, 2, 0),)
    assert view.take(side.book(registered)) == [registered]
    assert view.take(side.book((Triple(WIDE, 1, 0),))) == [(Triple(NARROW, -2, 0),)]
    view.validate([clients.counts, side.counts])
    returned = (Triple(WIDE, -1, 0), Triple(NARROW, 2, 0), Triple(S(3), 1, 0))
    assert view.take(side.book(returned)) == [(Triple(NARROW, 2, 0),)]
    view.validate([clients.counts, side.counts])


def test_a_view_says_where_it_is_not_what_it_should_be() -> None:
    def view() -> WantedView:
        made = WantedView(Containment(ReferenceCovering()))
        made.advertised("a", parse_filter("e = 1"), [(NARROW, Count(1, 0))])
        made.advertised("b", parse_filter("e < 3"), [(NARROW, Count(1, 0))])
        made.validate([{NARROW: Count(1, 0), OTHER: Count(2, 0)}])
        return made

    spoiled = view()
    spoiled._reasons[OTHER] = "a"
    with pytest.raises(InvariantError, match="has a reason"):
        spoiled.validate([{NARROW: Count(1, 0)}])
    spoiled = view()
    spoiled._reasons[NARROW] = "c"
    with pytest.raises(InvariantError, match="which is gone"):
        spoiled.validate([{NARROW: Count(1, 0)}])
    spoiled = view()
    spoiled.advertisements["a"] = S(5)
    with pytest.raises(InvariantError, match="which is apart from it"):
        spoiled.validate([{NARROW: Count(1, 0)}])
    with pytest.raises(InvariantError, match="other advertisements"):
        spoiled.check_advertisements({"a": S(5)})
    with pytest.raises(InvariantError, match="exactly what its interfaces know"):
        view().validate([{NARROW: Count(1, 0), S(2): Count(1, 0)}])
