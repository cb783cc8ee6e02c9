"""Scenarios that are read from files, without the command line."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.files.rejections import StrictRejections
from sapwood.files.scenarios import (
    ScenarioFiles,
    open_scenario,
    read_faults,
    read_toml,
    read_topology,
)
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.protocols import protocol
from sapwood.simulation.channels import Channel, SetChannel
from sapwood.simulation.conditions import PERFECT, Conditions
from sapwood.simulation.evaluation import evaluate
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    AddRouter,
    AdvertiseAction,
    CrashRouter,
    PublishAction,
    SubscribeAction,
)
from tests.files.test_reading import ListedRejections

FILES = {
    "subs.jsonl": """\
{"id": "s1", "filter": "x > 1", "home": "r3"}
{"id": "s2", "filter": "x", "home": "r9"}
""",
    "pubs.jsonl": """\
{"id": "p1", "attributes": {"x": 2}, "home": "r1"}
{"id": "p2", "attributes": {"x": 0}}
""",
    "ads.jsonl": '{"id": "a1", "filter": "true", "home": "r1"}',
    "faults.toml": '[[router]]\nname = "r2"\ndown = 5.0\nup = 6.0\n',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def opened(
    folder: Path, rejections: ListedRejections, conditions: Conditions = PERFECT, **further: str
) -> ScenarioFiles:
    names = {key: str(folder / name) for key, name in further.items()}
    ads, faults = (names.get(key) for key in ("advertisements", "faults"))
    return open_scenario(
        "line:3",
        *(str(folder / name) for name in ("subs.jsonl", "pubs.jsonl")),
        advertisements=ads,
        faults=faults,
        seed=4,
        conditions=conditions,
        rejections=rejections,
    )


def test_conditions_hold_for_the_whole_scenario(folder: Path) -> None:
    busy = Conditions(Channel(loss=0.5), Timing(processing_s=0.1))
    scenario = opened(folder, ListedRejections(), busy).scenario()
    assert scenario.timing == busy.timing
    assert scenario.steps[0].action == SetChannel(busy.channel)


def test_open_scenario_gives_all_that_is_to_happen(folder: Path) -> None:
    rejections = ListedRejections()
    files = opened(folder, rejections, advertisements="ads.jsonl", faults="faults.toml")
    passed: list[int] = []
    scenario = files.scenario("mine", advance=passed.append)
    kinds = [type(step.action) for step in scenario.steps]
    assert (scenario.name, scenario.seed) == ("mine", 4)
    assert kinds[:2] == [AdvertiseAction, SubscribeAction]
    assert kinds.count(PublishAction) == 2
    assert CrashRouter in kinds
    assert len(passed) == 4
    assert files.subscriptions.counts.good == 1
    assert [row[1] for row in rejections.rows] == [2]
    assert "no router is called 'r9'" in rejections.rows[0][2]
    assert scenario == opened(
        folder, rejections, advertisements="ads.jsonl", faults="faults.toml"
    ).scenario("mine")


def test_a_scenario_from_files_can_be_evaluated(folder: Path) -> None:
    files = opened(folder, ListedRejections(), faults="faults.toml")
    scenario = files.scenario(advertise_everything=True)
    evaluation = evaluate(scenario, protocol("advertisement+covering"), with_probes=True)
    assert evaluation.is_right
    assert evaluation.pairs == {"p1": ["s1"]}
    assert evaluation.metrics.verdicts.diverged == 0


def test_without_files_of_them_there_are_no_advertisements_and_no_faults(folder: Path) -> None:
    files = opened(folder, ListedRejections())
    assert files.faults is None
    kinds = {type(step.action) for step in files.scenario().steps}
    assert not kinds & {AdvertiseAction, CrashRouter}


def test_read_topology_takes_a_name_or_a_file(folder: Path) -> None:
    path = folder / "plain"
    path.write_text('[[link]]\nbetween = ["a", "b"]\n', encoding="utf-8")
    assert read_topology(str(path), 1) == Topology(("a", "b"), (Link("a", "b"),))
    assert len(read_topology("line:4", 1).routers) == 4
    assert read_topology("random:9", 1) == read_topology("random:9", 1)
    assert read_topology("random:9", 1) != read_topology("random:9", 2)
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_topology(str(folder / "none.toml"), 1)


def test_read_faults_reads_what_comes_and_goes_as_well(folder: Path) -> None:
    line = read_topology("line:3", 1)
    path = folder / "changes.toml"
    path.write_text('[[router]]\nname = "r4"\njoins = 1.0\n', encoding="utf-8")
    assert read_faults(str(path), line, 1) == ((1.0, AddRouter("r4")),)
    path.write_text('[[router]]\nname = "r2"\njoins = 1.0\n', encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"changes\.toml: router fault 1: two routers"):
        read_faults(str(path), line, 1)


def test_the_first_bad_line_can_be_an_error(folder: Path) -> None:
    inputs = (str(folder / name) for name in ("subs.jsonl", "pubs.jsonl"))
    files = open_scenario("line:3", *inputs, rejections=StrictRejections())
    with pytest.raises(FileFormatError, match="no router is called 'r9'"):
        files.scenario()


def refuse(document: Mapping[str, Any]) -> None:
    raise InputError(f"nobody wants {sorted(document)}")


def test_read_toml_gives_what_the_document_is_read_as(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("x = 1\n[[y]]\nz = 'ä'\n", encoding="utf-8")
    assert read_toml(str(path), dict) == {"x": 1, "y": [{"z": "ä"}]}


def test_read_toml_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x = 1")))
    assert read_toml("-", dict) == {"x": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"x = = 1", "Invalid value"), (b"\xe4", "decode"), (b"x = 1", "nobody wants")],
)
def test_read_toml_names_the_file_in_which_something_is_wrong(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_toml(str(path), refuse)
    assert caught.value.path == str(path)


def test_read_toml_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = str(tmp_path / "none.toml")
    with pytest.raises(FileFormatError, match=r"none\.toml: there is no such file$"):
        read_toml(path, dict)
