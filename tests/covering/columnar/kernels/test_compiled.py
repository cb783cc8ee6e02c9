"""The compiled kernels do what their plain twins do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.covering.columnar.columns import BLOCK, FOUND_MAX, Kernels
from sapwood.covering.columnar.kernels import compiled, plain
from sapwood.covering.columnar.points import Point, point_of
from sapwood.covering.columnar.table import FIT_FROM, PointTable

KERNELS = pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])


def random_points(count: int, seed: int) -> list[Point]:
    """Hulls over numbers, texts and booleans of three attributes."""
    random = Random(seed)
    points = []
    for _ in range(count):
        parts = []
        for name in random.sample("abc", random.randint(1, 3)):
            low = random.randint(0, 6)
            texts = (f"{name} between {low} and {low + random.randint(0, 5)}", f"{name} > 'k{low}'")
            parts.append(random.choice((*texts, texts[0], f"{name} = true", f"exists {name}")))
        points.append(point_of(parse_filter(" and ".join(parts))))
    return points


def filled(kernels: Kernels) -> PointTable:
    table = PointTable(kernels)
    for key, point in enumerate(random_points(700, 3)):
        table.add(key, point)
    for key in range(0, 700, 4):
        table.remove(key)
    table.validate()
    return table


def test_rows_are_written_alike() -> None:
    one, other = PointTable(plain), PointTable(compiled)
    for key, point in enumerate(random_points(300, 3)):
        one.add(key, point)
        other.add(key, point)
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("limit", [1, 5, FOUND_MAX])
@pytest.mark.parametrize("first", [0, 1, 70, 500])
@pytest.mark.one_in(3)
def test_searches_find_the_same_rows(limit: int, first: int) -> None:
    tables = [filled(kernels) for kernels in (plain, compiled)]
    sizes = set()
    for point in random_points(60, 8):
        for upwards in (True, False):
            results = []
            for table in tables:
                view = table.upward if upwards else table.downward
                layout = table.load(point)
                question = layout.above if upwards else layout.below
                find = table.kernels.find_above if upwards else table.kernels.find_below
                count, after = find(view, question, table.blocks, first, limit)
                results.append((table.found[:count].tolist(), after))
            assert results[0] == results[1]
            sizes.add(len(results[0][0]))
    assert len(sizes) > 1


@KERNELS
def test_a_search_goes_on_where_it_stopped(kernels: Kernels) -> None:
    table = filled(kernels)
    question = table.load(point_of(parse_filter("a = 3 and b = true and c = 'k9'"))).above
    pieces: dict[int, list[int]] = {7: [], FOUND_MAX: []}
    for limit in pieces:
        row = 0
        while row < table.blocks * BLOCK:
            count, row = kernels.find_above(table.upward, question, table.blocks, row, limit)
            pieces[limit] += table.found[:count].tolist()
    assert pieces[7] == pieces[FOUND_MAX]
    assert len(pieces[7]) > FOUND_MAX


def test_rows_are_given_up_alike() -> None:
    one, other = filled(plain), filled(compiled)
    assert one.columns.live.tolist() == other.columns.live.tolist()


def test_levels_are_written_alike() -> None:
    table = filled(compiled)
    assert len(table) > FIT_FROM
    columns = table.columns
    reaches = []
    for kernels in (plain, compiled):
        reach = np.zeros_like(columns.reach)
        kernels.level_rows(columns.ends, reach, columns.cuts, 1, 3, table.blocks)
        reaches.append(reach)
    np.testing.assert_array_equal(reaches[0], reaches[1])
    assert reaches[0].any()


def test_kernels_may_be_exchanged() -> None:
    table = filled(plain)
    point = point_of(parse_filter("a = 3 and b = true"))
    asked = (table.blocks, 0, FOUND_MAX)
    expected = plain.find_above(table.upward, table.load(point).above, *asked)
    seen = table.found[: expected[0]].tolist()
    table.use(compiled)
    again = compiled.find_above(table.upward, table.load(point).above, *asked)
    assert again == expected
    assert table.found[: again[0]].tolist() == seen
    table.add(1000, point)
    table.validate()
