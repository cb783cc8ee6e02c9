"""`scripts/simulate.py`: seeds under every protocol, until one goes wrong."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from sapwood.routing.protocols import PROTOCOLS
from tests.scripts.loading import load


def run(monkeypatch: pytest.MonkeyPatch, script: Any, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["simulate.py", *arguments])
    status: int = script.main()
    return status


@pytest.mark.long
def test_simulate_runs_a_seed_under_every_protocol(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, load("simulate"), "--seed", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(PROTOCOLS)
    assert "all right" in lines[-1]


def test_simulate_stops_at_a_seed_that_goes_wrong_and_tells_its_story(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("simulate")
    examine = script.examine
    monkeypatch.setattr(
        script, "examine", lambda *given: replace(examine(*given), found={"lost": 2})
    )
    assert run(monkeypatch, script, "--seed", "3", "--count", "2") == 1
    said = capsys.readouterr().out
    first = next(iter(PROTOCOLS))
    assert said.endswith(f"simulate: seed 3 under {first} went wrong: {{'lost': 2}}\n")
    assert len(said.splitlines()) > 5


def test_simulate_draws_other_scenarios_for_each_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("simulate")
    monkeypatch.setattr(script, "PROTOCOLS", ("covering",))
    said = []
    for options in ((), ("--rewiring",), ("--small",)):
        assert run(monkeypatch, script, "--seed", "3", *options) == 0
        said.append(capsys.readouterr().out.splitlines()[0])
    assert len({*said}) == 3


@pytest.mark.long
def test_simulate_runs_the_protocols_that_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ("--protocol", "simple", "--protocol", "xroute+recover")
    assert run(monkeypatch, load("simulate"), "--seed", "2", *named) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["simple", "xroute+recover"]
