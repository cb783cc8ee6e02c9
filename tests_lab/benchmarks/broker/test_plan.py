"""Plans: what is measured by default, by choice, and what is said of what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.benchmarks.broker import plan
from sapwood_lab.benchmarks.broker.load import make_load
from sapwood_lab.benchmarks.broker.peers import (
    FOLDER_VARIABLE,
    PEERS,
    Command,
    Peer,
    installed,
    versions,
)
from sapwood_lab.benchmarks.broker.plan import DEFAULT, Cell, Choices, cells_of, run_broker


def test_the_default_cells_are_of_every_kind() -> None:
    assert tuple(cells_of(Choices())) == DEFAULT
    assert {cell.workload for cell in DEFAULT} == {"eq", "mix", "flights", "documents"}
    assert {cell.hops for cell in DEFAULT} == {1, 3}
    assert {cell.clients for cell in DEFAULT} == {10, 1000}


def test_choices_are_combined() -> None:
    chosen = Choices(sizes=(5, 7), workloads=("mix",), clients=(2,), hops=(1, 3))
    assert list(cells_of(chosen)) == [
        Cell("mix", size, 2, hops, with_peers=True) for size in (5, 7) for hops in (1, 3)
    ]


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The cells that are measured, none of which is."""
    measured: list[tuple[Any, ...]] = []

    def measure(system: Any, load: Any, hops: int, _settings: Any) -> dict[str, Any]:
        measured.append((system.name, load.workload, load.size, load.clients, hops))
        return {"reason": None, "verdict": "exact"}

    monkeypatch.setattr(plan, "measure_cell", measure)
    monkeypatch.setattr(plan, "warm_up", lambda: None)
    monkeypatch.setattr(plan, "raw_echo", lambda _seconds: {"frames_per_s": 1.0, "frames": 1})
    return measured


def test_a_run_says_of_each_cell_how_it_went(rows: list[tuple[Any, ...]]) -> None:
    said: list[str] = []
    report = run_broker(Choices(sizes=(5,), workloads=("eq",), peers=("none",)), said.append)
    assert rows == [("sapwood", "eq", 5, 10, 1)]
    assert said == ["sapwood, 5 eq, 10 clients, hops 1: exact"]
    assert report["left_out"] == {}


def test_peers_that_are_not_there_are_left_out_with_what_to_do(
    rows: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    report = run_broker(Choices(sizes=(5,), workloads=("eq",)), lambda _: None)
    assert len(rows) == 1
    assert set(report["left_out"]) == {peer.name for peer in PEERS if not peer.keeps}
    chosen = Choices(sizes=(5,), workloads=("eq",), durabilities=("none",))
    both = run_broker(chosen, lambda _: None)["left_out"]
    assert set(both) == {peer.name for peer in PEERS}
    assert "benchmarks/peers/brokers/get.py" in report["left_out"]["nats"]


def test_real_records_that_are_not_there_are_left_out(rows: list[tuple[Any, ...]]) -> None:
    chosen = Choices(sizes=(5,), workloads=("city-lots",), peers=("none",))
    assert list(run_broker(chosen, lambda _: None)["left_out"]) == ["city-lots"]
    assert rows == []


def test_a_peer_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="nats"):
        run_broker(Choices(peers=("carrier-pigeon",)), lambda _: None)


def peer(tmp_path: Path, *, only_equalities: bool = False) -> Peer:
    work = Command(("driver",))
    return Peer("one", ("a", "b"), lambda *_: work, lambda _: work, only_equalities)


def test_a_peer_is_installed_when_all_its_files_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "a").touch()
    assert installed(peer(tmp_path)) == f"b is not in {tmp_path}"
    (tmp_path / "b").touch()
    whole = peer(tmp_path)
    assert installed(whole) is whole
    assert versions() == {}
    (tmp_path / "versions.json").write_text('{"one": "1.2"}')
    assert versions() == {"one": "1.2"}


def test_a_peer_refuses_what_it_cannot_say(tmp_path: Path) -> None:
    equalities = peer(tmp_path, only_equalities=True)
    assert equalities.refuses(make_load("eq", 20, 2), 1) == ""
    assert "equality" in equalities.refuses(make_load("mix", 20, 2), 1)
    assert peer(tmp_path).refuses(make_load("mix", 20, 2), 1) == ""
    assert "one server" in peer(tmp_path).refuses(make_load("mix", 20, 2), 3)
    assert "documents" in peer(tmp_path).refuses(make_load("documents", 20, 2), 1)


def test_a_driver_is_told_its_system_role_and_task(tmp_path: Path) -> None:
    command, _ = peer(tmp_path).command("receiving", tmp_path / "task.json")
    assert command == ("driver", "one", "receiving", str(tmp_path / "task.json"))
