"""Points that are read at once are those that are made one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.columnar import batches
from sapwood.covering.columnar.batches import PointReader, Points
from sapwood.covering.columnar.points import point_of
from sapwood.covering.hull import NUMBER, TEXT
from sapwood.matching.readiness import RECORDS
from sapwood.model.filter import NOTHING, Filter
from tests.covering.laws import DISTINCT
from tests.examples import examples
from tests.strategies import filters

PLAIN = [
    parse_filter(text)
    for text in (
        *("a = 5", "a between -3 and 7", "a > 1 and b < 2.5", "b >= 1e300", "a <= -0.0"),
        *("s = 'x'", "s = ''", "s >= 'größer als'", "s < 'm' and a = 0", "s like 'abcdefghij%'"),
        *("s = 'abcdefgh' and t = 'abcdefghi'", "a = 9007199254740992", "true", "s > ''"),
    )
]


@pytest.fixture(autouse=True)
def _kernels() -> None:
    RECORDS.load()


def check(reader: PointReader, some: list[Filter]) -> None:
    points = reader.read(some)
    made = [point_of(one) for one in some]
    assert [points.point(at) for at in range(len(some))] == made
    assert [len(points.shapes), len(points.first_end) - 1] == [len(some)] * 2
    assert points.first_end[-1] == len(points.ends)


@given(st.lists(st.sampled_from(PLAIN) | filters(), max_size=40), st.integers(0, 3))
@settings(max_examples=examples(60))
def test_points_are_read_as_they_are_made(some: list[Filter], repeats: int) -> None:
    reader = PointReader()
    check(reader, some)
    check(reader, some * repeats)


def test_points_are_read_among_odd_filters_and_without_these() -> None:
    reader = PointReader()
    check(reader, PLAIN * 3)
    check(reader, [*PLAIN, *DISTINCT, NOTHING])
    check(reader, [NOTHING] * 20)
    check(reader, [parse_filter("true")] * 20)


def test_shapes_are_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_REMEMBERED_MAX", 6)
    reader = PointReader()
    for first in range(0, 60, 20):
        check(reader, [parse_filter(f"a{first + at} = 1") for at in range(20)])
    assert len(reader._shapes) == 20


def test_the_worked_example() -> None:
    some = [parse_filter("price between 10 and 20"), parse_filter("halted = 'x' and price >= 5")]
    points = Points.of([point_of(one) for one in some])
    assert points.shapes == [("price", NUMBER), ("halted", TEXT, "price", NUMBER)]
    assert points.first_end.tolist() == [0, 2, 6]
    assert points.ends[[0, 1, 4, 5]].tolist() == [-10, 20, -5, float("inf")]
    assert points.is_filter.tolist() == [True, False]
