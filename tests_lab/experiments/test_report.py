"""Reports."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments.report import Chart, Report, Row, falls, is_within, line, table


def test_report_gives_a_column_from_top_to_bottom() -> None:
    report = Report("t", {}, ("a", "b"), ((1, None), (2, "x")), "nothing")
    assert report.column("a") == [1, 2]
    assert report.column("b") == [None, "x"]
    with pytest.raises(ValueError, match="not in tuple"):
        report.column("c")


def test_table_orders_cells_and_leaves_out_what_has_no_column() -> None:
    assert table(("b", "a"), [{"a": 1, "b": "x", "c": 2}, {"a": 3}]) == (("x", 1), (None, 3))


def test_line_takes_the_rows_that_have_both_numbers() -> None:
    rows: list[Row] = [{"x": 1, "y": 0.5}, {"x": 2}, {"x": 3, "y": "-"}, {"x": 4, "y": 0}]
    assert line(rows, "x", "y") == [(1.0, 0.5), (4.0, 0.0)]


@pytest.mark.parametrize(
    ("values", "holds"),
    [({"a": 3, "b": 2.5, "c": 1}, True), ({"a": 2, "b": 2}, False), ({"a": 1, "b": 2}, False)],
)
def test_falls_holds_where_each_value_is_below_the_one_before(
    values: dict[str, float], holds: bool
) -> None:
    assert falls("they fall", values).holds is holds


def test_findings_say_what_they_compare() -> None:
    assert str(falls("they fall", {"a": 2000, "b": 0.5})) == "holds: they fall (a: 2,000, b: 0.5)"
    assert str(is_within("few", 3, 2)) == "does not hold: few (3 of at most 2)"
    assert is_within("few", 2, 2).holds


def test_chart_leaves_out_points_that_its_axes_do_not_have() -> None:
    lines = {"a": [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)], "b": [(0.0, 0.0)]}
    assert Chart("n", "t", "x", "y", lines).drawn == {"a": [(1.0, 1.0)]}
    assert Chart("n", "t", "x", "y", lines, linear_x=True, linear_y=True).drawn == lines
    assert Chart("n", "t", "x", "y", lines, linear_x=True).drawn == {"a": [(0.0, 1.0), (1.0, 1.0)]}
