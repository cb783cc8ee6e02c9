"""Publications with arrays under the oracle: every way to route delivers what brute force finds."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from sapwood.model.publication import ManyValued, Publication
from sapwood.simulation.scenario import PublishAction, Scenario
from sapwood.simulation.vocabulary import draw_record
from tests.simulation.helpers import assert_right, drawn

WORDS = (
    "flooding",
    "covering",
    "covering+merging",
    "advertisement+covering",
    "advertisement+covering+merging",
    "advertisement+xroute",
    "identity+prefix",
    "identity+bloom",
    "identity+bloom:counting-sbstree",
    "identity+bloom:skiptree",
    "mesh+covering",
    "irbr",
    "scribe",
    "covering+reuse",
)


def with_arrays(scenario: Scenario) -> Scenario:
    """The same with arrays of two or three elements in the place of half of the values."""

    def widened(publication: Publication) -> Publication:
        generator = Random(publication.id)
        attributes: dict[str, Any] = dict(publication.attributes or {})
        for name, value in attributes.items():
            if generator.random() < 0.5:
                others = [draw_record(generator).get(name) for _ in range(2)]
                attributes[name] = [value, *others]
        parts = (publication.document, publication.payload)
        return Publication(publication.id, attributes, *parts)

    steps = tuple(
        replace(step, action=replace(step.action, publication=widened(step.action.publication)))
        if isinstance(step.action, PublishAction) and step.action.publication.attributes is not None
        else step
        for step in scenario.steps
    )
    return replace(scenario, steps=steps)


def test_scenarios_have_several_values() -> None:
    published = [
        step.action.publication
        for seed in range(4)
        for step in with_arrays(drawn(seed)).steps
        if isinstance(step.action, PublishAction)
    ]
    assert sum(type(one.record) is ManyValued for one in published) > len(published) // 3 > 0


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 200), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(2)
def test_arrays_are_delivered_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        assert_right(with_arrays(drawn(seed)), word)
