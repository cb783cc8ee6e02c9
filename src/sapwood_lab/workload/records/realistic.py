"""A workload as an alerting service has it: skewed attributes, and operators of every kind.

Publications are readings of devices: where a device is (a path such as `r03/s012/d0457`), what it
is and who made it (texts under Zipf's law), whether it is on battery, and some of 40 measurements
(log-normal, the usual ones usual). Subscriptions are for one place or everything below it, for
kinds, makers and one-sided or two-sided ranges of the measurements that are usual. The shares of
the operators are ours; no public trace of such subscriptions is known to us.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sapwood.model.constraint import Constraint, above, equal_to, one_of
from sapwood.model.filter import Filter
from sapwood.model.publication import Value
from sapwood.model.strings import between, prefix_end
from sapwood_lab.workload.records.draws import distinct, ranks, zipf
from sapwood_lab.workload.records.neutral import box, interval
from sapwood_lab.workload.records.source import Workload

REGIONS: Final = 20
SITES: Final = 50
DEVICES: Final = 200
KINDS: Final = 300
MAKERS: Final = 1000
MEASUREMENTS: Final = 40
MEASURED: Final = 8
"""Measurements of one publication."""

_SIGMA: Final = 1.0
_DEPTHS: Final = (0.25, 0.7)
"""Shares of the subscriptions that name no place, and that name a region or no place; the others
name a site or, one in three, a device."""


def _places(random: np.random.Generator, count: int) -> list[tuple[int, int, int]]:
    regions = ranks(random, zipf(REGIONS), count).tolist()
    sites = ranks(random, zipf(SITES), count).tolist()
    devices = random.integers(DEVICES, size=count).tolist()
    return list(zip(regions, sites, devices, strict=True))


def _records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    places = _places(random, count)
    kinds = ranks(random, zipf(KINDS), count).tolist()
    makers = ranks(random, zipf(MAKERS), count).tolist()
    battery = (random.random(count) < 0.3).tolist()
    chosen = distinct(random, zipf(MEASUREMENTS), count, MEASURED).tolist()
    values = random.lognormal(0.0, _SIGMA, (count, MEASURED)).round(3).tolist()
    return [
        {
            "place": _path(*place),
            "kind": f"k{kind}",
            "maker": f"m{maker}",
            "battery": on_battery,
            **{_measurement(m): x for m, x in zip(measured, levels, strict=True)},
        }
        for place, kind, maker, on_battery, measured, levels in zip(
            places, kinds, makers, battery, chosen, values, strict=True
        )
    ]


def _filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    places = _places(random, count)
    kinds = ranks(random, zipf(KINDS), (count, 3)).tolist()
    makers = ranks(random, zipf(MAKERS), count).tolist()
    measured = distinct(random, zipf(MEASUREMENTS), count, 2).tolist()
    levels = random.lognormal(0.0, _SIGMA, (count, 2)).round(3).tolist()
    widths = random.lognormal(-1.0, _SIGMA, (count, 2)).round(3).tolist()
    shares = random.random((count, 5)).tolist()
    return [
        Filter(
            (
                box(
                    {
                        **_place(places[row], shares[row][0]),
                        **_kind(kinds[row], shares[row][1]),
                        **_maker(makers[row], shares[row][2]),
                        **_ranges(measured[row], levels[row], widths[row], shares[row][3:]),
                    }
                ),
            )
        )
        for row in range(count)
    ]


def _place(place: tuple[int, int, int], share: float) -> dict[str, Constraint]:
    """No place, a region, a site, or one device."""
    region, site, device = place
    nowhere, regional = _DEPTHS
    if share < nowhere:
        return {}
    if share < regional:
        return {"place": _below(f"r{region:02d}/")}
    if share < regional + (1 - regional) * 2 / 3:
        return {"place": _below(f"r{region:02d}/s{site:03d}/")}
    return {"place": equal_to(_path(region, site, device))}


def _kind(kinds: Sequence[int], share: float) -> dict[str, Constraint]:
    """One kind, or up to three, or any."""
    if share < 0.5:
        return {"kind": equal_to(f"k{kinds[0]}")}
    if share < 0.7:
        return {"kind": one_of(f"k{kind}" for kind in kinds)}
    return {}


def _maker(maker: int, share: float) -> dict[str, Constraint]:
    """One maker in three of ten, devices on battery in one of ten, otherwise nothing."""
    if share < 0.3:
        return {"maker": equal_to(f"m{maker}")}
    return {"battery": equal_to(value=True)} if share < 0.4 else {}


def _ranges(
    measured: Sequence[int],
    levels: Sequence[float],
    widths: Sequence[float],
    shares: Sequence[float],
) -> dict[str, Constraint]:
    """A threshold or a range of one measurement always, of a second in three of ten."""
    found = {_measurement(measured[0]): _range(levels[0], widths[0], shares[0])}
    if shares[1] < 0.3:
        found[_measurement(measured[1])] = _range(levels[1], widths[1], shares[1] / 0.3)
    return found


def _range(level: float, width: float, share: float) -> Constraint:
    return above(level, inclusive=False) if share < 0.5 else interval(level, level + width)


def _below(prefix: str) -> Constraint:
    return Constraint(strings=between(prefix, prefix_end(prefix)))


def _path(region: int, site: int, device: int) -> str:
    return f"r{region:02d}/s{site:03d}/d{device:04d}"


def _measurement(number: int) -> str:
    return f"q{number:02d}"


REALISTIC: Final = Workload(
    "realistic", "devices: places below a prefix, kinds, thresholds, all skewed", _filters, _records
)
