"""Approximate covering: the less space is searched, the more subscriptions travel.

The work analyzes approximate covering and simulates none of it (Shen 2007, section 4.7). Here the
sequences of figure 4.4 (`covering_time`), where one operation in five is a removal, are given to a
link whose covers are searched on a curve with some epsilon, and to one that finds all covers.
Whatever epsilon is, each live subscription is inside one that was propagated, so deliveries are the
same; what is paid are subscriptions that travel although a cover of theirs did.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Final

from sapwood.covering.catalogue import covering_manager
from sapwood.covering.interests import InterestIndex
from sapwood.covering.manager import CoveringManager
from sapwood.covering.published.sfc import SpaceFillingIndex
from sapwood.errors import InputError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood_lab.experiments.covering_time import HOLDS, SEED, holds, operations
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table

OPERATIONS: Final = (4_000,)
ATTRIBUTES: Final = (2, 3, 4)
CURVES: Final = ("z", "hilbert")
EPSILONS: Final = ("0", "0.01", "0.05", "0.1", "0.3", "0.5", "0.7", "0.9")
REMOVAL_SHARE: Final = 0.2
EXACT: Final = "flat-1,columnar"
SAMPLED: Final = 200
"""Live subscriptions whose covers are searched once more, to see what share was searched."""

COLUMNS: Final = (
    *("attributes", "curve", "epsilon", "live", "propagated", "exact_propagated", "extra_share"),
    *("missed_share", "least_searched", "steps", "operation_us", "verdict"),
)
TIMED: Final = frozenset({"operation_us"})


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of attributes, curve and epsilon; sizes are numbers of operations."""
    if choices.source is not None:
        raise InputError("this experiment makes its own boxes: leave the workload out")
    return [
        {"length": n, "attributes": d, "curve": curve, "epsilon": epsilon, "seed": choices.seed}
        for n in choices.sizes or OPERATIONS
        for d in ATTRIBUTES
        for curve in CURVES
        for epsilon in EPSILONS
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The subscriptions that travel with an epsilon, and those with all covers found."""
    n, attributes = configuration["length"], configuration["attributes"]
    seed = SEED + configuration["seed"]
    sequence = list(operations(n, attributes, REMOVAL_SHARE, seed))
    exact, _ = _after(EXACT, sequence)
    name = f"flat-1,sfc-{configuration['curve']}:{configuration['epsilon']}"
    manager, seconds = _after(name, sequence)
    index = _curve_index(manager)
    totals = index.totals
    searched, missed = _looked_at(index, exact, seed)
    told, necessary = len(manager.propagated), len(exact.propagated)
    return [
        {
            "live": len(manager),
            "propagated": told,
            "exact_propagated": necessary,
            "extra_share": round(told / necessary - 1, 4),
            "missed_share": round(missed, 4),
            "least_searched": round(float(searched), 4),
            "steps": round(totals.steps / max(1, totals.searches), 1),
            "operation_us": round(seconds / n * 1e6, 1),
            "verdict": HOLDS if holds(manager) else "a live subscription is not covered",
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The subscriptions that travel without need, by epsilon."""
    panels = _panels(rows)
    return Report(
        title="Approximate covering (Shen 2007, section 4.7: analyzed there, not simulated)",
        settings={"seed": choices.seed, "removal_share": REMOVAL_SHARE},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "nothing was published but the promise: a search looks at a share of at least 1 - "
            "epsilon of the space, and errs only by missing covers."
        ),
        charts=(
            Chart(
                "extra", "Subscriptions that travel needlessly", "epsilon", "share of the needed",
                {f"{d} attributes": line(_numeric(some), "epsilon", "extra_share")
                 for (d, curve), some in panels.items() if curve == CURVES[0]},
                linear_x=True, linear_y=True,
            ),
        ),
        findings=tuple(_findings(rows, panels)),
        timed=TIMED,
    )  # fmt: skip


DESIGN: Final = Design(configurations, measure, report, Choices((300,)))


def _after(
    name: str, sequence: Sequence[tuple[bool, Filter]]
) -> tuple[CoveringManager[Interest], float]:
    """A link's covering after a sequence, and the seconds of processor time that it took."""
    manager = covering_manager(name)
    begin = time.process_time()
    for is_new, wanted in sequence:
        (manager.subscribe if is_new else manager.unsubscribe)(wanted)
    return manager, time.process_time() - begin


def _curve_index(manager: CoveringManager[Interest]) -> SpaceFillingIndex:
    assert isinstance(manager.index, InterestIndex)
    index = manager.index.records
    assert isinstance(index, SpaceFillingIndex)
    return index


def _looked_at(
    index: SpaceFillingIndex, exact: CoveringManager[Interest], seed: int
) -> tuple[Fraction, float]:
    """The least share of the space that a search looked at, and how many covered seem not to be."""
    live = [wanted for wanted in exact.filters if isinstance(wanted, Filter)]
    sampled = Random(seed).sample(live, min(SAMPLED, len(live)))  # noqa: S311 - reproducible
    assert isinstance(exact.index, InterestIndex)
    least, covered, missed = Fraction(1), 0, 0
    for wanted in sampled:
        found = index.search(wanted, 1)
        least = min(least, found.share)
        if exact.index.records.cov(wanted, 1):
            covered += 1
            missed += not found.hits
    return least, missed / max(1, covered)


def _panels(rows: Sequence[Row]) -> Mapping[tuple[int, str], list[Row]]:
    found: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        found.setdefault((int(number(row["attributes"])), str(row["curve"])), []).append(row)
    return found


def _numeric(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "epsilon": float(str(row["epsilon"]))} for row in rows]


def _findings(
    rows: Sequence[Row], panels: Mapping[tuple[int, str], Sequence[Row]]
) -> Iterator[Finding]:
    kept = [number(r["least_searched"]) >= 1 - float(str(r["epsilon"])) for r in rows]
    yield Finding(
        "a search looks at a share of at least 1 - epsilon",
        all(kept),
        f"{sum(kept)} of {len(kept)} cells",
    )
    right = [row for row in rows if row["verdict"] == HOLDS]
    yield Finding(
        "each live subscription is inside one that was propagated",
        len(right) == len(rows),
        f"{len(right)} of {len(rows)} cells",
    )
    needless = [number(row["extra_share"]) for row in rows if row["epsilon"] == "0"]
    yield Finding(
        "with epsilon 0 nothing travels needlessly",
        not any(needless),
        f"{len(needless)} cells",
    )
    alike = sum(
        [one["propagated"] for one in panels[d, curve]]
        == [one["propagated"] for one in panels[d, CURVES[0]]]
        for d, curve in panels
    )
    yield Finding(
        "what is found does not depend on the curve",
        alike == len(panels),
        f"{alike} of {len(panels)} panels",
    )
    for (d, curve), some in panels.items():
        if curve == CURVES[0]:
            shown = ", ".join(f"{row['epsilon']}: {number(row['extra_share']):.1%}" for row in some)
            most = [number(row["missed_share"]) for row in some]
            rising = all(a <= b for a, b in pairwise(most))
            yield Finding(f"{d} attributes: more is missed as epsilon grows", rising, shown)
