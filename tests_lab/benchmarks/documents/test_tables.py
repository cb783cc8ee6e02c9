"""Tables show figures, a dash where there are none, and what was left out."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from sapwood_lab.benchmarks.documents.cells import Cell
from sapwood_lab.benchmarks.documents.tables import print_documents


def test_print_documents_shows_rows_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    full = Cell("news", "xtrie", 1000, 1000, "agrees", 1.25, 100, match_us=1234.0)
    given_up = Cell("news", "xtrie", 9999, 7, "not filled in 1 s (7 of 9,999 added)", 9.0)
    print_documents(
        {
            "load_at_start": 0.5,
            "load_at_end": 1.0,
            "cells": [asdict(full), asdict(given_up)],
            "updates": [],
            "memory": [],
            "left_out": {"yfilter valued": "no folder"},
        }
    )
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0].startswith("matching a document, parsing included; load 0.5 to 1.0")
    assert lines[2].split()[:6] == ["news", "1,000", "xtrie", "1.2", "100", "-"]
    assert lines[3].endswith("not filled in 1 s (7 of 9,999 added)")
    assert "left out: yfilter valued: no folder" in shown.err
