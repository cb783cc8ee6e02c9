"""Tables show figures, and a dash where there are none."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from sapwood_lab.benchmarks.records.cells import Cell
from sapwood_lab.benchmarks.records.sharing import Sharing
from sapwood_lab.benchmarks.records.tables import print_records
from sapwood_lab.benchmarks.records.updates import Updates


def test_print_records_shows_what_was_given_up(capsys: pytest.CaptureFixture[str]) -> None:
    full = Cell("mix", "columnar", 1000, 1000, "agrees", 1.25, match_us=2.5, scan_ratio=4.0)
    given_up = Cell("mix", "reference", 1000, 7, "not filled in 1 s (7 of 1,000 added)", 9.0)
    print_records(
        {
            "bandwidth_bytes_per_s": 32e9,
            "cells": [asdict(full), asdict(given_up)],
            "densities": [],
            "updates": [asdict(Updates("mix", "columnar", 10, "agrees", add_us=3.0))],
            "sharing": [asdict(Sharing("mix", "columnar", 10, "agrees", speedup=1.75))],
            "memory": [],
            "left_out": {"flights": "the package is not installed"},
        }
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("matching; memory streams at 32.0 GB/s")
    assert lines[2].split()[:5] == ["mix", "1,000", "columnar", "1.2", "2.5"]
    assert lines[3].endswith("not filled in 1 s (7 of 1,000 added)")
    assert "-" in lines[3]
    assert not any(line.startswith("memory  ") for line in lines)
    assert any("1.75" in line for line in lines)
    assert lines[-1].split(maxsplit=1) == ["flights", "the package is not installed"]
