from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.pipeline.report.charts import (
    Axes,
    Bar,
    Line,
    bars,
    columns,
    legend,
    lines,
    number,
    ticks,
)


@pytest.mark.parametrize(
    "plot",
    [
        bars([]),
        bars([Bar("a", 0), Bar("b", 0)]),
        bars([Bar("<a>", 5, 2), Bar("b", 2.5, tooltip="<&>")]),
        columns([]),
        columns([Bar("1", 3), Bar("2", 0)]),
        columns([Bar("1", 3, beside="<1 s>")], Axes("<up>", "<along>", unit=" %")),
        lines([]),
        lines([Line("one", [(0, 1)])], Axes("up", "along", ("a", "<b>"))),
        lines([Line("one", [(0, 1), (5, 3)]), Line("two", [(0, 0)], "even")]),
        lines([Line("many", [(x, x % 7) for x in range(100)])]),
    ],
)
def test_plots_are_well_formed_and_stay_inside(plot: str) -> None:
    root = ElementTree.fromstring(plot)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for element in root.iter():
        for name, bound in (("x", width), ("y", height), ("cx", width), ("cy", height)):
            assert 0 <= float(element.get(name, 0)) <= bound
        assert float(element.get("width", 0)) <= width


def test_the_longest_bar_takes_the_room_and_others_their_share() -> None:
    root = ElementTree.fromstring(bars([Bar("a", 10), Bar("b", 5)]))
    first = [float(r.attrib["width"]) for r in root.iter("rect") if r.get("class") == "first"]
    assert first[0] == pytest.approx(2 * first[1], abs=0.1)


@pytest.mark.parametrize(
    ("most", "steps"),
    [
        (0, [0, 1]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (14_632, [0, 5_000, 10_000, 15_000]),
        (100, [0, 20, 40, 60, 80, 100]),
    ],
)
def test_ticks_are_round(most: float, steps: list[float]) -> None:
    assert ticks(most) == pytest.approx(steps)


@given(st.floats(1e-9, 1e15))
def test_ticks_reach_over_what_is_plotted_and_are_few(most: float) -> None:
    steps = ticks(most)
    assert steps[0] == 0
    assert most * (1 - 1e-6) <= steps[-1] < 2 * most
    assert 2 <= len(steps) <= 6


def test_marks_are_left_out_where_they_would_hide_the_line() -> None:
    few, many = (lines([Line("a", [(x, 1) for x in range(n)])]) for n in (5, 500))
    assert few.count("<circle") == 5
    assert "<circle" not in many


def test_legend_names_the_colors() -> None:
    assert "&lt;mine&gt;" in legend([("first", "<mine>")])


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (1234567, "1,234,567"), (2.0, "2"), (0.12345, "0.123")]
)
def test_numbers_are_written_for_people(value: float, written: str) -> None:
    assert number(value) == written
