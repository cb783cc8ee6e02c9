"""Record workloads: seeded, streaming sources of subscriptions and publications.

==========  ==================  ======================================  ========================
name        attributes          a subscription                          a publication
==========  ==================  ======================================  ========================
eq          20, uniform         3 equalities, 50 values each            all 20
mix         100, Zipf(1):       1 equality (1,000 values, Zipf(1)) and  10 categorical and 10
            half categorical,   2 ranges of width 0.3                   numeric, others absent
            half numeric
bool        as mix              mix; 20 % an `or` of two, 10 % with a   as mix
                                `not` on one attribute more
rng         20, uniform         5 ranges of width 0.2                   all 20
norm-1      5                   one interval each (Shen 2007, 3.4.2),   all 5
norm-2                          calibrated to a matching density,
uniform                         1 % by default
xsiena      20,000, Pareto      2 to 5 comparisons with whole numbers   2 to 5 pairs
                                (Jerzak, table 9.1)
realistic   44, skewed          1 to 5 of prefix, equality, list,       4 and 8 measurements
                                flag, threshold and range
like        2, texts            a pattern such as `%word%`              both
read        4, texts            what a text reads as: lower case, an    all 4
                                integer below, a timestamp not before
==========  ==================  ======================================  ========================

`churn.Churn` makes a stream of additions, removals and publications of any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sapwood.errors import InvalidValueError, UnknownNameError
from sapwood_lab.workload.records.boxes import boxes
from sapwood_lab.workload.records.churn import Add, Churn, Operation, Publish, Remove
from sapwood_lab.workload.records.neutral import BOOL, EQ, MIX, RNG
from sapwood_lab.workload.records.realistic import REALISTIC
from sapwood_lab.workload.records.source import Workload
from sapwood_lab.workload.records.textual import LIKE, READ
from sapwood_lab.workload.records.xsiena import XSiena

__all__ = [
    "CALIBRATED",
    "WORKLOADS",
    "Add",
    "Churn",
    "Operation",
    "Publish",
    "Remove",
    "Workload",
    "XSiena",
    "boxes",
    "workload",
]

CALIBRATED: Final = ("norm-1", "norm-2", "uniform")
"""Workloads that can be given a matching density."""


def workload(name: str, density: float | None = None) -> Workload:
    """The workload of that name, with a matching density where it takes one.

    Raises `UnknownNameError` with the names there are, `InvalidValueError` for a density that is
    not between 0 and 1 or that the workload does not take.
    """
    found = WORKLOADS.get(name)
    if found is None:
        raise UnknownNameError("workload", name, WORKLOADS)
    if density is None:
        return found
    for law in CALIBRATED:
        if law == name:
            return boxes(law, density)
    raise InvalidValueError("density", f"{name} has none; {', '.join(CALIBRATED)} have")


WORKLOADS: Final[Mapping[str, Workload]] = MappingProxyType(
    {
        source.name: source
        for source in (
            EQ,
            MIX,
            BOOL,
            RNG,
            boxes("norm-1"),
            boxes("norm-2"),
            boxes("uniform"),
            XSiena().workload(),
            REALISTIC,
            LIKE,
            READ,
        )
    }
)
