"""False positives, false negatives and degrees in the similarity graph, in small."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood.overlay.semantic.accuracy import Accuracy
from sapwood.overlay.semantic.graph.spreading import spread_in_graph
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row
from sapwood_lab.experiments.semantic_graph import (
    CLOSEST,
    COLUMNS,
    DESIGN,
    PUBLISHED,
    accuracies,
    linked,
    proximities_of,
    ratios,
    report,
    similarity_of,
)
from sapwood_lab.experiments.semantic_peers import SMALL, hits_of, interests_of
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]

pytestmark = pytest.mark.usefixtures("uncalibrated")


def test_counts_are_those_of_messages_one_by_one() -> None:
    graph = linked("news", 50, 10, 7, 3)
    hits = hits_of("news", SMALL, 3, 50, 7)
    random = Random(5)
    for wanted, counted in zip(hits, accuracies(graph, hits, 1.0, 5), strict=True):
        wanting = {peer for peer in graph.state if wanted[graph.interest(peer)]}
        candidates = sorted(wanting) or list(graph.state)
        publisher = candidates[random.randrange(len(candidates))]
        way = spread_in_graph(
            graph.state, graph.options, wanting.__contains__, publisher, random.getrandbits(64)
        )
        assert counted == Accuracy.of(50, wanting, way.received)


def test_proximities_are_the_works_similarity_in_both_directions() -> None:
    distinct = list(dict.fromkeys(interests_of("news", 12, 7)))
    similarity, known = similarity_of("news", 10, 7), proximities_of("news", 12, 10, 7)
    for at, one in enumerate(distinct):
        wanted = [similarity.proximity(one, other) for other in distinct]
        assert np.allclose(known.row(at), wanted, atol=1e-6)


def test_ratios_are_means_over_documents_and_nobody_misses_what_nobody_wants() -> None:
    found = [Accuracy(10, 4, 3, 2), Accuracy(10, 0, 1, 0)]
    assert ratios(found, "") == {"uninterested": 80.0, "fp": 20.0, "fn": 50.0}
    assert ratios(found[1:], "") == {"uninterested": 100.0, "fp": 10.0, "fn": 0.0}


@pytest.mark.long
def test_the_experiment_makes_its_figures() -> None:
    choices = Choices((20, 40), 7, "news", 3)
    found = run(DESIGN, choices)
    assert found.columns == COLUMNS
    assert len(found.rows) == 2 * (len(CLOSEST) + 2)
    assert all(chart.drawn for chart in found.charts)
    assert run(DESIGN, choices).rows == found.rows


def rows(**changed: Cell) -> list[Row]:
    """Rows with which all that was published holds, but for what is changed in each."""
    made: list[Row] = []
    for peers in (1_000, 20_000):
        for n, rho in ((5, 100), (7, 100), (10, 100), (10, 50), (10, 0)):
            degrees = PUBLISHED[n, peers]
            row: dict[str, Cell] = {"peers": peers, "n": n, "rho_pct": rho, "interests": 9}
            for tags in (22, 58):
                missed = 4 - n / 5 if rho == 100 else {50: 3, 0: 60}[rho] + peers / 10_000
                vain = {100: 20 + n / 10, 50: 14.0, 0: 5.0}[rho]
                less = peers / 20_000
                row[f"uninterested_{tags}_pct"] = 75
                row[f"fp_{tags}_pct"] = vain - less
                row[f"fn_{tags}_pct"] = missed - (less if rho else 0)
            for name, value in zip(("mean", "max", "deviation"), degrees, strict=True):
                row[f"degree_{name}"] = row[f"published_degree_{name}"] = value
            made.append({**row, **changed})
    return made


def test_what_was_published_is_judged() -> None:
    found = report(Choices(), rows())
    assert all(one.holds for one in found.findings), [str(one) for one in found.findings]
    assert len([chart for chart in found.charts if chart.placed(chart.published)]) == 7
    wrong: dict[str, dict[str, Cell]] = {
        "22 tag pairs, n = 10: less than 5 %": {"fn_22_pct": 6},
        "58 tag pairs, n = 10: about 20 %": {"fp_58_pct": 30},
        "22 tag pairs: rho = 50 % spares": {"fp_22_pct": 20},
        "22 tag pairs: without random links": {"fn_22_pct": 4},
        "fewer documents come in vain": {"fp_22_pct": 20},
        "fewer are missed": {"fn_22_pct": 4},
        "those of table 9.4": {"degree_mean": 15},
        "the most links of a peer": {"degree_max": 15},
        "degrees deviate less": {"degree_deviation": 4},
        "three quarters": {"uninterested_58_pct": 95},
    }
    for claim, changed in wrong.items():
        failed = [one for one in report(Choices(), rows(**changed)).findings if not one.holds]
        assert any(claim in one.claim for one in failed), claim


@pytest.mark.parametrize("name", ["n", "rho"])
def test_ratios_the_wrong_way_round_are_found(name: str) -> None:
    turned = [{**row, "fp_22_pct": 100 - float(str(row["fp_22_pct"]))} for row in rows()]
    failed = [one.claim for one in report(Choices(), turned).findings if not one.holds]
    words = "with a larger n" if name == "n" else "with a smaller rho"
    assert any(words in claim for claim in failed)
