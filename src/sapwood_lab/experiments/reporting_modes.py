"""The number of covers that a graph should keep of a subscription (Shen 2007, 4.5.3, figure 4.3).

The sequences of figure 4.4 (`covering_time`) with three attributes are given to flat graphs `G_k`
over one index; k, the reporting mode, is the number of covers that a search requests. Measured are
the parts of the figure: processor time of subscribing and unsubscribing, how many nodes removals
leave without a cover, the searches that these take ("checking time"), and the degree of what is
removed, which is what a removal disconnects.

The work draws differences to k = 1; here each mode stands by itself. Which k it selected is lost
with the curves. Its index is `counting`; `kdtree`, which ends a search at the k-th cover, stands
beside it. Turns over all k follow each other, and the least time of each part counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import CoveringManager
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.counting import CountingCovering
from sapwood.covering.published.kdtree import KdTreeCovering
from sapwood.errors import InputError
from sapwood.model.filter import Filter
from sapwood_lab.experiments.covering_time import (
    NEEDED,
    OPERATIONS,
    REMOVAL_SHARES,
    SEED,
    operations,
)
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table

ATTRIBUTES: Final = 3
MODES: Final = (1, 2, 4, 8, 16)
TURNS: Final = 3
"""The measurements of each sequence: the least time counts."""

COUNTING: Final = "counting"
KDTREE: Final = "kdtree"
INDEXES: Final[Mapping[str, Callable[[], CoveringIndex[Filter]]]] = MappingProxyType(
    {COUNTING: CountingCovering, KDTREE: KdTreeCovering}
)

TALLIED: Final = (
    "Counting tallies all stored constraints in one pass over columns, however many covers are "
    "asked for: a larger k makes a search hardly dearer here, and saves the searches of removals."
)
"""The reason why `G_1` may not be the fastest over counting."""
FEW: Final = f"With fewer operations than the published {OPERATIONS:,} parts are within noise."
TIMED: Final = ("seconds", "subscribe_s", "unsubscribe_s", "checking_s", "checking_us")
COLUMNS: Final = (
    *("index", "removal_share", "k", *TIMED[:4], "uncovered", "checking_us", "degree"),
    *("queries", "live", "propagated"),
)


class _Timed:
    """An index that adds up the processor time of searches while `is_timing`."""

    __slots__ = ("_index", "is_timing", "seconds")

    def __init__(self, index: CoveringIndex[Filter]) -> None:
        self._index = index
        self.is_timing = False
        self.seconds = 0.0

    def __len__(self) -> int:
        return len(self._index)

    def add(self, key: int, filter: Filter) -> None:
        self._index.add(key, filter)

    def remove(self, key: int) -> None:
        self._index.remove(key)

    def cov(self, filter: Filter, limit: int) -> list[int]:
        if not self.is_timing:
            return self._index.cov(filter, limit)
        begin = time.process_time()
        found = self._index.cov(filter, limit)
        self.seconds += time.process_time() - begin
        return found

    def covered(self, filter: Filter) -> list[int]:
        return self._index.covered(filter)

    def validate(self) -> None:
        self._index.validate()


def configurations(choices: Choices) -> list[Configuration]:
    """One for each index and removal share; sizes are numbers of operations."""
    if choices.source is not None:
        raise InputError("this experiment makes its own boxes: leave the workload out")
    return [
        {
            "length": size,
            "index": index,
            "removal_share": share,
            "turns": choices.repeats or TURNS,
            "seed": choices.seed,
        }
        for size in choices.sizes or (OPERATIONS,)
        for index in INDEXES
        for share in REMOVAL_SHARES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The times of each mode for one sequence; a row for each."""
    length, share, turns = (configuration[name] for name in ("length", "removal_share", "turns"))
    sequence = list(operations(length, ATTRIBUTES, share, SEED + configuration["seed"]))
    make = INDEXES[configuration["index"]]
    _counts(make(), MODES[0], sequence[:200])  # compiles and loads what is late
    best: dict[int, dict[str, float]] = {}
    for _ in range(turns):
        for k in MODES:
            found, least = _times(make(), k, sequence), best.get(k)
            best[k] = found if least is None else {n: min(s, least[n]) for n, s in found.items()}
    return [_row(k, best[k], _counts(make(), k, sequence)) for k in MODES]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """All panels of the figure."""
    return Report(
        title="What a graph remembers of covers (Shen 2007, figure 4.3)",
        settings={
            "operations": rows[0]["length"],
            "attributes": ATTRIBUTES,
            "turns": choices.repeats or TURNS,
            "seed": choices.seed,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "how the parts change with k. The curves are lost, and with them which k were drawn; "
            "the text says in which direction each panel goes."
        ),
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((1_000,), repeats=2))


def _times(
    index: CoveringIndex[Filter], k: int, sequence: Sequence[tuple[bool, Filter]]
) -> dict[str, float]:
    """Processor time of the parts, in seconds."""
    timed = _Timed(index)
    manager = CoveringManager(FlatGraph(k), timed)
    spent = {True: 0.0, False: 0.0}
    for is_new, wanted in sequence:
        timed.is_timing = not is_new
        begin = time.process_time()
        if is_new:
            manager.subscribe(wanted)
        else:
            manager.unsubscribe(wanted)
        spent[is_new] += time.process_time() - begin
    return {
        "seconds": spent[True] + spent[False],
        "subscribe_s": spent[True],
        "unsubscribe_s": spent[False],
        "checking_s": timed.seconds,
    }


def _counts(
    index: CoveringIndex[Filter], k: int, sequence: Sequence[tuple[bool, Filter]]
) -> dict[str, int | float]:
    """The counts that do not differ from run to run."""
    manager = CoveringManager(FlatGraph(k), index)
    degrees = removals = 0
    for is_new, wanted in sequence:
        if is_new:
            manager.subscribe(wanted)
        else:
            removals += 1
            degrees += len(manager.covers(wanted)) + len(manager.dependents(wanted))
            manager.unsubscribe(wanted)
    return {
        "uncovered": manager.work.unsubscribe_queries,
        "degree": round(degrees / removals, 3) if removals else 0.0,
        "queries": manager.work.queries,
        "live": len(manager),
        "propagated": len(manager.propagated),
    }


def _row(k: int, seconds: Mapping[str, float], counts: Mapping[str, int | float]) -> Row:
    uncovered = counts["uncovered"]
    us = round(seconds["checking_s"] / uncovered * 1e6, 1) if uncovered else None
    return {
        "k": k,
        **{name: round(value, 4) for name, value in seconds.items()},
        **counts,
        "checking_us": us,
    }


def _panels(rows: Sequence[Row]) -> dict[tuple[str, float], list[Row]]:
    """The rows of each index and removal share, by k."""
    found: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        key = str(row["index"]), number(row["removal_share"])
        found.setdefault(key, []).append(row)
    return found


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    """The panels of the figure, over the removal share, for each index."""
    panels = (
        ("total", "all operations", "seconds", "seconds"),
        ("subscribe", "subscribing", "seconds", "subscribe_s"),
        ("unsubscribe", "unsubscribing", "seconds", "unsubscribe_s"),
        ("uncovered", "nodes left uncovered", "nodes", "uncovered"),
        ("checking", "searches for covers of these", "seconds", "checking_s"),
        ("degree", "degree of what is removed", "edges", "degree"),
    )
    for index in INDEXES:
        mine = [row for row in rows if row["index"] == index]
        for letter, (name, title, unit, column) in zip("abcdef", panels, strict=True):
            lines = {
                f"k = {k}": line([r for r in mine if r["k"] == k], "removal_share", column)
                for k in MODES
            }
            if any(value for some in lines.values() for _, value in some):
                yield Chart(
                    f"{index}-{name}",
                    f"({letter}) {title}, {index}",
                    "removal share",
                    unit,
                    lines,
                    linear_x=True,
                    linear_y=True,
                )


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """The findings on the text about each panel, for each index."""
    few = number(rows[0]["length"]) < OPERATIONS
    for index in INDEXES:
        panels = {share: some for (name, share), some in _panels(rows).items() if name == index}
        removing = {share: some for share, some in panels.items() if share > 0}
        reasons = (TALLIED if index == COUNTING else "", FEW if few else "")
        why = " ".join(filter(None, reasons))
        timed: tuple[tuple[str, _Panels, Callable[[list[Row]], bool]], ...] = (
            ("k = 1 takes the least time", panels, _is_first_fastest),
            ("subscribing takes longer than unsubscribing, whatever k is", panels, _mostly_new),
            ("a larger k loses more in subscribing than it gains", removing, _loses_more),
            ("a larger k makes a check of what is uncovered dearer", removing, _is_dearer),
        )
        counted: tuple[tuple[str, _Panels, Callable[[list[Row]], bool]], ...] = (
            ("a larger k leaves fewer nodes uncovered", removing, _leaves_fewer),
            ("a larger k makes degrees larger", removing, _has_more_edges),
            ("k = 1 asks at most twice what any k asks (theorem 1)", panels, _asks_little),
        )
        if panels:
            for one, modes, holds in timed:
                found = _everywhere(f"{index}: {one}", modes, holds)
                yield replace(found, why=why, needs=NEEDED if few else "")
            for one, modes, holds in counted:
                yield _everywhere(f"{index}: {one}", modes, holds)


_Panels: TypeAlias = Mapping[float, list[Row]]
"""The rows of the modes, by removal share."""


def _everywhere(claim: str, panels: _Panels, holds: Callable[[list[Row]], bool]) -> Finding:
    """The finding whether something holds at every removal share."""
    against = [share for share, some in panels.items() if not holds(some)]
    shown = f"{len(panels) - len(against)} of {len(panels)} removal shares"
    if against:
        shown += "; not " + ", ".join(f"{share:g}" for share in against)
    return Finding(claim, not against, shown)


def _column(rows: Sequence[Row], name: str) -> list[float]:
    return [number(row[name]) for row in rows]


def _is_first_fastest(rows: Sequence[Row]) -> bool:
    seconds = _column(rows, "seconds")
    return seconds[0] == min(seconds)


def _mostly_new(rows: Sequence[Row]) -> bool:
    return all(number(row["subscribe_s"]) > number(row["unsubscribe_s"]) for row in rows)


def _loses_more(rows: Sequence[Row]) -> bool:
    """Compares sums: what one part takes longer than with k = 1, and the other less."""
    seconds = _column(rows, "subscribe_s"), _column(rows, "unsubscribe_s")
    news, removals = ([one - some[0] for one in some[1:]] for some in seconds)
    return all(new > -removal for new, removal in zip(news, removals, strict=True))


def _is_dearer(rows: Sequence[Row]) -> bool:
    first, last = rows[0]["checking_us"], rows[-1]["checking_us"]
    return first is None or last is None or number(last) > number(first)


def _leaves_fewer(rows: Sequence[Row]) -> bool:
    return _goes_down(_column(rows, "uncovered"))


def _has_more_edges(rows: Sequence[Row]) -> bool:
    return _goes_down([-degree for degree in _column(rows, "degree")])


def _goes_down(values: Sequence[float]) -> bool:
    """True if none is above the one before it, and the last is below the first.

    Few subscriptions have many covers, so large k may differ in nothing.
    """
    return all(b <= a for a, b in pairwise(values)) and values[-1] < values[0]


def _asks_little(rows: Sequence[Row]) -> bool:
    queries = _column(rows, "queries")
    return queries[0] <= 2 * min(queries)
