"""Processing time of covering detection on Shen's workload (Shen 2007, section 4.5, figure 4.4).

A sequence of n operations: with the removal share as chance one of the live subscriptions, drawn
uniformly, is unsubscribed, otherwise a new one is subscribed. A subscription has one closed
interval on each attribute, both ends uniform in [0, 1]. Measured is the processor time of all
operations.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.covering.manager import CoveringManager
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.numbers import Interval

SEED: Final = 2007
ATTRIBUTES: Final = (3, 6)
"""The fewest and the most of the figure; more attributes leave less to cover."""

CHECKED: Final = 100
"""Live subscriptions, drawn with the seed, for which the outcome is checked."""

_WARMING: Final = 600
_STRIDE: Final = 64


def run_covering(
    n: int,
    attributes: Sequence[int],
    removal_shares: Sequence[float],
    seconds_budget: float,
    names: Sequence[str] = tuple(COVERINGS),
) -> list[dict[str, Any]]:
    """Measure combinations of graph and index: a row for each sequence and combination.

    There is a sequence of `n` operations for each number of attributes and each removal share. A
    combination that has spent `seconds_budget` of processor time on a sequence is stopped; its row
    then has `operations` below `n` and a verdict that says so, and its rate is that of a smaller,
    hence easier, set. A row whose verdict is `VOID` has lost a cover among the live subscriptions
    that were checked.
    """
    rows: list[dict[str, Any]] = []
    for axes in attributes:
        for share in removal_shares:
            sequence = list(operations(n, axes, share))
            about = {"attributes": axes, "removal_share": share}
            rows += [
                {"covering": name, **about, **_measured(name, axes, sequence, seconds_budget)}
                for name in names
            ]
    return rows


def boxes(random: Random, attributes: int) -> Iterator[Filter]:
    """Subscriptions without end: one closed interval an attribute, both ends uniform."""
    while True:
        constraints = tuple(
            (f"x{axis:02d}", Constraint(numbers=(_interval(random),))) for axis in range(attributes)
        )
        yield Filter((Conjunction(constraints),))


def operations(
    n: int, attributes: int, removal_share: float, seed: int = SEED
) -> Iterator[tuple[bool, Filter]]:
    """The sequence: pairs of "subscribe, not unsubscribe" and the filter."""
    random = Random(seed)  # noqa: S311 - a workload, not a secret
    fresh = boxes(random, attributes)
    live: list[Filter] = []
    for _ in range(n):
        if live and random.random() < removal_share:
            place = random.randrange(len(live))
            live[place], live[-1] = live[-1], live[place]
            yield False, live.pop()
        else:
            live.append(next(fresh))
            yield True, live[-1]


def _measured(
    name: str, attributes: int, sequence: Sequence[tuple[bool, Filter]], seconds_budget: float
) -> dict[str, Any]:
    warm = covering_manager(name)
    warming = min(_WARMING, len(sequence))
    for _, wanted in operations(warming, attributes, 0.0):  # compiles and loads what is late
        warm.subscribe(wanted)
    manager = covering_manager(name)
    n, done, begin, spent = len(sequence), 0, time.process_time(), 0.0
    while done < n and spent < seconds_budget:
        for is_new, wanted in sequence[done : done + _STRIDE]:
            if is_new:
                manager.subscribe(wanted)
            else:
                manager.unsubscribe(wanted)
        done = min(n, done + _STRIDE)
        spent = time.process_time() - begin
    work = manager.work
    return {
        "operations": done,
        "seconds": spent,
        "operation_us": spent / max(1, done) * 1e6,
        "live": len(manager),
        "propagated": len(manager.propagated),
        "subscribe_queries": work.subscribe_queries,
        "unsubscribe_queries": work.unsubscribe_queries,
        "verdict": _verdict(manager, done, n, seconds_budget),
    }


def _verdict(manager: CoveringManager[Interest], done: int, n: int, seconds_budget: float) -> str:
    if not _holds(manager):
        return "VOID: a live subscription is not covered"
    if done < n:
        return f"not done in {seconds_budget:g} s ({done:,} of {n:,} operations)"
    return "holds"


def _holds(manager: CoveringManager[Interest]) -> bool:
    """Whether every checked subscription is inside a box that was propagated."""
    live = [wanted for wanted in manager.filters if isinstance(wanted, Filter)]
    random = Random(SEED)  # noqa: S311 - a workload, not a secret
    checked = _corners(random.sample(live, min(CHECKED, len(live))))
    if not manager.propagated:
        return not live
    propagated = _corners([told for told in manager.propagated if isinstance(told, Filter)])
    return all(bool((propagated <= corner).all(axis=1).any()) for corner in checked)


def _corners(filters: Sequence[Filter]) -> npt.NDArray[np.float64]:
    """For each box its low ends and its negated high ends: less is larger."""
    ends = [
        [
            end
            for _, c in f.conjunctions[0].constraints
            for end in (c.numbers[0].low, -c.numbers[0].high)
        ]
        for f in filters
    ]
    return np.array(ends, np.float64)


def _interval(random: Random) -> Interval:
    low, high = sorted((random.random(), random.random()))
    return Interval(low, high)
