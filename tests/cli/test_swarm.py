"""`sapwood simulate --swarm`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.simulation import examination
from sapwood.simulation.examination import Examination
from sapwood.simulation.scenario import Scenario


def swarm(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["simulate", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.long
def test_a_swarm_runs_one_scenario_a_seed() -> None:
    status, said, _ = swarm("--protocol", "xroute", "--swarm", "3", "--seed", "5")
    assert status == 0
    assert said.startswith("3 scenarios under xroute: all right, ")
    status, said, _ = swarm("--protocol", "covering", "--swarm", "1", "--json")
    figures = json.loads(said)
    assert status == 0
    assert (figures["scenarios"], figures["wrong"], figures["seed"]) == (1, {}, 0)


def test_a_swarm_ends_with_the_first_scenario_that_goes_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(scenario: Scenario, protocol: str) -> Examination:
        found = {"lost": 2} if scenario.seed == 4 else {}
        return replace(right(scenario, protocol), found=found)

    right = examination.examine
    monkeypatch.setattr(examination, "examine", wrong)
    status, said, _ = swarm("--protocol", "simple", "--swarm", "9", "--seed", "3")
    assert status == 2
    assert said.endswith("seed 4 under simple went wrong: {'lost': 2}\n")
    assert len(said.splitlines()) > 5, "the story comes first"
    status, said, _ = swarm("--protocol", "simple", "--swarm", "9", "--seed", "3", "--json")
    assert status == 2
    assert json.loads(said)["wrong"] == {"lost": 2}


def test_a_swarm_needs_a_protocol_that_exists() -> None:
    status, _, said = swarm("--protocol", "gossip", "--swarm", "1")
    assert status == 2
    assert "no protocol is called 'gossip'" in said


def test_without_a_swarm_files_are_needed() -> None:
    for given, missing in (((), "topology"), (("--topology", "line:2"), "subscriptions")):
        status, _, said = swarm("--protocol", "simple", *given)
        assert status == 2
        assert f"Missing option '--{missing}'" in said
