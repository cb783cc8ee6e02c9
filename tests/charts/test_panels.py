from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from sapwood.charts.panels import WIDTH, Layer, Panel, panels

SVG = "{*}"


def panel(name: str, *layers: list[float]) -> Panel:
    times = list(range(len(layers[0]) if layers else 0))
    return Panel(name, times, [Layer(values) for values in layers], "at most 3")


def drawn(*shown: Panel, ends: tuple[str, str] = ("12:00:00", "12:05:00")) -> ElementTree.Element:
    return ElementTree.fromstring(panels(shown, "<entries>", "time", ends))


def corners(root: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners at which the panels' plots begin."""
    moves = [re.findall(r"[\d.]+", group.get("transform", "")) for group in root.iter("g")]
    return [(float(x), float(y)) for x, y in moves]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 40])
def test_panels_stay_inside_and_do_not_overlap(count: int) -> None:
    root = drawn(*(panel(f"r{n}", [n, n + 1.0]) for n in range(count)))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    assert width == WIDTH
    places = corners(root)
    assert len(set(places)) == count
    for group, (x, y) in zip(root.iter("g"), places, strict=True):
        wide = max(float(line.attrib["x2"]) for line in group.iter("line"))
        high = max(float(line.attrib["y1"]) for line in group.iter("line"))
        assert x + wide <= width
        assert y + high <= height
        for other_x, other_y in places:
            beside = other_x >= x + wide or other_x + wide <= x
            below = other_y >= y + high or other_y + high <= y
            assert (other_x, other_y) == (x, y) or beside or below


@pytest.mark.parametrize("count", [1, 5, 40])
def test_numbers_and_ends_stand_where_nothing_is_beyond(count: int) -> None:
    root = drawn(*(panel(f"r{n}", [1.0, 3.0]) for n in range(count)))
    places = corners(root)
    texts = [[text.text for text in group.iter("text")] for group in root.iter("g")]
    left = [place for place, said in enumerate(texts) if "0" in said]
    lowest = [place for place, said in enumerate(texts) if "12:00:00" in said]
    assert left == [n for n, (x, _) in enumerate(places) if x == min(x for x, _ in places)]
    columns = {x: max(y for at, y in places if at == x) for x, _ in places}
    assert {places[n] for n in lowest} == set(columns.items())


def test_numbers_of_a_scale_have_room() -> None:
    for count in (1, 6, 12, 40):
        root = drawn(*(panel(f"r{n}", [1.0, 97.0]) for n in range(count)))
        first = next(root.iter("g"))
        ys = sorted(float(line.attrib["y1"]) for line in first.iter("line"))
        assert all(later - earlier >= 26 for earlier, later in pairwise(ys))
        assert len(ys) >= 2


def test_a_value_holds_until_the_next_and_the_last_until_the_end() -> None:
    one = Panel("a", [0.0, 5.0], [Layer([10.0, 0.0])])
    other = Panel("b", [0.0, 10.0], [Layer([10.0, 10.0])])
    falling, even = (path.attrib["d"] for path in drawn(one, other).iter("path"))
    half, beyond = map(float, re.findall(r"H([\d.]+)", falling)[:2])
    end, also_beyond = map(float, re.findall(r"H([\d.]+)", even)[:2])
    assert half == pytest.approx(end / 2, abs=0.1)
    assert end < beyond == also_beyond
    assert re.findall(r"V([\d.]+)", falling)[:2] == ["0.0", "200.0"]


def test_layers_stand_upon_each_other_and_empty_ones_are_left_out() -> None:
    root = drawn(panel("a", [1.0, 2.0], [0.0, 0.0], [3.0, 3.0]))
    lower, upper = (path.attrib["d"] for path in root.iter("path"))
    assert lower.startswith("M0.0 240.0V192.0")
    assert upper.startswith("M0.0 192.0V48.0")


def test_a_long_name_leaves_room_for_what_stands_beside_it() -> None:
    root = drawn(*(panel("a-broker-with-a-long-name" * 4, [1.0]) for _ in range(40)))
    names = [text.text for text in root.iter("text") if text.get("font-weight")]
    assert names
    assert all(name is not None and len(name) < 20 and name.endswith("…") for name in names)


def test_what_people_wrote_is_escaped() -> None:
    text = panels([Panel("<a&b>", [0.0], [Layer([1.0])], "<c>")], "<up>", "<along>", ("<", ">"))
    ElementTree.fromstring(text)
    assert "<a&b>" not in text
