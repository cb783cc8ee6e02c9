"""The similarity graph: properties PT19 to PT26 of the work, on interests with exact similarity."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InputError, InvariantError, UnknownIdError
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.probing import merged, reduced_probe
from sapwood.overlay.semantic.graph.proximity import Proximities
from sapwood.overlay.semantic.graph.state import OWN
from sapwood.overlay.semantic.hierarchy.options import Departure
from sapwood.overlay.semantic.interests import Interests
from sapwood.similarity.boxes import box_similarity
from tests.overlay.semantic.universe import FILTERS, SIZE, Bits

SEEDS = st.integers(0, 2**20)
MANY = st.lists(FILTERS, min_size=1, max_size=25)
CHOICES = st.builds(
    GraphOptions,
    closest=st.integers(1, 4),
    random=st.integers(0, 2),
    flooded=st.booleans(),
)


def share(one: Bits, other: Bits) -> float:
    return (one.bits & other.bits).bit_count() / one.bits.bit_count()


def grown(filters: list[Bits], options: GraphOptions, seed: int) -> SimilarityGraph[Bits]:
    graph = SimilarityGraph(share, options)
    random = Random(seed)
    for one in filters:
        graph.join(one, random)
        graph.validate()
    return graph


@st.composite
def changed(draw: st.DrawFn) -> SimilarityGraph[Bits]:
    """A graph after any joins, leaves and crashes."""
    graph, random = SimilarityGraph(share, draw(CHOICES)), Random(draw(SEEDS))
    for one in draw(MANY):
        graph.join(one, random)
        peers = list(graph.state)
        match draw(st.integers(0, 5)):
            case 0:
                graph.leave(random.choice(peers), random, draw(st.sampled_from(Departure)))
            case 1:
                graph.crash(random.sample(peers, random.randint(1, len(peers))), random)
        graph.validate()
    return graph


@given(changed())
def test_both_ends_of_each_link_agree_whatever_happened(graph: SimilarityGraph[Bits]) -> None:
    """PT21: `validate` ran after each change; counts are within bounds."""
    for peer in graph.state:
        assert len(graph.state.closest_of(peer)) <= graph.options.closest
        assert len(graph.state.random_of(peer)) <= graph.options.random


@given(MANY, SEEDS, st.integers(1, 4), st.integers(0, 2))
def test_each_peer_has_the_best_scores_there_are(
    filters: list[Bits], seed: int, closest: int, by_chance: int
) -> None:
    """PT20, by brute force over all others."""
    graph = grown(filters, GraphOptions(closest=closest, random=by_chance), seed)
    for peer in graph.state:
        own = filters[peer]
        scores = sorted(
            (
                (share(own, one) + share(one, own)) / 2
                for at, one in enumerate(filters)
                if at != peer
            ),
            reverse=True,
        )
        found = [score for score in graph.state.scores[peer].tolist() if score >= 0]
        assert found == pytest.approx(scores[:closest], abs=1e-6)


def test_degrees_are_between_one_and_two_links_for_each_choice() -> None:
    """PT22."""
    random = Random(3)
    filters = [Bits(random.randrange(1, 2**SIZE)) for _ in range(300)]
    graph = grown(filters[:40], GraphOptions(closest=5, random=1), 3)
    for one in filters[40:]:
        graph.join(one, random)
    degrees = [len(graph.state.of(peer)) for peer in graph.state]
    assert 6 <= np.mean(degrees) <= 12
    assert min(degrees) >= 6


@given(MANY, FILTERS, SEEDS)
def test_merged_answers_say_what_all_answers_say(filters: list[Bits], one: Bits, seed: int) -> None:
    """PT23: one message comes back in the place of one for each peer."""
    options = GraphOptions(closest=3, random=2, flooded=True)
    graph = grown(filters, options, seed)
    row = graph.proximities.row(graph.interests.number(one))
    scores = row[graph.state.interest[: len(filters)]]
    keys = np.random.default_rng(seed).random(len(filters))
    best, by_chance, _ = reduced_probe(graph.state, scores, keys, 0, options)
    assert (best, by_chance) == merged(graph.state, scores, keys, range(len(filters)), options)


def test_neighbors_by_chance_are_drawn_evenly_from_the_rest() -> None:
    """PT23: each of the 18 others is taken about as often, within five deviations."""
    taken: Counter[int] = Counter()
    graph = grown([Bits(1 + number) for number in range(20)], GraphOptions(closest=2, random=0), 0)
    scores = np.linspace(0, 1, 20).astype(np.float32)
    for seed in range(1800):
        keys = np.random.default_rng(seed).random(20)
        options = GraphOptions(closest=2, random=1)
        best, by_chance = merged(graph.state, scores, keys, range(20), options)
        assert best == [19, 18]
        taken.update(by_chance)
    assert set(taken) == set(range(18))
    assert all(abs(count - 100) < 50 for count in taken.values())


@given(MANY, SEEDS, st.integers(0, SIZE - 1))
def test_more_forwarding_by_chance_and_more_indulgence_reach_more(
    filters: list[Bits], seed: int, publication: int
) -> None:
    """PT24, PT25 and PT26."""
    graph = grown(filters, GraphOptions(closest=2, random=2), seed)
    wanted = {peer for peer, one in enumerate(filters) if one.accepts(publication)}
    reached: list[set[int]] = []
    for rho, gamma in ((0.0, 0), (0.5, 0), (1.0, 0), (1.0, 2)):
        graph.options = GraphOptions(closest=2, random=2, forwarding=rho, indulgence=gamma)
        way = graph.spread(wanted.__contains__, Random(seed))
        publisher = next(iter(way.came_from))
        reached.append(set(way.received))
        if not gamma:
            for sender in way.came_from.values():
                assert sender == publisher or sender in wanted
    assert reached[0] <= reached[1] <= reached[2] <= reached[3]
    everybody = GraphOptions(closest=2, random=2, indulgence=len(filters))
    graph.options = everybody
    assert set(graph.spread(wanted.__contains__, Random(seed)).received) >= reached[3]


def test_without_random_links_nothing_goes_over_them() -> None:
    """Two communities, joined by random links alone: rho = 0 keeps them apart."""
    filters = [Bits(0b000111), Bits(0b111000)] * 10
    graph = grown(filters, GraphOptions(closest=2, random=1, forwarding=0.0), 1)
    way = graph.spread(lambda _: True, Random(1), publisher=19)
    reached = {peer % 2 for peer in way.received if peer > 5}
    graph.options = GraphOptions(closest=2, random=1)
    assert set(graph.spread(lambda _: True, Random(1), publisher=19).received) > set(way.received)
    assert reached <= {0, 1}


@given(FILTERS, FILTERS)
def test_the_proximity_is_symmetric_and_remembered(one: Bits, other: Bits) -> None:
    """PT19."""
    interests: Interests[Bits] = Interests()
    first, second = interests.number(one), interests.number(other)
    rows = Proximities(interests, share)
    mean = (share(one, other) + share(other, one)) / 2
    assert rows.row(first)[second] == np.float32(mean)
    assert rows.row(second)[first] == np.float32(mean)
    assert rows.row(first)[first] == 1
    third = interests.number(Bits(2**SIZE - 1))
    assert len(rows.row(first)) == third + 1 or third < 2


def test_a_similarity_is_a_share() -> None:
    interests: Interests[Bits] = Interests()
    interests.number(Bits(1))
    interests.number(Bits(2))
    with pytest.raises(InputError, match="between 0 and 1"):
        Proximities(interests, lambda _one, _other: 2.0).row(0)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a between 0 and 10", "a between 5 and 10", 0.5),
        ("a between 5 and 10", "a between 0 and 10", 1.0),
        ("a between 0 and 1", "a between 2 and 3", 0.0),
        ("a in ('x', 'y', 'z', 'u')", "a in ('x', 'y')", 0.5),
        ("a > 1", "a > 2", 0.5),
        ("a between 0 and 10", "b = 1", 0.5),
        ("a between 0 and 10", "a between 0 and 5 and b = 1", 0.25),
        ("a between 0 and 10 or b = 1", "b = 1", 0.75),
        ("b = 1", "a between 0 and 10 or b = 1", 1.0),
        ("a = 1 and a = 2", "a = 1", 1.0),
        ("a = 1", "a = 1 and a = 2", 0.0),
    ],
)
def test_boxes_are_similar_by_the_share_of_one_in_the_other(
    one: str, other: str, expected: float
) -> None:
    assert box_similarity(parse_filter(one), parse_filter(other)) == pytest.approx(expected)


def test_damage_is_found_and_choices_have_bounds() -> None:
    options = GraphOptions(closest=2, random=1)
    for damage, what in (
        (lambda state: state.of(0).popitem(), "degree|ends|choose"),
        (lambda state: state.of(0).update({1: state.of(0)[1] ^ OWN}), "ends|choose"),
        (lambda state: state.scores[0].sort(), "order"),
        (lambda state: state.degree.__setitem__(0, 99), "degree"),
        (lambda state: setattr(state, "peers", 1), "counted"),
        (lambda state: state.chosen.__setitem__((0, 0), 5), "choose"),
    ):
        graph = grown([Bits(0b11), Bits(0b11), Bits(0b10), Bits(0b111), Bits(1)], options, 0)
        damage(graph.state)
        with pytest.raises(InvariantError, match=what):
            graph.validate()
    with pytest.raises(UnknownIdError):
        graph.leave(77, Random(0))
    with pytest.raises(InputError, match="one closest"):
        GraphOptions(closest=0)
    with pytest.raises(InputError, match="between 0 and 1"):
        GraphOptions(forwarding=1.5)
