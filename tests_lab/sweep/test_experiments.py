from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sapwood.errors import InputError
from sapwood_lab.sweep.experiments import OVERLAYS
from sapwood_lab.sweep.tasks import experiment_named


def test_the_simulator_is_an_experiment(tmp_path: Path) -> None:
    wanted, published = tmp_path / "s.jsonl", tmp_path / "p.jsonl"
    wanted.write_text('{"id": "s", "filter": "x > 1"}\n{"id": "t", "filter": "x > 5"}\n')
    published.write_text('{"id": "p", "attributes": {"x": 2}}\n')
    configuration = {
        "topology": "line:4",
        "seed": 1,
        "subscriptions": str(wanted),
        "publications": str(published),
    }
    simulate = experiment_named(OVERLAYS)
    flooding = simulate({**configuration, "protocol": "flooding"})
    covering = simulate({**configuration, "protocol": "covering"})
    assert isinstance(flooding, Mapping)
    assert isinstance(covering, Mapping)
    for figures in (flooding, covering):
        assert (figures["routers"], figures["deliveries"], figures["wrong"]) == (4, 1, 0)
    assert flooding["crossings"] >= covering["crossings"]
    with pytest.raises(InputError, match="this one lacks protocol"):
        simulate(configuration)
