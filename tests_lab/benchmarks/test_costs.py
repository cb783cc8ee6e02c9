"""Kinds of filters are measured, and the model has a word on each."""

from __future__ import annotations

import json

import pytest

from sapwood_lab.benchmarks import costs
from sapwood_lab.benchmarks.costs import KINDS, main, measured


@pytest.mark.parametrize("name", ["value", "two ranges", "text within", "path", "any element"])
def test_a_kind_has_a_row(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "PUBLICATIONS", 8)
    monkeypatch.setattr(costs, "ROUNDS", 1)
    (kind,) = (one for one in KINDS if one.name == name)
    row = measured(kind, 40)
    assert row["filters"] == 40 // kind.fewer
    assert row["model_ns"] > 0
    assert (row["candidate_ns"] is None) == (not kind.share)


def test_the_command_prints_a_line_for_each_kind_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(costs, "PUBLICATIONS", 4)
    monkeypatch.setattr(costs, "ROUNDS", 1)
    main(["--size", "20", "--kinds", "presence"])
    machine, *rows = map(json.loads, capsys.readouterr().out.splitlines())
    assert "processor" in machine
    assert [row["kind"] for row in rows] == ["presence", "presence, one compared"]
