"""Processing time of covering detection (Shen 2007, section 4.5, figures 4.4 and 4.5).

A sequence of 50,000 operations: with the removal share p as chance one of the live subscriptions,
drawn uniformly, is unsubscribed, otherwise a new one is subscribed. A subscription has one closed
interval on each of d attributes, both ends uniform in [0, 1]. Measured is the processor time of all
operations. The work's "count" and "kdtree" are `flat-1,counting` and `flat-1,kdtree` here, beside
its POSET-derived forest, Siena's poset and what Sapwood uses itself, `flat-1,columnar`.

Figure 4.5 takes the times of subscribing and unsubscribing apart, with p = 0.4, and draws how much
less than the forest's they are; here the times themselves are drawn.

Each is measured to its end: at the published size forest and poset take hours for some sequences.
`bench covering` stops them by a budget.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from operator import itemgetter
from random import Random
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.covering.catalogue import covering_manager
from sapwood.covering.manager import CoveringManager
from sapwood.errors import InputError
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.numbers import Interval
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table

OPERATIONS: Final = 50_000
ATTRIBUTES: Final = (3, 4, 5, 6)
REMOVAL_SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.4)
SEED: Final = 2006

OURS: Final = "flat-1,columnar"
KDTREE: Final = "flat-1,kdtree"
COUNTING: Final = "flat-1,counting"
FOREST: Final = "forest"
POSET: Final = "poset"
STRUCTURES: Final = (OURS, KDTREE, COUNTING, FOREST, POSET)

PUBLISHED: Final[Mapping[tuple[int, float, str], float]] = MappingProxyType(
    {
        (6, 0.2, COUNTING): 100 / 9,
        (6, 0.2, FOREST): 100 / 5,
        (6, 0.4, COUNTING): 100 / 17,
        (6, 0.4, FOREST): 100 / 7,
    }
)
"""Times of the k-d tree's that others take, by attributes and removal share (L1025). Siena's poset
takes some 560 s for (6, 0.4), all others less than 60 s (L1021)."""

FEW: Final = (
    f"With fewer operations than the published {OPERATIONS:,} few subscriptions are live, and "
    "what an operation costs at least decides, not what a search saves."
)
"""The reason why an order may not show yet."""
NEEDED: Final = f"{OPERATIONS:,} operations"

NARROW: Final = 4
"""The most attributes with which counting is close to the forest, as published."""

CHECKED: Final = 100
"""Live subscriptions, drawn with the seed, for which the outcome is checked."""

HOLDS: Final = "holds"
VOID: Final = "VOID: a live subscription is not covered"

APART: Final = 0.4
"""The removal share of figure 4.5."""

PARTS: Final[Mapping[str, str]] = MappingProxyType(
    {"subscribe_s": "subscribing", "unsubscribe_s": "unsubscribing"}
)

TIMED: Final = ("seconds", *PARTS, "operation_us", "kdtrees")
COLUMNS: Final = (
    *("attributes", "removal_share", "covering", "seconds", "kdtrees", "published_kdtrees"),
    *(*PARTS, "operations", "operation_us", "live", "propagated", "verdict"),
)

_WARMING: Final = 900
_WARMED: Final = 0.2
"""Operations before the clock starts, and the share of removals among them."""

_STRIDE: Final = 64


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each structure and sequence; sizes are numbers of operations.

    Raises `InputError` for a workload, of which there is no choice.
    """
    if choices.source is not None:
        raise InputError("this experiment makes its own boxes: leave the workload out")
    return [
        {
            "length": size,
            "attributes": attributes,
            "removal_share": share,
            "covering": name,
            "seed": choices.seed,
        }
        for size in choices.sizes or (OPERATIONS,)
        for attributes in ATTRIBUTES
        for share in REMOVAL_SHARES
        for name in STRUCTURES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The time of one structure (`covering`, a name of the catalogue) for one sequence."""
    attributes = configuration["attributes"]
    seed = SEED + configuration["seed"]
    sequence = list(
        operations(configuration["length"], attributes, configuration["removal_share"], seed)
    )
    return [measured(configuration["covering"], attributes, sequence, inf)]


def boxes(random: Random, attributes: int) -> Iterator[Filter]:
    """Subscriptions without end: one closed interval an attribute, both ends uniform."""
    while True:
        constraints = tuple(
            (f"x{axis:02d}", Constraint(numbers=(_interval(random),))) for axis in range(attributes)
        )
        yield Filter((Conjunction(constraints),))


def operations(
    n: int, attributes: int, removal_share: float, seed: int
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


def measured(
    name: str, attributes: int, sequence: Sequence[tuple[bool, Filter]], budget_s: float
) -> Row:
    """The time of a structure for a sequence, or for the part of it that fits the budget.

    The verdict marks a structure that was stopped, and is `VOID` where it has lost a cover
    among the live subscriptions that were checked.
    """
    warm = covering_manager(name)
    for is_new, wanted in operations(min(_WARMING, len(sequence)), attributes, _WARMED, SEED):
        # Compiles and loads what is late.
        (warm.subscribe if is_new else warm.unsubscribe)(wanted)
    manager = covering_manager(name)
    n, done, spent = len(sequence), 0, {True: 0.0, False: 0.0}
    while done < n and sum(spent.values()) < budget_s:
        some = sequence[done : done + _STRIDE]
        for is_new, same in groupby(some, key=itemgetter(0)):
            asked = [wanted for _, wanted in same]
            act = manager.subscribe if is_new else manager.unsubscribe
            begin = time.process_time()
            for wanted in asked:
                act(wanted)
            spent[is_new] += time.process_time() - begin
        done += len(some)
    work, seconds = manager.work, sum(spent.values())
    return {
        "operations": done,
        "seconds": seconds,
        "subscribe_s": spent[True],
        "unsubscribe_s": spent[False],
        "operation_us": seconds / max(1, done) * 1e6,
        "live": len(manager),
        "propagated": len(manager.propagated),
        "subscribe_queries": work.subscribe_queries,
        "unsubscribe_queries": work.unsubscribe_queries,
        "verdict": _verdict(manager, done, n, budget_s),
    }


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """All panels of the figure as one table, beside the ratios that the text gives."""
    panels = _panels(rows)
    found = [row for panel in panels for row in _with_ratios(panel)]
    return Report(
        title="Covering detection under churn (Shen 2007, figures 4.4 and 4.5)",
        settings={"operations": rows[0]["length"], "seed": choices.seed},
        columns=COLUMNS,
        rows=table(COLUMNS, found),
        compare=(
            "who is faster on the same sequence, and how many times; seconds are of other machines "
            "and another language."
        ),
        charts=(*_charts(found), *_parts_drawn(found)),
        findings=(*_findings(panels), *_parts(panels)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((1_000,)))


def _panels(rows: Sequence[Row]) -> list[dict[str, Row]]:
    """The structures by name, for each sequence."""
    found: dict[tuple[object, ...], dict[str, Row]] = {}
    for row in rows:
        sequence = (row["length"], row["attributes"], row["removal_share"])
        found.setdefault(sequence, {})[str(row["covering"])] = row
    return list(found.values())


def _with_ratios(panel: Mapping[str, Row]) -> Iterator[Row]:
    base = number(panel[KDTREE]["seconds"])
    for name, row in panel.items():
        d, p = row["attributes"], row["removal_share"]
        assert isinstance(d, int)
        assert isinstance(p, float)
        published = PUBLISHED.get((d, p, name))
        seconds = number(row["seconds"])
        yield {
            **row,
            **{part: round(number(row[part]), 3) for part in ("seconds", *PARTS)},
            "operation_us": round(number(row["operation_us"]), 1),
            "kdtrees": round(seconds / base, 2),
            "published_kdtrees": None if published is None else round(published, 1),
        }


def _findings(panels: Sequence[Mapping[str, Row]]) -> tuple[Finding, ...]:
    """The order of the structures, over all sequences."""
    low = [panel for panel in panels if number(panel[KDTREE]["attributes"]) <= NARROW]
    high = [panel for panel in panels if panel not in low]
    claims: tuple[tuple[str, str, str, Sequence[Mapping[str, Row]]], ...] = (
        ("Siena's poset is slower than the forest", FOREST, POSET, panels),
        ("Siena's poset is slower than counting", COUNTING, POSET, panels),
        ("the k-d tree is faster than the forest", KDTREE, FOREST, panels),
        ("the k-d tree is faster than counting", KDTREE, COUNTING, panels),
        ("counting is faster than the forest on more than 4 attributes", COUNTING, FOREST, high),
        ("Sapwood's index is faster than the k-d tree (nothing published)", OURS, KDTREE, panels),
    )
    few = min(number(one["length"]) for panel in panels for one in panel.values()) < OPERATIONS
    why, needs = (FEW, NEEDED) if few else ("", "")
    lost = sorted({name for panel in panels for name, r in panel.items() if r["verdict"] == VOID})
    return (
        *(replace(_order(*claim), why=why, needs=needs) for claim in claims if claim[-1]),
        Finding("nobody loses a cover", not lost, ", ".join(lost) or f"{len(panels)} sequences"),
    )


def _parts(panels: Sequence[Mapping[str, Row]]) -> Iterator[Finding]:
    """Figure 4.5: in which part the forest loses time, where many unsubscribe."""
    panels = [panel for panel in panels if panel[FOREST]["removal_share"] == APART]
    few = panels and number(panels[0][FOREST]["length"]) < OPERATIONS
    why, needs = (FEW, NEEDED) if few else ("", "")
    for name in (COUNTING, KDTREE) if panels else ():
        more = {
            part: [number(p[FOREST][part]) - number(p[name][part]) for p in panels]
            for part in PARTS
        }
        for part, seconds in more.items():
            shown = _by_attributes(panels, seconds)
            claim = f"p = {APART}: {PARTS[part]} takes the forest longer than {name}"
            yield Finding(claim, min(seconds) > 0, shown, why, needs)
        both = list(zip(*more.values(), strict=True))
        yield Finding(
            f"p = {APART}: most of what the forest takes longer than {name} is subscribing",
            all(new + old > 0 and new > old for new, old in both),
            ", ".join(f"{new:.3g} of {new + old:.3g} s" for new, old in both),
            why,
            needs,
        )


def _by_attributes(panels: Sequence[Mapping[str, Row]], seconds: Sequence[float]) -> str:
    each = zip(panels, seconds, strict=True)
    return ", ".join(f"d={panel[FOREST]['attributes']} {more:+,.3g} s" for panel, more in each)


def _parts_drawn(rows: Sequence[Row]) -> Iterator[Chart]:
    """The times of both parts over the attributes."""
    rows = [row for row in rows if row["removal_share"] == APART and row["verdict"] == HOLDS]
    for part, words in PARTS.items():
        lines = {
            name: line([row for row in rows if row["covering"] == name], "attributes", part)
            for name in (KDTREE, COUNTING, FOREST)
        }
        if any(lines.values()):
            title = f"Time of {words}, removal share {APART}"
            yield Chart(part, title, "attributes", "seconds", lines, linear_x=True)


def _order(
    claim: str,
    fast: str,
    slow: str,
    panels: Sequence[Mapping[str, Row]],
) -> Finding:
    """The finding whether one structure was faster than another on all sequences."""
    against = [
        panel[fast]
        for panel in panels
        if number(panel[fast]["seconds"]) >= number(panel[slow]["seconds"])
    ]
    shown = f"{len(panels) - len(against)} of {len(panels)} sequences"
    if against:
        cells = ", ".join(f"d={row['attributes']} p={row['removal_share']}" for row in against)
        shown += f"; not {cells}"
    return Finding(claim, not against, shown)


def _charts(rows: Sequence[Row]) -> Iterable[Chart]:
    """A panel for each number of attributes: those that lost no cover."""
    for attributes in sorted({number(row["attributes"]) for row in rows}):
        finished = [
            row for row in rows if row["attributes"] == attributes and row["verdict"] == HOLDS
        ]
        lines = {
            name: line(
                [row for row in finished if row["covering"] == name], "removal_share", "seconds"
            )
            for name in STRUCTURES
        }
        if any(lines.values()):
            yield Chart(
                f"d{attributes:g}",
                f"{attributes:g} attributes",
                "removal share",
                "seconds",
                lines,
                linear_x=True,
            )


def _verdict(manager: CoveringManager[Interest], done: int, n: int, budget_s: float) -> str:
    if not holds(manager):
        return VOID
    if done < n:
        return f"not done in {budget_s:g} s ({done:,} of {n:,} operations)"
    return HOLDS


def holds(manager: CoveringManager[Interest]) -> bool:
    """True if every checked subscription is inside a box that was propagated."""
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
