"""The compiled kernels do what their plain twins do."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.covering.indexes.columnar.hulls import Hull, hull_of
from sapwood.covering.indexes.columnar.kernels import compiled, plain
from sapwood.covering.indexes.columnar.table import BLOCK, HullTable, Kernels

KERNELS = pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])


def some_hulls(count: int, seed: int) -> list[Hull]:
    """Hulls over numbers, texts and booleans of three attributes."""
    random = Random(seed)
    hulls = []
    for _ in range(count):
        parts = []
        for name in random.sample("abc", random.randint(1, 3)):
            low = random.randint(0, 6)
            texts = (f"{name} between {low} and {low + random.randint(0, 5)}", f"{name} > 'k{low}'")
            parts.append(random.choice((*texts, texts[0], f"{name} = true", f"exists {name}")))
        hulls.append(hull_of(parse_filter(" and ".join(parts))))
    return hulls


def filled(kernels: Kernels) -> HullTable:
    table = HullTable(kernels)
    for key, hull in enumerate(some_hulls(700, 3)):
        table.add(key, hull)
    for key in range(0, 700, 4):
        table.remove(key)
    table.validate()
    return table


def test_rows_are_written_alike() -> None:
    one, other = HullTable(plain), HullTable(compiled)
    for key, hull in enumerate(some_hulls(300, 3)):
        one.add(key, hull)
        other.add(key, hull)
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("room", [1, 5, 1000])
@pytest.mark.parametrize("first", [0, 1, 70, 500])
def test_searches_find_the_same_rows(room: int, first: int) -> None:
    table = filled(compiled)
    sizes = set()
    for hull in some_hulls(60, 8):
        for name, question in (("above", table.above(hull)), ("below", table.below(hull)[0])):
            results = []
            for kernels in (plain, compiled):
                found = np.empty(room, np.int64)
                find = kernels.find_above if name == "above" else kernels.find_below
                count, after = find(table.columns, table.blocks, question, first, found)
                results.append((found[:count].tolist(), after))
            assert results[0] == results[1]
            sizes.add(len(results[0][0]))
    assert len(sizes) > 1


@KERNELS
def test_a_search_goes_on_where_it_stopped(kernels: Kernels) -> None:
    table = filled(kernels)
    question = table.above(hull_of(parse_filter("a = 3 and b = true and c = 'k9'")))
    everything = np.empty(1000, np.int64)
    total, _ = kernels.find_above(table.columns, table.blocks, question, 0, everything)
    assert total > 20
    pieces: list[int] = []
    row = 0
    while row < table.blocks * BLOCK:
        found = np.empty(7, np.int64)
        count, row = kernels.find_above(table.columns, table.blocks, question, row, found)
        pieces += found[:count].tolist()
    assert pieces == everything[:total].tolist()


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1000])
def test_arrangements_put_the_same_points_into_a_block(size: int) -> None:
    """Values are distinct, so that halves are defined; the order inside a block is not."""
    points = np.random.default_rng(size).permutation(4 * size).reshape(4, size).astype(np.float64)
    orders = [kernels.arrange(points, 64) for kernels in (plain, compiled)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(size))
    for start in range(0, size, 64):
        one, other = (set(order[start : start + 64].tolist()) for order in orders)
        assert one == other


@KERNELS
def test_an_arrangement_divides_by_the_dimension_that_tells_points_apart(kernels: Kernels) -> None:
    points = np.full((3, 640), np.inf)
    points[1] = np.random.default_rng(1).permutation(640)
    order = kernels.arrange(points, 64)
    blocks = points[1, order].reshape(-1, 64)
    assert (np.ptp(blocks, axis=1) <= 128).all()


@KERNELS
def test_an_arrangement_without_dimensions_keeps_the_order(kernels: Kernels) -> None:
    assert kernels.arrange(np.empty((0, 100)), 64).tolist() == list(range(100))
