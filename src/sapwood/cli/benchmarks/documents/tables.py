"""The tables of `sapwood bench documents`, in the words of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sapwood.cli.output import print_table, say

_Row = Mapping[str, Any]

_NAMES: Final = (
    ("workload", "workload", ""),
    ("expressions", "expressions", ","),
    ("engine", "engine", ""),
)
_CELL_COLUMNS: Final = (
    ("add us", "add_us", ",.1f"),
    ("documents", "documents", ","),
    ("first us", "first_us", ",.0f"),
    ("match us", "match_us", ",.0f"),
    ("cpu us", "cpu_us", ",.0f"),
    ("parse us", "parse_us", ",.0f"),
    ("x parse", "times_parse", ",.2f"),
    ("x automaton", "times_automaton", ",.1f"),
    ("matches", "matches_per_document", ",.3f"),
    ("matches are", "verdict", ""),
)
_UPDATE_COLUMNS: Final = (
    ("add us", "add_us", ",.1f"),
    ("remove us", "remove_us", ",.1f"),
    ("first us", "first_us", ",.0f"),
    ("match us", "match_us", ",.0f"),
    ("after reading us", "reading_us", ",.0f"),
    ("after changes us", "changing_us", ",.0f"),
    ("matches", "verdict", ""),
)
_MEMORY_COLUMNS: Final = (
    ("bytes/expression", "bytes_per_expression", ",.0f"),
    ("process", "resident_bytes", ","),
    ("", "verdict", ""),
)


def print_documents(report: Mapping[str, Any]) -> None:
    """Print what `run_documents` returned."""
    load = f"load {report['load_at_start']:.1f} to {report['load_at_end']:.1f}"
    _print(f"matching a document, parsing included; {load}", report["cells"], _CELL_COLUMNS)
    _print("changes between documents", report["updates"], _UPDATE_COLUMNS)
    _print("memory", report["memory"], _MEMORY_COLUMNS)
    for name, reason in report["left_out"].items():
        say(f"left out: {name}: {reason}")


def _print(title: str, rows: Sequence[_Row], columns: Sequence[tuple[str, str, str]]) -> None:
    if not rows:
        return
    shown = (*_NAMES, *columns)
    cells = [tuple(_text(row[field], form) for _, field, form in shown) for row in rows]
    print_table((title, "", ""), [])
    print_table(tuple(heading for heading, _, _ in shown), cells)


def _text(value: Any, form: str) -> str:
    return "-" if value is None else format(value, form)
