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

from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.covering.manager import CoveringManager
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval

SEED: Final = 2007
CHECKED: Final = 100
"""Live subscriptions, drawn with the seed, for which the outcome is checked."""

_WARMING: Final = 600
_STRIDE: Final = 64


def run_covering(
    n: int,
    attributes: int,
    removal_shares: Sequence[float],
    seconds_budget: float,
    names: Sequence[str] = tuple(COVERINGS),
) -> list[dict[str, Any]]:
    """Measure combinations of graph and index: one row for each removal share and combination.

    A combination that has spent `seconds_budget` of processor time on a sequence is stopped; its
    row then has `operations` below `n` and `complete` is false, and its rate is that of a smaller,
    hence easier, set. `holds` tells whether what was propagated covers the live subscriptions that
    were checked; a row for which it does not is void.
    """
    return [
        _measured(name, n, attributes, share, seconds_budget)
        for share in removal_shares
        for name in names
    ]


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
    name: str, n: int, attributes: int, removal_share: float, seconds_budget: float
) -> dict[str, Any]:
    warm = covering_manager(name)
    for _, wanted in operations(_WARMING, attributes, 0.0):  # compiles and loads what is late
        warm.subscribe(wanted)
    sequence = list(operations(n, attributes, removal_share))
    manager = covering_manager(name)
    done, begin, spent = 0, time.process_time(), 0.0
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
        "covering": name,
        "attributes": attributes,
        "removal_share": removal_share,
        "operations": done,
        "complete": done == n,
        "seconds": spent,
        "operation_us": spent / max(1, done) * 1e6,
        "live": len(manager),
        "propagated": len(manager.propagated),
        "subscribe_queries": work.subscribe_queries,
        "unsubscribe_queries": work.unsubscribe_queries,
        "holds": _holds(manager),
    }


def _holds(manager: CoveringManager) -> bool:
    """Whether every checked subscription is covered by something propagated."""
    live = list(manager.filters)
    random = Random(SEED)  # noqa: S311 - a workload, not a secret
    checked = random.sample(live, min(CHECKED, len(live)))
    propagated = manager.propagated
    return all(any(told.covers(wanted) for told in propagated) for wanted in checked)


def _interval(random: Random) -> Interval:
    low, high = sorted((random.random(), random.random()))
    return Interval(low, high)
