"""An axis takes the ends of one type of values on one attribute to cells."""

from __future__ import annotations

from sapwood import parse_filter
from sapwood.covering.hull import Hull, hull_of
from sapwood.covering.published.sfc.axes import NumberAxis, TextAxis
from sapwood.covering.published.sfc.scales import LinearScale, RankScale


def hull(text: str) -> Hull:
    return hull_of(parse_filter(text))


def test_number_axis_gives_the_cells_of_the_lowest_and_the_highest_number() -> None:
    axis = NumberAxis("a", LinearScale(0, 16))
    assert axis.span(hull("a > 2 and a < 9"), 4) == (2, 9)
    assert axis.span(hull("a = 2 or a = 5 and b = 1"), 4) == (2, 5)
    assert axis.span(hull("b = 2"), 4) == (0, 15)
    assert axis.span(hull("a = 4 or b = 1"), 4) == (0, 15)
    assert axis.span(hull("a = 'x'"), 4) is None
    assert axis.span(hull("false"), 4) is None


def test_text_axis_gives_the_cells_of_the_lowest_text_and_the_end_of_all() -> None:
    axis = TextAxis("a", RankScale(("b", "x")))
    assert axis.span(hull("a = 'b'"), 4) == (7, 7)
    assert axis.span(hull("a like 'In%'"), 4) == (0, 0)
    assert axis.span(hull("a >= 'x'"), 4) == (15, 15)
    assert axis.span(hull("b = 2"), 4) == (0, 15)
    assert axis.span(hull("a = 2"), 4) is None
