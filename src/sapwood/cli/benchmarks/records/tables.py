"""The tables of `sapwood bench records`, in the words of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sapwood.cli.output import print_table

_Row = Mapping[str, Any]

_CELL_COLUMNS: Final = (
    ("add us", "add_us", ",.1f"),
    ("match us", "match_us", ",.1f"),
    ("latency us", "latency_us", ",.1f"),
    ("p99 us", "latency_p99_us", ",.1f"),
    ("publications/s", "publications_per_s", ",.0f"),
    ("matches", "matches_per_publication", ",.2f"),
    ("x scan", "scan_ratio", ",.2f"),
    ("x plain", "plain_ratio", ",.2f"),
    ("bytes read", "touched_bytes", ",.0f"),
    ("bandwidth", "bandwidth_share", ".1%"),
    ("ids", "verdict", ""),
)
_UPDATE_COLUMNS: Final = (
    ("add us", "add_us", ",.1f"),
    ("p99 us", "add_p99_us", ",.1f"),
    ("remove us", "remove_us", ",.1f"),
    ("p99 us", "remove_p99_us", ",.1f"),
    ("match us", "match_us", ",.1f"),
    ("updates/s", "updates_per_s", ",.0f"),
    ("ids", "verdict", ""),
)
_SHARING_COLUMNS: Final = (
    ("one thread us", "one_thread_us", ",.1f"),
    ("two threads us", "two_threads_us", ",.1f"),
    ("speedup", "speedup", ".2f"),
    ("save s", "save_s", ",.2f"),
    ("load ms", "load_ms", ",.1f"),
    ("first match ms", "first_match_ms", ",.2f"),
    ("ids", "verdict", ""),
)
_MEMORY_COLUMNS: Final = (
    ("bytes/subscription", "bytes_per_subscription", ",.0f"),
    ("without ids", "filter_bytes", ",.0f"),
    ("", "verdict", ""),
)
_NAMES: Final = (
    ("workload", "workload", ""),
    ("subscriptions", "subscriptions", ","),
    ("engine", "engine", ""),
)


def print_records(report: Mapping[str, Any]) -> None:
    """Print what `run_records` returned."""
    bandwidth = report["bandwidth_bytes_per_s"] / 1e9
    _print(f"matching; memory streams at {bandwidth:.1f} GB/s", report["cells"], _CELL_COLUMNS)
    _print("matching by density", report["densities"], _CELL_COLUMNS)
    _print("changes while matching", report["updates"], _UPDATE_COLUMNS)
    _print("two threads, saving and loading", report["sharing"], _SHARING_COLUMNS)
    _print("memory", report["memory"], _MEMORY_COLUMNS)
    if report["left_out"]:
        print_table(("left out", "because"), list(report["left_out"].items()))


def _print(title: str, rows: Sequence[_Row], columns: Sequence[tuple[str, str, str]]) -> None:
    if not rows:
        return
    shown = (*_NAMES, *columns)
    cells = [tuple(_text(row[field], form) for _, field, form in shown) for row in rows]
    print_table((title, "", ""), [])
    print_table(tuple(heading for heading, _, _ in shown), cells)


def _text(value: Any, form: str) -> str:
    return "-" if value is None else format(value, form)
