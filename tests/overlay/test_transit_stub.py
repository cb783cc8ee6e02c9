"""Transit-stub graphs: the published numbers, whatever is drawn."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.overlay.transit_stub import transit_stub


@given(st.integers(0, 1000))
def test_transit_stub_has_64_routers_and_24_consumers_with_one_link(seed: int) -> None:
    made = transit_stub(Random(seed).randrange)
    assert len(made.graph.routers) == 64
    assert len(set(made.consumers)) == 24
    assert made.producer not in made.consumers
    assert all(len(made.graph.neighbors(consumer)) == 1 for consumer in made.consumers)
    tree = made.tree
    assert len(tree.links) == 63
    assert set(tree.links) <= set(made.graph.links)


def test_transit_stub_graphs_have_circles_and_depend_on_the_seed() -> None:
    graphs = [transit_stub(Random(seed).randrange).graph for seed in range(10)]
    assert not any(graph.is_tree for graph in graphs)
    assert len({graph.links for graph in graphs}) == 10
    assert graphs[0] == transit_stub(Random(0).randrange).graph
