"""Flights that never were, for a tour without the package of those that were.

They have the attributes of the real ones, in the same forms and ranges, so that the same interests
find some of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from sapwood.cli.tour.flights import AIRPORTS
from sapwood.model.publication import Publication, Value

FLIGHTS: Final = 20_000
"""The number of flights unless a tour has fewer: seconds, and some thousand deliveries."""

_SEED: Final = 2013
_CARRIERS: Final = (
    *("UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E"),
    *("WN", "VX", "FL", "AS", "F9", "YV", "HA", "OO"),
)
_FLIES: Final = (59, 55, 54, 48, 33, 26, 21, 18, 12, 5, 3, 1, 1, 1, 1, 1)
"""The relative weight of each airline's flights."""

_PLACES: Final = (
    *("ORD", "ATL", "LAX", "BOS", "MCO", "CLT", "SFO", "FLL", "MIA", "DCA"),
    *("DTW", "DFW", "DEN", "SJU", "IAH", "MDW", "PHL", "SAN", "HNL"),
)
_MILES: Final = (
    *(733, 762, 2475, 187, 944, 544, 2586, 1069, 1096, 214),
    *(502, 1389, 1620, 1598, 1416, 725, 94, 2446, 4983),
)
"""The distance of each place."""


def invented(limit: int | None = None) -> Iterator[Publication]:
    """Flights with ids `f1`, `f2`, ..., `FLIGHTS` of them or `limit`; always the same ones."""
    random = Random(_SEED)  # noqa: S311 - no secret
    for number in range(1, (FLIGHTS if limit is None else limit) + 1):
        yield Publication(f"f{number}", _attributes(random))


def _attributes(random: Random) -> dict[str, Value]:
    (carrier,) = random.choices(_CARRIERS, _FLIES)
    place = random.randrange(len(_PLACES))
    miles = _MILES[place]
    planned = random.randrange(5, 24) * 100 + random.randrange(60)
    record: dict[str, Value] = {
        "month": random.randint(1, 12),
        "day": random.randint(1, 28),
        "sched_dep_time": planned,
        "carrier": carrier,
        "flight": random.randint(1, 8500),
        "tailnum": f"N{random.randint(100, 999)}{carrier}",
        "origin": random.choice(AIRPORTS),
        "dest": _PLACES[place],
        "distance": miles,
    }
    if random.random() < 0.025:
        return record  # cancelled: no time of departure, and none in the air
    late = int(random.expovariate(1 / 25)) - 12
    minutes = planned // 100 * 60 + planned % 100 + late
    record["dep_time"] = minutes // 60 % 24 * 100 + minutes % 60
    record["dep_delay"] = late
    record["arr_delay"] = late + random.randint(-25, 25)
    record["air_time"] = int(miles / 7.5 * random.uniform(0.9, 1.2)) + 20
    return record
