"""Figures 4.6 and 4.7: cubes and runs."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError
from sapwood_lab.experiments import curve_runs
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row


def rows(*sides: int) -> list[Row]:
    some = curve_runs.configurations(Choices(sides))
    return [{**one, **row} for one in some for row in curve_runs.measure(one)]


def test_both_figures_come_out_as_published() -> None:
    report = curve_runs.report(Choices(), rows(256, 257))
    assert len(report.findings) == 8
    assert all(finding.holds for finding in report.findings), report.findings
    assert report.column("runs")[:4] == [1, 1, 385, 172]


def test_the_runs_of_a_small_square_are_those_by_hand() -> None:
    """Three cells a side in a grid of four: the cube of four cells at the top, five single cells.

    On the Z curve the keys of the cells (1, 1) to (3, 3) are 3, 6, 7, 9, 11 and 12 to 15.
    """
    (z, hilbert), grid = rows(3)[:2], rows(3)[2:]
    assert (z["cubes"], z["runs"]) == (6, 4)
    assert z["largest_share"] == round(5 / 9, 4)
    assert hilbert["cubes"] == 6
    assert [row["grid_rectangles"] for row in grid] == [1296, 1296]


def test_there_is_no_workload_to_choose() -> None:
    with pytest.raises(InputError, match="leave the workload out"):
        curve_runs.configurations(Choices(source="news"))
