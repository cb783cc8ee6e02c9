"""Real records are read from their files, and every other file is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.data import data_file

from sapwood.errors import EnvironmentMissingError, FileFormatError, UnknownNameError
from sapwood_lab.workload.records.real import (
    MARKET_ATTRIBUTES,
    REAL,
    city_lots,
    market_events,
    real_workload,
)

LINE = " ".join(str(place) for place in range(MARKET_ATTRIBUTES)) + "\n"
LOT = {
    "properties": {"STREET": "HYDE", "ST_TYPE": None},
    "geometry": {"coordinates": [[[-122.5, 37.5, 0.0], [-122.0, 38.0, 0.0], [-122.25, 37.5, 0.0]]]},
}


def zipped(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


def lots(path: Path, *features: Any) -> Path:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


def test_market_events_have_one_number_for_each_attribute(tmp_path: Path) -> None:
    found = list(market_events(zipped(tmp_path / "market.gz", LINE * 2)))
    assert len(found) == 2
    assert found[0]["m00"] == 0.0
    assert found[1][f"m{MARKET_ATTRIBUTES - 1}"] == MARKET_ATTRIBUTES - 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LINE + "1 2 3\n", "line 2: 3 numbers instead of 50"),
        (LINE.replace("7", "seven"), "no lines of numbers"),
        (LINE.replace("7", "nan"), "no number that a record may hold"),
        (LINE.replace("7", "é"), "no lines of numbers"),
    ],
)
def test_market_events_refuse_other_lines(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=said):
        list(market_events(zipped(tmp_path / "market.gz", text)))


@pytest.mark.parametrize(
    "content",
    [LINE.encode(), gzip.compress(LINE.encode(), mtime=0)[:40]],
    ids=["not compressed", "cut off"],
)
def test_market_events_refuse_what_is_not_compressed_or_cut_off(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "market.gz"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"market\.gz: no lines of numbers"):
        list(market_events(path))


def test_city_lots_have_their_properties_and_their_middle(tmp_path: Path) -> None:
    (found,) = city_lots(lots(tmp_path / "lots.json", LOT))
    assert found == {"STREET": "HYDE", "longitude": -122.25, "latitude": 37.75}


@pytest.mark.parametrize(
    "feature",
    [
        {"properties": {}, "geometry": {"coordinates": []}},
        {"properties": {}, "geometry": {"coordinates": [[[1.0]]]}},
        {"properties": {"STREET": 3}, "geometry": {"coordinates": [[[1.0, 2.0]]]}},
        {"geometry": {"coordinates": [[[1.0, 2.0]]]}},
    ],
)
def test_city_lots_refuse_other_features(feature: Any, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"lots\.json: "):
        list(city_lots(lots(tmp_path / "lots.json", feature)))


def test_city_lots_refuse_what_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "lots.json").write_bytes(b"\xff{")
    with pytest.raises(FileFormatError, match="no feature collection"):
        list(city_lots(tmp_path / "lots.json"))


def test_real_workload_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="known: flights, market-events, city-lots"):
        real_workload("weather", tmp_path)
    with pytest.raises(EnvironmentMissingError, match="name the folder that has it with --data"):
        real_workload("market-events")
    with pytest.raises(EnvironmentMissingError, match=r"citylots-fragment\.json, and it is not"):
        real_workload("city-lots", tmp_path)
    lots(tmp_path / REAL["city-lots"].file)
    with pytest.raises(FileFormatError, match="there is no record in it"):
        real_workload("city-lots", tmp_path)


@pytest.mark.parametrize(
    ("name", "records", "attributes"), [("market-events", 4396, 50), ("city-lots", 386, 11)]
)
def test_the_public_data_sets_are_read_whole(name: str, records: int, attributes: int) -> None:
    path = data_file("records", REAL[name].file)
    found = list(REAL[name].read(path))
    assert len(found) == records
    assert max(map(len, found)) == attributes
    source = real_workload(name, path.parent)
    assert source.name == name
    (publication,) = source.publications(1, 1)
    assert publication.record in found
