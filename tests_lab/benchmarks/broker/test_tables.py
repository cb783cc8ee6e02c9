"""Tables have a row for every cell that has something to say, and Markdown says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sapwood.errors import FileFormatError
from sapwood_lab.benchmarks.broker.cells import FIGURES
from sapwood_lab.benchmarks.broker.tables import TABLES, fill, main, markdown, print_broker


def cell(system: str, **figures: Any) -> dict[str, Any]:
    place = {"workload": "eq", "subscriptions": 10_000, "clients": 10, "hops": 1}
    return {"system": system, **place, **dict.fromkeys(FIGURES), **figures}


MEASURED = dict.fromkeys(FIGURES, 2.0) | {"verdict": "exact", "reason": None}
MEASURED |= {f"delay_{share}_samples": 1500 for share in (10, 50, 80)}

REPORT: dict[str, Any] = {
    "echo": {"frames_per_s": 4.0},
    "peers": {"nats": "2.0"},
    "cells": [
        cell("sapwood", **MEASURED),
        cell("nats", **{**MEASURED, "verdict": "3 lost"}),
        cell("artemis", reason="10,000 subscriptions were not in force within 10 s"),
    ],
    "left_out": {"mosquitto": "it is not there"},
}


def test_markdown_has_a_table_a_topic_and_dashes_with_the_reason() -> None:
    text = markdown(REPORT)
    assert text.count("### ") == len(TABLES)
    assert (
        "| eq | 10,000 | 10 | 1 | sapwood | 2 | 0.50 | 2 | 2.0 | 2.0 | 2.0 | 2.0 | exact |" in text
    )
    assert "| VOID: 3 lost |" in text
    slow = "| artemis | - | - | - | - | - | - | - | 10,000 subscriptions were not in force"
    assert text.count(slow) == 1
    assert text.count("| artemis |") == 1
    assert "| 1,500/1,500/1,500 |" in text
    assert "* Peers: nats 2.0." in text
    assert "* Left out: mosquitto, it is not there." in text


def test_a_terminal_shows_the_same_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_broker(REPORT)
    shown = capsys.readouterr().out
    for title, _ in TABLES:
        assert title in shown
    assert shown.count("artemis") == 1
    assert "VOID: 3 lost" in shown


MACHINE = {"processor": "a processor", "cores": "2", "system": "Linux", "python": "3.11"}


def test_a_page_gets_the_tables_of_a_file_in_the_place_of_older_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, page = tmp_path / "bench.json", tmp_path / "page.md"
    figures.write_bytes(msgspec.json.encode({"machine": MACHINE, "broker": REPORT}))
    main(str(figures))
    shown = capsys.readouterr().out
    assert shown.endswith("* Machine: a processor, 2 cores, Linux, Python 3.11.\n")
    page.write_text("before\n<!-- figures -->\nold\n<!-- end of figures -->\nafter\n")
    for _ in range(2):
        main(str(figures), str(page))
        text = page.read_text()
        assert text == (f"before\n<!-- figures -->\n\n{shown}\n<!-- end of figures -->\nafter\n")


def test_a_page_without_a_place_for_tables_is_refused() -> None:
    with pytest.raises(FileFormatError, match="has no place"):
        fill("before <!-- figures -->", "")
