"""Sizes of routing tables of a DTD of one's own, and what its publishers advertise.

The tables are those of the experiment `xpe-tables` (XPE dissemination: figures 1.16 to 1.19, table
1.1), of any DTD and set size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sapwood.cli.output import print_table
from sapwood.xml.dtd import Dtd
from sapwood_lab.benchmarks.figures import Column, print_figures
from sapwood_lab.experiments.xpe_processing import advertised
from sapwood_lab.experiments.xpe_tables import RATES, measure_tables, with_published
from sapwood_lab.workload.documents import shipped_dtd

SIZES: Final = (3_000,)


def run_documents_tables(
    dtd: str | Dtd, sizes: Sequence[int], rates: Sequence[float] = RATES
) -> dict[str, Any]:
    """Measure: a row for each size, covering rate and table, and what the DTD's paths are."""
    known = shipped_dtd(dtd) if isinstance(dtd, str) else dtd
    rows = [
        {"xpes": size, "covering_rate": rate, **row}
        for size in sizes
        for rate in rates
        for row in measure_tables(known, size, rate)
    ]
    return {"tables": with_published(rows), "advertisements": advertised(known)}


_COLUMNS: Final = (
    Column("XPEs", "xpes", ","),
    Column("covered", "covering_rate", ".0%"),
    Column("table", "table"),
    Column("size", "size", ","),
    Column("share", "share", ".1%"),
    Column("published", "published_share", ".1%"),
    Column("ms a path", "path_ms", ".2f"),
    Column("published", "published_ms", ".2f"),
    Column("% false positives", "false_positives_pct", ".1f"),
    Column("verdict", "verdict"),
)


def print_documents_tables(report: Mapping[str, Any]) -> None:
    """Print what `run_documents_tables` returned, beside the published figures."""
    print_figures(report["tables"], _COLUMNS)
    figures = report["advertisements"].items()
    print_table(
        ("advertised", "value"),
        [
            (name, f"{value:,.1f}" if isinstance(value, float) else str(value))
            for name, value in figures
        ],
    )
