"""The catalogue of experiments."""

from __future__ import annotations

import json

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.experiments.catalogue import EXPERIMENTS, experiment
from sapwood_lab.experiments.design import Choices
from sapwood_lab.sweep.tasks import experiment_named


def test_experiment_is_found_by_name() -> None:
    assert all(experiment(name).name == name for name in EXPERIMENTS)


def test_unknown_experiment_is_an_error_with_the_known_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'xroute-tables'"):
        experiment("xroute-table")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_design_can_be_swept(name: str) -> None:
    design = experiment(name).load()
    assert experiment_named(design.task) is design.measure
    for choices in (Choices(), Choices((7, 9), 3)):
        configurations = list(design.configurations(choices))
        assert configurations
        texts = {json.dumps(one, sort_keys=True) for one in configurations}
        assert len(texts) == len(configurations), "each is another"
        assert [json.loads(json.dumps(one)) for one in configurations] == configurations
