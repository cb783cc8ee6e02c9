"""XSiena's properties of posets at a broker (P11, L1326-1339), on routing by coverage (2.5).

A broker keeps each filter with the interface it came from. It drops one that the same interface has
covered already, and forgets those of the same interface that a newcomer covers. A filter is
forwarded to the interfaces other than its own that no covering filter was forwarded to.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.published.posets.nesting import boxes

INTERFACES = frozenset(range(3))


class Broker:
    """The filters of a broker in a poset; equal ones share a node with a set of interfaces."""

    def __init__(self) -> None:
        self.poset = HasseDiagram()
        self.nodes: dict[Filter, int] = {}
        self.sources: dict[int, set[int]] = {}
        self.taken = 0

    def subscribe(self, wanted: Filter, source: int) -> None:
        own = [(f, n) for f, n in self.nodes.items() if source in self.sources[n]]
        if any(f.covers(wanted) for f, _ in own):
            return
        for f, node in own:
            if wanted.covers(f):
                self.sources[node].remove(source)
                if not self.sources[node]:
                    self.poset.remove(node)
                    del self.nodes[f], self.sources[node]
        if wanted not in self.nodes:
            self.nodes[wanted] = self.taken
            self.sources[self.taken] = set()
            self.poset.add(self.taken, wanted)
            self.taken += 1
        self.sources[self.nodes[wanted]].add(source)

    def above(self, node: int) -> set[int]:
        parents = set(self.poset.parents(node))
        return parents.union(*(self.above(parent) for parent in parents))

    def depth(self, node: int) -> int:
        return 1 + max((self.depth(parent) for parent in self.poset.parents(node)), default=0)

    def forwarded(self) -> dict[int, set[int]]:
        """Node -> the interfaces it is forwarded to (equation 2.31, widest filters first)."""
        result: dict[int, set[int]] = {}
        for node in sorted(self.sources, key=self.depth):
            done = set().union(*(result[other] for other in self.above(node)))
            result[node] = set()
            for source in sorted(self.sources[node]):
                result[node] |= INTERFACES - {source} - done
        return result


@given(st.lists(st.tuples(boxes(), st.sampled_from(sorted(INTERFACES))), max_size=14))
@settings(max_examples=examples(150))
def test_a_broker_s_poset_is_shallow_and_forwards_near_its_roots_only(
    arrivals: list[tuple[Filter, int]],
) -> None:
    broker = Broker()
    for wanted, source in arrivals:
        broker.subscribe(wanted, source)
        broker.poset.validate()
    for node in broker.sources:
        for other in broker.above(node):  # property 1
            assert not broker.sources[node] & broker.sources[other]
        assert broker.depth(node) <= len(INTERFACES)  # property 2
    for node, interfaces in broker.forwarded().items():  # property 3
        assert not interfaces or broker.depth(node) <= 2
