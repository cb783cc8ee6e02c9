"""The tables of `sapwood bench documents`, in the words of a reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sapwood.cli.output import say
from sapwood_lab.benchmarks.figures import Column, print_figures

_NAMES: Final = (
    Column("workload", "workload"),
    Column("expressions", "expressions", ","),
    Column("engine", "engine"),
)
_CELL_COLUMNS: Final = (
    Column("add us", "add_us", ",.1f"),
    Column("documents", "documents", ","),
    Column("first us", "first_us", ",.0f"),
    Column("match us", "match_us", ",.0f"),
    Column("cpu us", "cpu_us", ",.0f"),
    Column("parse us", "parse_us", ",.0f"),
    Column("x parse", "times_parse", ",.2f"),
    Column("x automaton", "times_automaton", ",.1f"),
    Column("matches", "matches_per_document", ",.3f"),
    Column("matches are", "verdict"),
)
_UPDATE_COLUMNS: Final = (
    Column("add us", "add_us", ",.1f"),
    Column("remove us", "remove_us", ",.1f"),
    Column("first us", "first_us", ",.0f"),
    Column("match us", "match_us", ",.0f"),
    Column("after reading us", "reading_us", ",.0f"),
    Column("after changes us", "changing_us", ",.0f"),
    Column("matches", "verdict"),
)
_MEMORY_COLUMNS: Final = (
    Column("bytes/expression", "bytes_per_expression", ",.0f"),
    Column("process", "resident_bytes", ","),
    Column("", "verdict"),
)


def print_documents(report: Mapping[str, Any]) -> None:
    """Print what `run_documents` returned."""
    load = f"load {report['load_at_start']:.1f} to {report['load_at_end']:.1f}"
    print_figures(
        report["cells"], (*_NAMES, *_CELL_COLUMNS), f"matching a document, parsing included; {load}"
    )
    print_figures(report["updates"], (*_NAMES, *_UPDATE_COLUMNS), "changes between documents")
    print_figures(report["memory"], (*_NAMES, *_MEMORY_COLUMNS), "memory")
    for name, reason in report["left_out"].items():
        say(f"left out: {name}: {reason}")
