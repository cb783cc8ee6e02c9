"""`sapwood simulate --protocol semantic-...`: peers instead of routers, from files to files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from sapwood.simulation.semantic.protocols import SEMANTIC

SUBSCRIPTIONS = """\
{"id": "cheap", "filter": "price < 50", "home": "r1"}
{"id": "ibm", "filter": "symbol = 'IBM' and price < 100"}
{"id": "any", "filter": "exists price"}
{"id": "worse", "filter": "price <"}
"""
PUBLICATIONS = """\
{"id": "p2", "attributes": {"symbol": "SUN", "price": 60}}
{"id": "p1", "attributes": {"symbol": "IBM", "price": 40}}
"""
CHURN = """\
[[churn]]
after = 1
leave = 1
return = 1
"""


def simulate(folder: Path, *options: str) -> Result:
    (folder / "subs.jsonl").write_text(SUBSCRIPTIONS)
    (folder / "pubs.jsonl").write_text(PUBLICATIONS)
    (folder / "churn.toml").write_text(CHURN)
    files = ("--subscriptions", "subs.jsonl", "--publications", "pubs.jsonl", *options)
    named = [
        str(folder / option) if option.endswith((".jsonl", ".toml", ".json")) else option
        for option in files
    ]
    return CliRunner().invoke(main, ["simulate", *named], catch_exceptions=False)


@pytest.mark.parametrize("name", sorted(SEMANTIC))
def test_deliveries_and_figures_come_out(tmp_path: Path, name: str) -> None:
    options = ("--faults", "churn.toml", "--metrics", "m.json", "--out", "d.jsonl")
    result = simulate(tmp_path, "--protocol", name, *options)
    assert result.exit_code == 1, result.output  # a line was rejected
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    pairs = [(one["publication"], one["subscription"]) for one in map(json.loads, lines)]
    assert pairs == [("p2", "any"), ("p1", "any"), ("p1", "cheap"), ("p1", "ibm")]
    figures = json.loads((tmp_path / "m.json").read_text())
    assert figures["accuracy"]["false_negatives"] == 0
    assert [one["interested"] for one in figures["publications"]] == [1, 3]
    assert figures["departures"]["count"] == 3
    assert "3 peers" in result.stderr
    assert "false positives" in result.stderr


def test_json_is_printed_for_a_program(tmp_path: Path) -> None:
    result = simulate(tmp_path, "--protocol", "semantic-tree", "--json", "--out", "d.jsonl")
    figures = json.loads(result.stdout)
    assert figures["metrics"]["peers"] == 3
    assert figures["deliveries"] == 4


def test_what_goes_with_routers_is_refused(tmp_path: Path) -> None:
    result = simulate(tmp_path, "--protocol", "semantic-tree", "--backup", "r1=r2")
    assert result.exit_code == 2
    assert "--backup goes with routers" in result.stderr


@pytest.mark.parametrize(
    "name", ["semantic-tree:full,cascade,clusters=2", "semantic-graph:2,1,1,1"]
)
def test_choices_behind_the_colon_and_a_picture(tmp_path: Path, name: str) -> None:
    picture = tmp_path / "overlay.svg"
    options = ("--out", "d.jsonl", "--picture", str(picture))
    result = simulate(tmp_path, "--protocol", name, *options)
    assert result.exit_code == 1, result.output  # a line was rejected
    text = picture.read_text()
    assert text.count("<circle class=") == 3
    assert f"{name}, 3 peers: the way of p1" in text
    assert "wanted it, and got it: 3" in text


def test_a_picture_of_routers_is_refused(tmp_path: Path) -> None:
    options = ("--protocol", "covering", "--topology", "line:2", "--picture", "x.svg")
    result = simulate(tmp_path, *options)
    assert result.exit_code == 2
    assert "--picture draws peers" in result.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("semantic-tree:full,loud", "choice of a tree"),
        ("semantic-tree:clusters=0", "number of members"),
        ("semantic-graph:2,1,1,1,1", "as in semantic-graph"),
    ],
)
def test_choices_that_there_are_not(tmp_path: Path, name: str, words: str) -> None:
    result = simulate(tmp_path, "--protocol", name)
    assert result.exit_code == 2
    assert words in result.stderr
