from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sapwood.charts.plots import Axes, Bar, Line, bars, columns, legend, lines


@pytest.mark.parametrize(
    "plot",
    [
        bars([]),
        bars([Bar("a", 0), Bar("b", 0)]),
        bars([Bar("<a>", 5, 2), Bar("b", 2.5, title="<&>")]),
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


def test_marks_are_left_out_where_they_would_hide_the_line() -> None:
    few, many = (lines([Line("a", [(x, 1) for x in range(n)])]) for n in (5, 500))
    assert few.count("<circle") == 5
    assert "<circle" not in many


def test_legend_names_the_colors() -> None:
    assert "&lt;mine&gt;" in legend([("first", "<mine>")])
