"""Charts are well-formed, complete and the same every time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sapwood.charts.pictures import HEIGHT, WIDTH, line_chart
from sapwood.errors import InvalidValueError

LINES = {"a & b": [(1000.0, 5.0), (10.0, 0.5)], "flat": [(10.0, 5.0), (1000.0, 5.0)], "none": []}
SVG = "{http://www.w3.org/2000/svg}"


def test_line_chart_draws_every_line_within_its_frame() -> None:
    root = ElementTree.fromstring(line_chart("Title <1>", "x", "y", LINES))
    lines = root.findall(f"{SVG}polyline")
    assert len(lines) == 2
    for line in lines:
        for point in line.get("points", "").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert {"a & b", "flat", "Title <1>", "x", "y", "10", "100", "1,000", "0.1"} <= set(texts)
    assert "none" not in texts


def test_line_chart_rises_from_left_to_right_and_sorts_points() -> None:
    root = ElementTree.fromstring(line_chart("t", "x", "y", {"a": LINES["a & b"]}))
    (line,) = root.findall(f"{SVG}polyline")
    (x1, y1), (x2, y2) = (tuple(map(float, p.split(","))) for p in line.get("points", "").split())
    assert x1 < x2
    assert y1 > y2  # pixels grow downwards


def test_line_chart_keeps_labels_apart() -> None:
    lines = {name: [(1.0, 2.0), (10.0, 2.0)] for name in "abcd"}
    root = ElementTree.fromstring(line_chart("t", "x", "y", lines))
    heights = [float(t.get("y", "0")) for t in root.findall(f"{SVG}text") if t.text in lines]
    assert len(set(heights)) == 4
    assert min(b - a for a, b in zip(sorted(heights), sorted(heights)[1:], strict=False)) >= 12


def test_line_chart_is_the_same_every_time() -> None:
    assert line_chart("t", "x", "y", LINES) == line_chart("t", "x", "y", LINES)


@pytest.mark.parametrize("lines", [{"a": [(0.0, 1.0)]}, {"a": [(1.0, -1.0)]}])
def test_line_chart_refuses_what_has_no_logarithm(
    lines: dict[str, list[tuple[float, float]]],
) -> None:
    with pytest.raises(InvalidValueError, match="above 0"):
        line_chart("t", "x", "y", lines)


@pytest.mark.parametrize("lines", [{}, {"a": []}])
def test_line_chart_refuses_to_draw_nothing(lines: dict[str, list[tuple[float, float]]]) -> None:
    with pytest.raises(InvalidValueError, match="needs points"):
        line_chart("t", "x", "y", lines)


def test_line_chart_begins_linear_axes_with_zero_and_rounds_ticks() -> None:
    lines = {"a": [(0.0, 0.0), (0.1, 1.4), (0.4, 7.0)]}
    root = ElementTree.fromstring(line_chart("t", "x", "y", lines, linear_x=True, linear_y=True))
    texts = [text.text for text in root.findall(f"{SVG}text")]
    ticks = ["0", "0.1", "0.2", "0.3", "0.4", "0", "2", "4", "6", "8"]
    assert texts == ["t", *ticks, "x", "y", "a"]
    (line,) = root.findall(f"{SVG}polyline")
    first, second, last = (tuple(map(float, p.split(","))) for p in line.get("points", "").split())
    assert second[0] - first[0] == pytest.approx((last[0] - first[0]) / 4, abs=0.1)
    assert first[1] - second[1] == pytest.approx((first[1] - last[1]) / 5, abs=0.1)


def test_line_chart_has_room_for_lines_of_zeros() -> None:
    ElementTree.fromstring(line_chart("t", "x", "y", {"a": [(1.0, 0.0)]}, linear_y=True))
    with pytest.raises(InvalidValueError, match="begins with 0"):
        line_chart("t", "x", "y", {"a": [(1.0, -1.0)]}, linear_y=True)
