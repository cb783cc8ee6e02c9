"""Groups of one shape: placed together as one by one, with crowds, tables and wide filters."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.columnar import ColumnarCovering, groups
from sapwood.covering.columnar.columns import Kernels
from sapwood.covering.columnar.groups import SURE, Groups
from sapwood.covering.columnar.kernels import compiled, plain
from sapwood.covering.columnar.plans import wants_of
from sapwood.covering.columnar.points import point_of
from sapwood.model.filter import Filter
from tests.covering.laws import DISTINCT, covered_by, covers_of
from tests.examples import examples

BOTH = pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])


def drawn(count: int, seed: int) -> list[Filter]:
    """Boxes on up to three of some attributes, texts among them."""
    random = Random(seed)
    found: dict[Filter, None] = {}
    while len(found) < count:
        parts = []
        for name in random.sample("abcd", random.randint(1, 3)):
            low = random.randint(0, 20)
            parts.append(
                random.choice(
                    (
                        f"{name} between {low} and {low + random.randint(0, 30)}",
                        f"{name} > {low}",
                        f"{name} = 'k{low}'",
                        f"exists {name}",
                    )
                )
            )
        found[parse_filter(" and ".join(parts))] = None
    return list(found)


@BOTH
@pytest.mark.parametrize("crowd_max", [4, 1024])
@given(order=st.permutations(range(len(DISTINCT))), cut=st.integers(0, 12), limit=st.integers(1, 3))
@settings(max_examples=examples(8))
@pytest.mark.one_in(4)
def test_many_are_placed_as_they_are_one_by_one(
    kernels: Kernels, crowd_max: int, order: list[int], cut: int, limit: int
) -> None:
    together, alone = ColumnarCovering(kernels), ColumnarCovering(kernels)
    filters = [DISTINCT[number] for number in order] + drawn(60, cut)
    filters = list(dict.fromkeys(filters))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(groups, "CROWD_MAX", crowd_max)
        for first in range(0, len(filters), cut + 1):
            keys = range(first, min(len(filters), first + cut + 1))
            some = [filters[key] for key in keys]
            found = together.place_many(keys, some, limit)
            for key, wanted, covers in zip(keys, some, found, strict=True):
                expected = alone.cov(wanted, limit)
                assert len(covers) == len(expected)
                assert all(filters[one].covers(wanted) for one in covers)
                alone.add(key, wanted)
        for key in range(0, len(filters), 3):
            together.remove(key)
        together.validate()
    held = {key: one for key, one in enumerate(filters) if key % 3}
    for wanted in filters[:20]:
        assert set(together.cov(wanted, len(filters))) == covers_of(held, wanted)
        assert set(together.covered(wanted)) == covered_by(held, wanted)


def test_a_filter_on_many_attributes_finds_covers_on_some_of_them() -> None:
    index = ColumnarCovering(compiled)
    wide = parse_filter(" and ".join(f"x{number:02} > {number}" for number in range(40)))
    index.add(0, parse_filter("x07 > 3 and x31 > 3"))
    index.add(1, parse_filter("x07 > 3 and y > 3"))
    index.add(2, parse_filter("true"))
    index.add(3, wide)
    assert set(index.cov(wide, 9)) == {0, 2}
    assert index.covered(parse_filter("x07 > 3")) != []
    assert set(index.covered(parse_filter("x07 > 3"))) == {0, 1, 3}


def test_the_worked_example() -> None:
    texts = ("price >= 5", "price between 10 and 20", "halted and price between 10 and 12")
    held = Groups(compiled)
    for key, text in enumerate(texts):
        point = point_of(parse_filter(text))
        held.add(key, point, is_sure=point.is_filter)
    rows_room_stride = [held._places[4 * group + 1 : 4 * group + 4].tolist() for group in (0, 1)]
    assert rows_room_stride == [[2, 2, 3], [1, 1, 3]]
    asked = point_of(parse_filter("halted and price = 15"))
    assert held._plan(asked.shape).crowds.tolist() == [0, 2, 0, 0, 1, 1, 1, 2, 0, 0, 1, 1]
    assert list(held.above(asked, SURE)) == [0, 1]


def test_a_plan_is_made_again_as_groups_that_belong_to_it_come_grow_and_go() -> None:
    held = Groups(compiled)
    texts = ("a = 1 and b = 1", "c = 1", "b < 9", "b < 'x'", "b = 3 and c = 3", "exists a")
    asked = point_of(parse_filter(texts[0]))
    found: list[int] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(groups, "CROWD_MAX", 1)
        for key, text in enumerate((*texts, "b < 8")):  # the last one gives a group a table
            held.add(key, point_of(parse_filter(text)), is_sure=True)
            plan = held._plan(asked.shape)
            found.append(len(plan.parts()))
            assert plan.parts() == held._planned(wants_of(asked.shape)).parts()
    assert found == [1, 1, 2, 2, 2, 3, 3]
    for key in (2, 6, 5):
        held.remove(key)
        assert held._plan(asked.shape).parts() == held._planned(wants_of(asked.shape)).parts()
    assert len(held._plan(asked.shape).parts()) == 1


def test_what_an_empty_group_had_is_taken_again() -> None:
    held = Groups(compiled)
    for number in range(300):
        point = point_of(parse_filter(f"a{number} = 1 and b < {number}"))
        held.add(0, point, is_sure=False)
        held.remove(0)
    assert len(held) == 0
    assert len(held._arena) == 1024
    assert len(held._groups) == 1
    assert not held._with
    assert np.count_nonzero(held._group_of >= 0) == 0
