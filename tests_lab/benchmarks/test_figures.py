from typing import Any

import pytest

from sapwood_lab.benchmarks.figures import Column, print_figures

COLUMNS = (Column("engine", "engine"), Column("us", "match_us", ",.1f"))


def test_figures_stand_below_their_headings(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[dict[str, Any]] = [
        {"engine": "counting", "match_us": 1234.56, "other": 1},
        {"engine": "columnar", "match_us": None},
    ]
    print_figures(rows, COLUMNS, "matching")
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed == [["matching"], ["engine", "us"], ["counting", "1,234.6"], ["columnar", "-"]]


def test_a_table_without_rows_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_figures([], COLUMNS, "matching")
    assert not capsys.readouterr().out
