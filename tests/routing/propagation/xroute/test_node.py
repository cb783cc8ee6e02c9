"""XRoute as a whole: the thesis' examples to the triple, and its invariants on random networks."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from sapwood.covering.columnar import ColumnarCovering
from sapwood.covering.published.counting import CountingCovering
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.propagation.xroute.triples import Operation
from tests.examples import examples
from tests.routing.propagation.xroute.networks import NUMBERS, Forgetful, Network, S, random_tree

Letters = dict[Interest, str]


def spelled(operation: Operation, letters: Letters) -> list[tuple[str, int, int]]:
    """The first triple, then the others in alphabetical order: theirs is left open."""
    main, *rest = [(letters[t.filter], t.instances, t.hidden) for t in operation]
    return [main, *sorted(rest)]


def said(network: Network, letters: Letters, sender: str, receiver: str) -> list[list[object]]:
    """The operations that went over a link since `sent` was last cleared."""
    found = [spelled(o, letters) for a, b, o in network.sent if (a, b) == (sender, receiver)]
    return [list(operation) for operation in found]


def table(network: Network, letters: Letters, name: str, side: str) -> dict[str, tuple[int, int]]:
    counts = network.nodes[name].interfaces[side].counts
    return {letters[f]: (count.instances, count.hidden) for f, count in counts.items()}


def trees(
    network: Network, letters: Letters, name: str, neighbor: str
) -> dict[str, tuple[int, str | None]]:
    """R and P of each entry of a view."""
    entries = network.nodes[name].views[neighbor].entries
    return {
        letters[f]: (e.hidden, None if e.substitute is None else letters[e.substitute.filter])
        for f, e in entries.items()
    }


def example() -> tuple[Network, Letters]:
    """Figure 4.7: consumers at C1, C2 and Cx below N1, below N3, below the producer."""
    letters: Letters = {S(1, 9): "S1", S(1): "S2", S(2): "S3", S(1, 2, 3): "Q"}
    told = {"C1": "N1", "C2": "N1", "Cx": "N1", "N1": "N3", "N3": "P"}
    links = [("C1", "N1"), ("C2", "N1"), ("Cx", "N1"), ("N1", "N3"), ("N3", "P")]
    network = Network(links, told=told)
    network.subscribe("C1", S(1, 9), 2)
    network.subscribe("C2", S(1), 3)
    network.subscribe("Cx", S(2))
    network.settle()
    return network, letters


def test_xroute_registers_a_wider_subscription_as_in_the_thesis() -> None:
    network, letters = example()
    before = {
        ("N1", "C1"): {"S1": (2, 0)},
        ("N1", "C2"): {"S2": (3, 0)},
        ("N1", "Cx"): {"S3": (1, 0)},
        ("N3", "N1"): {"S1": (2, 3), "S3": (1, 0)},
    }
    assert {at: table(network, letters, *at) for at in before} == before
    assert trees(network, letters, "N1", "N3") == {
        "S1": (3, None),
        "S2": (0, "S1"),
        "S3": (0, None),
    }
    network.sent.clear()
    network.subscribe("C2", S(1, 2, 3))
    network.settle()
    assert said(network, letters, "C2", "N1") == [[("Q", 1, 0)]]
    assert said(network, letters, "N1", "N3") == [[("Q", 1, 3), ("S1", 0, -3)]]
    assert said(network, letters, "N3", "P") == [[("Q", 1, 3), ("S1", 0, -3)]]
    assert trees(network, letters, "C2", "N1") == {"S2": (0, "Q"), "Q": (3, None)}
    assert trees(network, letters, "N1", "N3") == {
        "S1": (0, None),
        "S3": (0, "Q"),
        "Q": (4, None),
    }
    assert table(network, letters, "N1", "C2") == {"Q": (1, 3)}
    assert table(network, letters, "N3", "N1") == {"S1": (2, 0), "Q": (1, 4)}
    assert trees(network, letters, "N3", "P") == {"S1": (0, None), "Q": (4, None)}

    network.sent.clear()
    network.unsubscribe("C2", S(1, 2, 3))
    network.settle()
    assert said(network, letters, "C2", "N1") == [[("Q", -1, 0), ("S2", 3, 0)]]
    back = [[("Q", -1, 0), ("S1", 0, 3), ("S3", 1, 0)]]
    assert said(network, letters, "N1", "N3") == back
    assert said(network, letters, "N3", "P") == back
    assert {at: table(network, letters, *at) for at in before} == before


def test_xroute_serves_two_producers_as_in_the_thesis() -> None:
    """Figures 4.11 to 4.13, every message of the six steps."""
    letters: Letters = {S(1): "S2", S(1, 2): "S1", S(1, 2, 3): "S3", S(1, 2, 4): "S4"}
    links = [("C1", "N1"), ("C2", "N2"), ("N1", "N2"), ("N1", "P1"), ("N2", "P2")]
    network = Network(links)
    watched = (("N1", "P1"), ("N1", "N2"), ("N2", "P2"), ("N2", "N1"))

    def step(home: str, letter: str, *, cancel: bool = False) -> list[list[list[object]]]:
        network.sent.clear()
        filter_ = next(f for f, name in letters.items() if name == letter)
        (network.unsubscribe if cancel else network.subscribe)(home, filter_)
        network.settle()
        network.check()
        return [said(network, letters, *link) for link in watched]

    s1, s2, s3, s4 = "S1", "S2", "S3", "S4"
    assert step("C2", s1) == [[[(s1, 1, 0)]], [], [[(s1, 1, 0)]], [[(s1, 1, 0)]]]
    assert step("C1", s2) == [[[(s1, 0, 1)]], [[(s2, 1, 0)]], [[(s1, 0, 1)]], []]
    inner = (("N1", "N2"), ("N2", "N1"), ("N1", "C1"), ("N2", "C2"))
    then = {at: table(network, letters, *at) for at in inner}
    trees_then = {link: trees(network, letters, *link) for link in watched}
    assert step("C2", s3) == [[[(s3, 1, 0)]], [], [[(s3, 1, 0)]], [[(s3, 1, 0)]]]
    moved = [[(s4, 1, 1), (s3, 0, -1)]]
    assert step("C1", s4) == [moved, [[(s4, 1, 0)]], moved, []]
    assert step("C2", s3, cancel=True) == [
        [[(s3, -1, 0), (s4, 0, 1)]],
        [],
        [[(s3, -1, 0), (s4, 0, 1)]],
        [[(s3, -1, 0), (s1, 1, 0)]],
    ]
    assert step("C1", s4, cancel=True) == [
        [[(s4, -1, 0), (s1, 1, 1)]],
        [[(s4, -1, 0), (s2, 1, 0)]],
        [[(s4, -1, 0), (s1, 1, 1)]],
        [],
    ]
    assert {link: trees(network, letters, *link) for link in watched} == trees_then
    assert {at: table(network, letters, *at) for at in inner} == then


def drive(
    network: Network, generator: Random, steps: int, *, is_calm: bool, is_transitive: bool = True
) -> None:
    """Churn, with links that fail and return, in any order of messages or one change at a time."""
    names, gone = list(network.nodes), list[tuple[str, str]]()
    for _ in range(steps):
        name, act = generator.choice(names), generator.random()
        live = sorted((f for f, n in network.clients[name].items() if n), key=str)
        if act < 0.04 and network.links:
            gone.append(generator.choice(network.links))
            network.cut(*gone[-1])
        elif act < 0.1 and gone:
            network.join(*gone.pop(generator.randrange(len(gone))))
        elif act < 0.5 and live:
            network.unsubscribe(name, generator.choice(live))
        else:
            size = generator.choice((1, 1, 2, 2, 3, 4, 6))
            wanted = S(*generator.sample(NUMBERS, size))
            network.subscribe(name, wanted, generator.choice((1, 1, 3)))
        if is_calm:
            network.settle()
            network.check(is_transitive=is_transitive)
        else:
            for _ in range(generator.randrange(4)):
                network.step(generator)
    network.settle()
    network.check(is_transitive=is_transitive)
    network.check_routing(names)
    for link in gone:
        network.join(*link)
    network.settle()
    network.check(is_transitive=is_transitive)
    network.check_routing(names)


def drain(network: Network, generator: Random) -> None:
    """Everybody leaves, and nothing is left."""
    left = [(name, f) for name, wanted in network.clients.items() for f in wanted.elements()]
    generator.shuffle(left)
    for name, wanted in left:
        network.unsubscribe(name, wanted)
        network.step(generator)
    network.settle()
    network.check()
    assert network.is_empty()


@pytest.mark.parametrize("is_calm", [True, False])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.one_in(3)
def test_xroute_keeps_every_invariant_under_churn(seed: int, is_calm: bool) -> None:
    """Mirror, minimal tables, conservation, perfect routing, and nothing left at the end."""
    generator = Random(f"{seed}/{is_calm}")
    make_index = (ColumnarCovering, CountingCovering)[seed % 2]
    network = Network(random_tree(generator, generator.randint(2, 8)), make_index=make_index)
    drive(network, generator, 60 if is_calm else 150, is_calm=is_calm)
    drain(network, generator)


def test_xroute_routes_perfectly_where_covers_are_not_found_transitively() -> None:
    """More is told than need be, sometimes in more than one operation, and nothing is wrong."""
    operations = 0
    for seed in range(8):
        generator = Random(f"{seed}/forgetful")
        network = Network(random_tree(generator, 6), make_index=Forgetful)
        drive(network, generator, 80, is_calm=seed % 2 == 0, is_transitive=False)
        operations += network.compound
        drain(network, generator)
    assert operations > 0, "nothing was ever told in two operations"


def test_xroute_comes_to_the_same_tables_whatever_comes_first() -> None:
    """Instances and who stands above whom do not depend on the order; only what hides what does."""
    generator = Random("orders")
    links = random_tree(generator, 5)
    asked = [
        (f"n{generator.randrange(5)}", S(*generator.sample(NUMBERS, generator.choice((1, 2, 3)))))
        for _ in range(25)
    ]
    found = []
    for _ in range(4):
        generator.shuffle(asked)
        network = Network(links)
        for name, wanted in asked:
            network.subscribe(name, wanted)
            network.step(generator)
        network.settle()
        network.check()
        found.append(
            {
                (name, side): {f: count.instances for f, count in interface.counts.items()}
                for name, node in network.nodes.items()
                for side, interface in node.interfaces.items()
            }
        )
    assert all(tables == found[0] for tables in found)


def test_xroute_restores_what_was_when_a_registration_is_canceled() -> None:
    """Cancel transparency: neighbors know again what they knew."""
    generator = Random("transparent")
    network = Network(random_tree(generator, 5))
    drive(network, generator, 40, is_calm=False)
    for _ in range(20):
        before = [
            {f: count.instances for f, count in interface.counts.items()}
            for node in network.nodes.values()
            for interface in node.interfaces.values()
        ]
        name, wanted = f"n{generator.randrange(5)}", S(*generator.sample(NUMBERS, 3))
        network.subscribe(name, wanted)
        network.settle()
        network.unsubscribe(name, wanted)
        network.settle()
        network.check()
        assert before == [
            {f: count.instances for f, count in interface.counts.items()}
            for node in network.nodes.values()
            for interface in node.interfaces.values()
        ]


def test_xroute_tells_a_single_producer_what_it_tells_one_of_many() -> None:
    """Upstream of one producer the messages are the same, whoever else may publish (M4)."""
    generator = Random("one")
    links = [(f"n{i}", f"n{(i - 1) // 2}") for i in range(1, 7)]
    one = Network(links, told=dict(links))
    many = Network(links)
    for _ in range(60):
        name = generator.choice(("n3", "n4", "n5", "n6"))
        live = sorted((f for f, n in one.clients[name].items() if n), key=str)
        cancels = live and generator.random() < 0.45
        wanted = generator.choice(live) if cancels else S(*generator.sample(NUMBERS, 2))
        for network in (one, many):
            (network.unsubscribe if cancels else network.subscribe)(name, wanted)
            network.settle()
            network.check()
        upstream = [sent for sent in many.sent if sent[:2] in links]
        assert one.sent == upstream
    assert len(one.sent) == 120, "every change travels two links, as one message each"


def test_xroute_does_not_search_for_duplicates_and_partial_cancellations() -> None:
    """Property R20 of the thesis: those cost no containment test."""
    asked: list[AdvertisedContent] = []

    class Counting(ReferenceCovering):
        def cov(self, filter: AdvertisedContent, limit: int) -> list[int]:
            asked.append(filter)
            return super().cov(filter, limit)

        def covered(self, filter: AdvertisedContent) -> list[int]:
            asked.append(filter)
            return super().covered(filter)

    network = Network([("n0", "n1"), ("n1", "n2")], make_index=Counting)
    for wanted in (S(0), S(0, 1), S(2)):
        network.subscribe("n0", wanted, 2)
    network.settle()
    asked.clear()
    network.subscribe("n0", S(0))
    network.unsubscribe("n0", S(0, 1))
    network.settle()
    assert asked == [], "equal ones are known everywhere, and remain"
    network.unsubscribe("n0", S(0))
    network.unsubscribe("n0", S(0))
    network.unsubscribe("n0", S(0))
    network.settle()
    assert asked == [], "another one stood for it"
    network.unsubscribe("n0", S(0, 1))
    network.settle()
    network.check()


def test_node_validate_notices_a_view_of_nobody() -> None:
    network = Network([("n0", "n1")])
    del network.nodes["n0"].interfaces["n1"]
    with pytest.raises(InvariantError, match="no neighbor"):
        network.nodes["n0"].validate()


class ChurnMachine(RuleBasedStateMachine):
    """Three nodes in a line, and what may happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.network = Network([("n0", "n1"), ("n1", "n2")])
        self.gone: list[tuple[str, str]] = []

    homes = st.sampled_from(("n0", "n1", "n2"))
    wants = st.sets(st.integers(0, 3), min_size=1).map(lambda numbers: S(*sorted(numbers)))

    @rule(home=homes, wanted=wants)
    def subscribe(self, home: str, wanted: Filter) -> None:
        self.network.subscribe(home, wanted)

    @rule(home=homes, wanted=wants)
    def unsubscribe(self, home: str, wanted: Filter) -> None:
        if self.network.clients[home][wanted]:
            self.network.unsubscribe(home, wanted)

    @rule(seed=st.integers(0, 9))
    def move_a_message(self, seed: int) -> None:
        self.network.step(Random(seed))

    @precondition(lambda self: self.network.links)
    @rule(at=st.integers(0, 1))
    def cut(self, at: int) -> None:
        self.gone.append(self.network.links[at % len(self.network.links)])
        self.network.cut(*self.gone[-1])

    @precondition(lambda self: self.gone)
    @rule()
    def join(self) -> None:
        self.network.join(*self.gone.pop())

    @rule()
    def rest(self) -> None:
        self.network.settle()
        self.network.check()
        self.network.check_routing(("n0", "n1", "n2"))

    def teardown(self) -> None:
        while self.gone:
            self.join()
        self.rest()
        drain(self.network, Random(0))


TestChurn = ChurnMachine.TestCase
TestChurn.settings = settings(max_examples=examples(25), stateful_step_count=25)
