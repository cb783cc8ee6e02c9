"""A scenario under a protocol, from the first step to the figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import pytest

from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol
from sapwood.simulation import evaluation as module
from sapwood.simulation.evaluation import evaluate
from sapwood.simulation.scenario import Scenario, subscribe_then_publish
from tests.simulation.helpers import publications, subscriptions


def scenario(topology: str = "line:4") -> Scenario:
    return subscribe_then_publish(
        "plain",
        parse_topology(topology, Random(0).randrange),
        subscriptions(("s1", "x > 1", "r4"), ("s2", "x > 1", "r2")),
        publications(("p1", {"x": 2}, "r1"), ("p2", {"x": 0}, "r1")),
        seed=3,
    )


def test_evaluate_says_what_was_delivered_and_that_it_is_right() -> None:
    evaluation = evaluate(scenario(), protocol("covering"))
    assert evaluation.is_right
    assert {id_: sorted(ids) for id_, ids in evaluation.pairs.items()} == {"p1": ["s1", "s2"]}
    assert (evaluation.metrics.protocol, evaluation.metrics.seed) == ("covering", 3)
    assert evaluation.metrics.verdicts.diverged is None


def test_evaluate_routes_on_many_trees_where_links_form_circles() -> None:
    evaluation = evaluate(scenario("ring:4"), protocol("covering"), engine="columnar")
    assert evaluation.is_right
    assert (evaluation.metrics.protocol, evaluation.metrics.engine) == ("mesh+covering", "columnar")


def test_evaluate_is_watched_stage_by_stage() -> None:
    seen: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def watch(stage: str, unit: str) -> Iterator[Callable[[int], None]]:
        yield lambda count: seen.update({(stage, unit): count})

    plain = scenario()
    evaluate(plain, protocol("covering"), watch=watch)
    assert seen == {("simulating", "steps"): len(plain.steps), ("judging", "publications"): 2}


def test_what_diverges_makes_an_evaluation_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "divergences", lambda *_, **__: ("somewhere else",))
    evaluation = evaluate(scenario(), protocol("covering"), with_probes=True)
    assert evaluation.judgment.is_clean
    assert evaluation.metrics.verdicts.diverged == 1
    assert not evaluation.is_right
