"""Links in arrays: who gets a publication is who gets it message by message."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.overlay.semantic.graph import spreading
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.proximity import KnownProximities
from sapwood.overlay.semantic.graph.spreading import Links, spread_in_graph
from sapwood.overlay.semantic.graph.state import RANDOM
from tests.overlay.semantic.universe import FILTERS, SIZE, Bits


def alike(one: Bits, other: Bits) -> float:
    return (one.bits & other.bits).bit_count() / one.bits.bit_count()


@given(
    st.lists(FILTERS, min_size=1, max_size=30),
    st.sampled_from((0.0, 0.5, 1.0)),
    st.integers(0, 2**64 - 1),
    st.booleans(),
)
def test_arrays_reach_whom_messages_reach(
    filters: list[Bits], forwarding: float, seed: int, one_way: bool
) -> None:
    options = GraphOptions(closest=2, random=1, forwarding=forwarding, one_way=one_way)
    graph: SimilarityGraph[Bits] = SimilarityGraph(alike, options)
    random = Random(seed)
    for one in filters:
        graph.join(one, random)
    if len(filters) > 3:
        graph.crash([1], random)
    links, peers = Links(graph.state), list(graph.state)
    for publication in range(SIZE):
        wanting = np.zeros(len(filters), np.bool_)
        for peer in peers:
            wanting[peer] = graph.interests[graph.interest(peer)].accepts(publication)
        publisher = random.choice(peers)
        way = spread_in_graph(graph.state, options, wanting.__getitem__, publisher, seed)
        found = links.received(wanting, publisher, seed, forwarding, one_way=one_way)
        assert np.flatnonzero(found).tolist() == sorted(way.received)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**20), st.integers(0, 2**20))
def test_coins_are_the_same_in_arrays(seed: int, sender: int, receiver: int) -> None:
    coins = spreading._coins(seed, np.array([sender]), np.array([receiver]))
    assert coins.tolist() == [spreading._coin(seed, sender, receiver)]


def test_a_graph_by_known_proximities_is_the_same_graph() -> None:
    random = Random(3)
    filters = [Bits(random.randrange(1, 2**SIZE)) for _ in range(40)]
    numbers = list(dict.fromkeys(filters))
    square = np.array(
        [[(alike(a, b) + alike(b, a)) / 2 for b in numbers] for a in numbers], np.float32
    )
    known = KnownProximities(square)
    graphs: list[SimilarityGraph[Bits]] = [SimilarityGraph(alike), SimilarityGraph(known)]
    for graph in graphs:
        draws = Random(1)
        for one in filters:
            graph.join(one, draws)
    assert graphs[0].state.links == graphs[1].state.links
    with pytest.raises(InputError, match="none number"):
        known.row(len(numbers))
    with pytest.raises(InputError, match="as many rows as columns"):
        KnownProximities(square[:2])


def test_a_random_link_of_one_way_carries_to_the_chosen_peer_alone() -> None:
    """Two peers that want different things are linked by chance only, by the one that came last."""
    options = GraphOptions(closest=1, random=1, one_way=True)
    state = SimilarityGraph(alike, options).state
    for _ in range(2):
        state.new(0)
    state.link(1, 0, RANDOM)
    for publisher, received in ((1, [0, 1]), (0, [0])):
        way = spread_in_graph(state, options, lambda _: True, publisher, 1)
        assert sorted(way.received) == received
        found = Links(state).received(np.ones(2, np.bool_), publisher, 1, one_way=True)
        assert np.flatnonzero(found).tolist() == received
