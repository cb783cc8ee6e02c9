"""`run_records` makes every table of the page."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.benchmarks import records
from sapwood_lab.benchmarks.machine import stream_bytes_per_s
from sapwood_lab.benchmarks.records import Choices, run_records


@pytest.fixture(autouse=True)
def _short_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "stream_bytes_per_s", lambda: stream_bytes_per_s(1 << 22))


@pytest.mark.long
def test_run_records_measures_cells_densities_updates_and_memory() -> None:
    report = run_records(
        Choices(
            workloads=("eq",),
            sizes=(60,),
            engines=("counting",),
            densities=(0.01, 0.2),
            density_size=100,
            seconds=0.02,
        )
    )
    assert report["bandwidth_bytes_per_s"] > 1e8
    assert [(c["workload"], c["engine"]) for c in report["cells"]] == [
        ("eq", "numpy scan"),
        ("eq", "plain scan"),
        ("eq", "counting"),
    ]
    assert {c["workload"] for c in report["densities"]} == {"norm-1 1.00%", "norm-1 20.00%"}
    by_density = [c["matches_per_publication"] for c in report["densities"]]
    assert by_density[0] < by_density[-1]
    assert [u["workload"] for u in report["updates"]] == ["eq"]
    assert [m["verdict"] for m in report["memory"]] == ["measured"]
    assert [s["workload"] for s in report["sharing"]] == ["eq"]
    assert report["left_out"] == {}
    rows = report["cells"] + report["densities"] + report["updates"] + report["sharing"]
    assert {row["verdict"] for row in rows} == {"agrees"}


@pytest.mark.long
def test_run_records_measures_real_records_from_their_folder(tmp_path: Path) -> None:
    lines = (" ".join(str(place * row) for place in range(50)) + "\n" for row in range(30))
    (tmp_path / "market-events-50-attributes.txt.gz").write_bytes(
        gzip.compress("".join(lines).encode())
    )
    report = run_records(
        Choices(
            workloads=("market-events",),
            data=tmp_path,
            sizes=(60,),
            engines=("columnar",),
            densities=(),
            seconds=0.02,
        )
    )
    assert {row["workload"] for row in report["cells"]} == {"market-events"}
    rows = report["cells"] + report["updates"] + report["sharing"]
    assert {row["verdict"] for row in rows} == {"agrees"}
    assert [m["verdict"] for m in report["memory"]] == ["measured"]


def test_run_records_refuses_names_it_does_not_know() -> None:
    with pytest.raises(UnknownNameError, match="weather"):
        run_records(Choices(workloads=("weather",), sizes=(1,)))
    with pytest.raises(UnknownNameError, match="steam"):
        run_records(Choices(engines=("steam",), sizes=(1,)))
