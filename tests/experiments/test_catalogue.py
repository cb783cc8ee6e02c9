"""The catalogue of experiments."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.experiments.catalogue import EXPERIMENTS, experiment
from sapwood.experiments.xroute import run


def test_experiment_is_found_by_name() -> None:
    assert all(experiment(name).name == name for name in EXPERIMENTS)
    assert experiment("xroute-tables").load() is run


def test_unknown_experiment_is_an_error_with_the_known_names() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'xroute-tables'"):
        experiment("xroute-table")
