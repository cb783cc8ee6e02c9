from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sapwood.pipeline.charts import Bar, Line, bars, columns, lines, number


@pytest.mark.parametrize(
    "plot",
    [
        bars([]),
        bars([Bar("a", 0), Bar("b", 0)]),
        bars([Bar("<a>", 5, 2), Bar("b", 2.5, told="<&>")]),
        columns([]),
        columns([Bar("1", 3), Bar("2", 0)]),
        lines([], "a", "b"),
        lines([Line("one", [(0, 1)])], "a", "<b>"),
        lines([Line("one", [(0, 1), (5, 3)]), Line("two", [(0, 0)], "even")], "a", "b"),
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
    ("value", "written"), [(0, "0"), (1234567, "1,234,567"), (2.0, "2"), (0.12345, "0.123")]
)
def test_numbers_are_written_for_people(value: float, written: str) -> None:
    assert number(value) == written
