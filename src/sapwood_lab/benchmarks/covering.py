"""Processing time of covering detection for every pair of graph and index (Shen 2007, figure 4.4).

The sequences, and what is measured of one, are those of `experiments.covering_time`, which makes
the figure with the structures of the work; here all pairs of the catalogue take part.

A pair that has spent its budget on a sequence is stopped. Its later operations would have met more
subscriptions and cost more, so the whole sequence takes at least as long as if they had cost what
the first ones did: a lower bound, and shown as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from sapwood.charts.pictures import Point, line_chart
from sapwood.cli.output import print_table
from sapwood.covering.catalogue import COVERINGS
from sapwood_lab.experiments.covering_time import (
    COUNTING,
    FOREST,
    KDTREE,
    OURS,
    POSET,
    SEED,
    STRUCTURES,
    VOID,
    measured,
    operations,
)

ATTRIBUTES: Final = (3, 6)
"""The fewest and the most of the figure; more attributes leave less to cover."""

WHOLE: Final = (OURS, KDTREE, COUNTING)
"""The structures that are never stopped: the three are compared with each other, and they are close
enough that the beginning of a sequence does not decide."""

ORDER: Final = (
    ("the k-d tree is faster than counting", KDTREE, COUNTING, 1),
    ("the k-d tree is faster than the forest", KDTREE, FOREST, 1),
    ("counting is faster than the forest beyond 4 attributes", COUNTING, FOREST, 5),
    ("the forest is faster than Siena's poset", FOREST, POSET, 1),
    ("counting is faster than Siena's poset", COUNTING, POSET, 1),
)
"""The statements of the work on its figure (L1021-1025): which is faster, and from how many
attributes on. Up to 4, counting and forest are close there."""

_Row = Mapping[str, Any]


def run_covering(
    n: int,
    attributes: Sequence[int],
    removal_shares: Sequence[float],
    seconds_budget: float,
    names: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """Measure pairs of graph and index, all of them unless `names` chooses: a row for each.

    There is a sequence of `n` operations for each number of attributes and each removal share. A
    pair that is not among `WHOLE` is stopped after `seconds_budget` of processor time; its row then
    has `operations` below `n`. `whole_s` is the time of the whole sequence, or the lower bound of
    it. A row whose verdict is `VOID` has lost a cover among the live subscriptions that were
    checked.
    """
    for axes in attributes:
        for share in removal_shares:
            sequence = list(operations(n, axes, share, SEED))
            for name in names or COVERINGS:
                budget_s = inf if name in WHOLE else seconds_budget
                row: dict[str, Any] = dict(measured(name, axes, sequence, budget_s))
                yield {
                    "covering": name,
                    "attributes": axes,
                    "removal_share": share,
                    "wanted": n,
                    "whole_s": row["operation_us"] * n / 1e6,
                    **row,
                }


def published_order(rows: Sequence[_Row]) -> list[tuple[str, int, list[str]]]:
    """For each claim of the work: on how many sequences it could be tried, and where it fails."""
    panels: dict[tuple[int, float], dict[str, _Row]] = {}
    for row in rows:
        sequence = (row["attributes"], row["removal_share"])
        panels.setdefault(sequence, {})[row["covering"]] = row
    found: list[tuple[str, int, list[str]]] = []
    for claim, fast, slow, attributes_min in ORDER:
        tried = [
            (f"d = {d}, p = {p:g}", panel)
            for (d, p), panel in panels.items()
            if d >= attributes_min and fast in panel and slow in panel
        ]
        against = [where for where, panel in tried if not is_faster(panel[fast], panel[slow])]
        found.append((claim, len(tried), against))
    return found


def is_faster(fast: _Row, slow: _Row) -> bool:
    """True if one row's pair is known to be faster than another's on the same sequence.

    Of two that were stopped after the same time, the one that did more is; the time of one that was
    stopped is above its lower bound, and nothing else is known of it.
    """
    if _is_stopped(fast):
        return _is_stopped(slow) and bool(fast["operations"] > slow["operations"])
    return bool(fast["whole_s"] < slow["whole_s"])


def print_covering(rows: Sequence[_Row]) -> None:
    """Print a table for each number of attributes, the published order, and what ours gains."""
    shares = sorted({row["removal_share"] for row in rows})
    for axes in sorted({row["attributes"] for row in rows}):
        cells = {
            (row["covering"], row["removal_share"]): _cell(row)
            for row in rows
            if row["attributes"] == axes
        }
        names = dict.fromkeys(name for name, _ in cells)
        print_table((f"{axes} attributes: seconds for {rows[0]['wanted']:,} operations",), [])
        print_table(
            ("pair", *(f"removal share {share:g}" for share in shares)),
            [(name, *(cells.get((name, share), "-") for share in shares)) for name in names],
        )
    claims = [(claim, tried, against) for claim, tried, against in published_order(rows) if tried]
    if claims:
        print_table(
            ("published", "holds on", "not on"),
            [
                (claim, f"{tried - len(against)} of {tried}", "; ".join(against) or "-")
                for claim, tried, against in claims
            ],
        )
    _print_gains(rows)


def draw_covering(rows: Sequence[_Row], folder: Path) -> list[Path]:
    """Write a chart for each number of attributes; the files.

    Shown are the structures of the figure; of one that was stopped, the lower bound.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[Path] = []
    for axes in sorted({row["attributes"] for row in rows}):
        lines: dict[str, list[Point]] = {}
        for row in rows:
            if row["attributes"] == axes and row["covering"] in STRUCTURES and row["whole_s"] > 0:
                name = row["covering"] + (", at least" if _is_stopped(row) else "")
                lines.setdefault(name, []).append((row["removal_share"], row["whole_s"]))
        if lines:
            title = f"{axes} attributes, {rows[0]['wanted']:,} operations"
            text = line_chart(title, "removal share", "seconds", lines, linear_x=True)
            drawn.append(folder / f"covering-{axes}.svg")
            drawn[-1].write_text(text, "utf-8")
    return drawn


def _print_gains(rows: Sequence[_Row]) -> None:
    """Print how many times longer than the default pair each pair takes on the last sequence."""
    last = [
        row for row in rows if all(row[k] == rows[-1][k] for k in ("attributes", "removal_share"))
    ]
    base = next((row["whole_s"] for row in last if row["covering"] == OURS), None)
    if base is None:
        return
    about = f"{rows[-1]['attributes']} attributes, removal share {rows[-1]['removal_share']:g}"
    print_table((about,), [])
    print_table(
        ("pair", "operations", "us an operation", "live", "propagated", f"x {OURS}", "covers"),
        [
            (
                row["covering"],
                f"{row['operations']:,}",
                f"{row['operation_us']:,.1f}",
                f"{row['live']:,}",
                f"{row['propagated']:,}",
                f"{'> ' if _is_stopped(row) else ''}{row['whole_s'] / base:,.1f}",
                "VOID" if row["verdict"] == VOID else "hold",
            )
            for row in last
        ],
    )


def _cell(row: _Row) -> str:
    if row["verdict"] == VOID:
        return "VOID"
    return f"> {row['whole_s']:,.1f}" if _is_stopped(row) else f"{row['whole_s']:,.2f}"


def _is_stopped(row: _Row) -> bool:
    return bool(row["operations"] < row["wanted"])
