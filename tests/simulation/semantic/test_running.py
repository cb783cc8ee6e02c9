"""Semantic overlays from the first join to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.options import Departure
from sapwood.overlay.semantic.spreading import Spread
from sapwood.simulation.semantic.churn import Churn, decode_churn
from sapwood.simulation.semantic.protocols import SEMANTIC, is_semantic, semantic_protocol
from sapwood.simulation.semantic.running import SemanticRun, run_semantic

CHURN = (Churn(4, crash=0.3, back=0.5), Churn(8, leave=0.3, departure=Departure.FULL))


def subscriptions(count: int, seed: int = 0) -> list[Subscription]:
    random = Random(seed)
    texts = [f"{random.choice('xy')} > {random.randrange(20)}" for _ in range(count)]
    filters: list[Interest] = [parse_filter(text) for text in texts]
    filters[::5] = [parse_xpath(f"//{random.choice('abc')}") for _ in filters[::5]]
    return [Subscription(f"s{number}", one) for number, one in enumerate(filters)]


def publications(count: int, seed: int = 0) -> list[Publication]:
    random = Random(seed)
    return [
        Publication(
            f"p{number}",
            {"x": random.randrange(20)},
            document=f"<{random.choice('abc')}/>".encode(),
        )
        for number in range(count)
    ]


def run(name: str, seed: int = 0) -> SemanticRun:
    return run_semantic(
        semantic_protocol(name), subscriptions(60), publications(12), churn=CHURN, seed=seed
    )


@pytest.mark.parametrize("variant", ["", ":full", ":basic", ":adaptive"])
def test_the_tree_loses_nothing_while_peers_come_and_go(variant: str) -> None:
    result = run(f"semantic-tree{variant}")
    assert result.is_right
    assert result.lost == []
    assert result.accuracy.false_negatives == 0
    assert 0 < result.accuracy.false_positive_ratio < result.accuracy.uninterested_ratio
    assert result.departures.count > 1
    assert result.checked == 12


@pytest.mark.parametrize("name", sorted(SEMANTIC))
def test_one_seed_gives_one_history(name: str) -> None:
    assert run(name, 1).members() == run(name, 1).members()
    assert run(name, 1).members() != run(name, 2).members()


def test_the_graph_may_lose_and_says_how_much() -> None:
    result = run("semantic-graph:1,0")
    assert result.lost
    assert result.accuracy.false_negatives == len(result.lost)
    assert result.is_right
    better = run("semantic-graph:5,2")
    assert better.accuracy.false_negative_ratio < result.accuracy.false_negative_ratio
    wider = run("semantic-graph:5,2,0")
    assert wider.accuracy.false_positives <= better.accuracy.false_positives


class Forgetful(Hierarchy[Interest]):
    """A tree whose peers do not send on what they got: a planted defect."""

    __slots__ = ()

    def spread(self, is_interested: Callable[[int], bool], random: Random) -> Spread:
        """Only the first peers of the way are told."""
        way = super().spread(is_interested, random)
        for peer in list(way.came_from)[3:]:
            del way.came_from[peer]
        return way


@pytest.mark.parametrize("loses", [False, True])
def test_a_loss_is_a_fault_unless_the_overlay_is_approximate(loses: bool) -> None:
    protocol = replace(semantic_protocol("semantic-tree"), make=lambda _: Forgetful(), loses=loses)
    result = run_semantic(protocol, subscriptions(40), publications(5))
    assert result.lost
    assert len(result.lost) == result.accuracy.false_negatives
    assert result.is_right == loses
    # Only some of the publications are checked where there are too many pairs.
    few = run_semantic(protocol, subscriptions(40), publications(5), pairs_max=1)
    assert few.checked == 1


def test_names_have_arguments_where_they_take_any() -> None:
    assert is_semantic("semantic-tree:full")
    assert not is_semantic("covering")
    with pytest.raises(UnknownNameError, match="choice of a tree"):
        semantic_protocol("semantic-tree:quick")
    chosen = semantic_protocol("semantic-graph:3,2,0.5")
    assert (chosen.name, chosen.loses, chosen.exact) == ("semantic-graph:3,2,0.5", True, False)
    assert semantic_protocol("semantic-graph:3,2,1,4,one-way").name.endswith("4,one-way")
    for wrong in ("x", "3,2,1,0,1", ""):
        with pytest.raises(InputError, match="closest neighbors"):
            semantic_protocol(f"semantic-graph:{wrong}")
    with pytest.raises(UnknownNameError, match="protocol"):
        semantic_protocol("covering")


def test_churn_is_read_in_the_order_of_time() -> None:
    found = decode_churn(
        {"churn": [{"after": 9, "leave": 1}, {"after": 3, "crash": 0.5, "return": 0.25}]}
    )
    assert found == (Churn(3, crash=0.5, back=0.25), Churn(9, leave=1.0))


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"after": -1}, "zero or more"),
        ({"after": 1, "leave": 1.5}, "at most 1"),
        ({"after": 1, "departure": "sudden"}, "basic or full"),
        ({"after": 1, "vanish": 1}, "no field"),
    ],
)
def test_churn_that_means_nothing_is_refused(table: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        decode_churn({"churn": [table]})
