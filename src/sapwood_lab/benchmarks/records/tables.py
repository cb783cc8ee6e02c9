"""The tables of `sapwood bench records`, in the words of a reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sapwood.cli.output import print_table
from sapwood_lab.benchmarks.figures import Column, print_figures

_CELL_COLUMNS: Final = (
    Column("add us", "add_us", ",.1f"),
    Column("match us", "match_us", ",.1f"),
    Column("latency us", "latency_us", ",.1f"),
    Column("p99 us", "latency_p99_us", ",.1f"),
    Column("publications/s", "publications_per_s", ",.0f"),
    Column("matches", "matches_per_publication", ",.2f"),
    Column("x scan", "scan_ratio", ",.2f"),
    Column("x plain", "plain_ratio", ",.2f"),
    Column("bytes read", "touched_bytes", ",.0f"),
    Column("bandwidth", "bandwidth_share", ".1%"),
    Column("ids", "verdict"),
)
_UPDATE_COLUMNS: Final = (
    Column("add us", "add_us", ",.1f"),
    Column("p99 us", "add_p99_us", ",.1f"),
    Column("remove us", "remove_us", ",.1f"),
    Column("p99 us", "remove_p99_us", ",.1f"),
    Column("match us", "match_us", ",.1f"),
    Column("updates/s", "updates_per_s", ",.0f"),
    Column("ids", "verdict"),
)
_SHARING_COLUMNS: Final = (
    Column("one thread us", "one_thread_us", ",.1f"),
    Column("two threads us", "two_threads_us", ",.1f"),
    Column("speedup", "speedup", ".2f"),
    Column("save s", "save_s", ",.2f"),
    Column("load ms", "load_ms", ",.1f"),
    Column("first match ms", "first_match_ms", ",.2f"),
    Column("ids", "verdict"),
)
_MEMORY_COLUMNS: Final = (
    Column("bytes/subscription", "bytes_per_subscription", ",.0f"),
    Column("without ids", "filter_bytes", ",.0f"),
    Column("", "verdict"),
)
_NAMES: Final = (
    Column("workload", "workload"),
    Column("subscriptions", "subscriptions", ","),
    Column("engine", "engine"),
)


def print_records(report: Mapping[str, Any]) -> None:
    """Print what `run_records` returned."""
    bandwidth = report["bandwidth_bytes_per_s"] / 1e9
    print_figures(
        report["cells"],
        (*_NAMES, *_CELL_COLUMNS),
        f"matching; memory streams at {bandwidth:.1f} GB/s",
    )
    print_figures(report["densities"], (*_NAMES, *_CELL_COLUMNS), "matching by density")
    print_figures(report["updates"], (*_NAMES, *_UPDATE_COLUMNS), "changes while matching")
    print_figures(
        report["sharing"], (*_NAMES, *_SHARING_COLUMNS), "two threads, saving and loading"
    )
    print_figures(report["memory"], (*_NAMES, *_MEMORY_COLUMNS), "memory")
    if report["left_out"]:
        print_table(("left out", "because"), list(report["left_out"].items()))
