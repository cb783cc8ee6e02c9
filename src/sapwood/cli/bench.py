"""`sapwood bench`: measure this machine, write JSON, print tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click

from sapwood.cli.output import json_option, print_json, print_table, say

SUBJECTS: Final = ("matching", "network", "spark", "covering")
DEFAULT_SUBJECTS: Final = SUBJECTS[:3]
COVERING_OPERATIONS: Final = 5_000


@click.command
@click.argument("subjects", nargs=-1, type=click.Choice(SUBJECTS))
@click.option("--workload", default="mix", show_default=True, help="eq, mix or rng.")
@click.option(
    "--seconds", default=10.0, show_default=True, help="About how long each figure is measured."
)
@click.option(
    "--out",
    default="benchmarks/results/bench.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the figures.",
)
@json_option
def command(
    *, subjects: Sequence[str], workload: str, seconds: float, out: Path, as_json: bool
) -> None:
    """Measure matching, the network and Spark on this machine.

    Rates on shared machines vary by a factor of two; compare figures of one run. Without
    SUBJECTS, matching, network and spark are measured; covering takes longer.
    """
    import msgspec

    from sapwood.cli.benchmarks.machine import describe_machine

    report: dict[str, Any] = {"machine": describe_machine()}
    for subject in subjects or DEFAULT_SUBJECTS:
        say(f"measuring {subject} ...")
        report[subject] = _MEASURES[subject](workload, seconds)
        if not as_json:
            _TABLES[subject](report[subject])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=2))
    if as_json:
        print_json(report)
    say(f"figures are in {out}")


def _measure_matching(workload: str, seconds: float) -> list[dict[str, Any]]:
    from sapwood.cli.benchmarks.matching import run_matching

    return [asdict(cell) for cell in run_matching(workload, seconds_a_cell=seconds / 5)]


def _measure_network(_workload: str, seconds: float) -> dict[str, Any]:
    from sapwood.cli.benchmarks.network import run_network

    return run_network(seconds)


def _measure_spark(_workload: str, seconds: float) -> dict[str, Any]:
    from sapwood.cli.benchmarks.spark import run_pipeline_bench

    return run_pipeline_bench(seconds)


def _measure_covering(_workload: str, seconds: float) -> list[dict[str, Any]]:
    from sapwood.cli.benchmarks.covering import run_covering

    return run_covering(COVERING_OPERATIONS, 6, (0.0, 0.2, 0.4), seconds)


def _print_rows(rows: list[dict[str, Any]]) -> None:
    headings = tuple(rows[0])
    print_table(headings, [tuple(_cell(row[name]) for name in headings) for row in rows])


def _print_matching(cells: list[dict[str, Any]]) -> None:
    rows = [
        (
            cell["workload"],
            f"{cell['subscriptions']:,}",
            cell["engine"],
            f"{cell['add_us']:,.1f}",
            f"{cell['match_us']:,.1f}",
            f"{cell['publications_per_s']:,.0f}",
            f"{cell['matches_per_s']:,.0f}",
            "yes" if cell["agrees"] else "NO: row is void",
        )
        for cell in cells
    ]
    headings = (
        "workload",
        "subscriptions",
        "engine",
        "add us",
        "match us",
        "publications/s",
        "matches/s",
        "agrees",
    )
    print_table(headings, rows)


def _print_figures(figures: dict[str, Any]) -> None:
    print_table(("figure", "value"), [(name, _cell(value)) for name, value in figures.items()])


def _cell(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


_MEASURES: Final[Mapping[str, Callable[[str, float], Any]]] = MappingProxyType(
    {
        "matching": _measure_matching,
        "network": _measure_network,
        "spark": _measure_spark,
        "covering": _measure_covering,
    }
)
_TABLES: Final[Mapping[str, Callable[[Any], None]]] = MappingProxyType(
    {
        "matching": _print_matching,
        "network": _print_figures,
        "spark": _print_figures,
        "covering": _print_rows,
    }
)
