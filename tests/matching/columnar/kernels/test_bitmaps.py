"""Bitmaps, filled and read by compiled code, against the plain twins."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.kernels import compiled
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made, measured, told
from tests.strategies import records

SHAPES = (
    "a = {0} and b between {1} and {2}",
    "a between {1} and {2} and b between {0} and {3} and c <> {1}",
    "a in ({0}, {1}) and b > {2}",
    "b < {1} and c is null",
    "a > {0} and (c in ({1}, {2}) or b = {3})",
    "a = {0} and c like '%x%'",
)
"""Filters of which many lie in one cluster."""


@settings(max_examples=examples(40))
@given(
    seed=st.integers(0, 2**32 - 1),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3, unique=True),
    size=st.integers(60, 400),
    spread=st.integers(2, 40),
    asked=st.lists(records(), max_size=2),
)
def test_bitmaps_leave_exactly_what_the_twin_finds(
    seed: int, shapes: list[str], size: int, spread: int, asked: list[Record]
) -> None:
    random = Random(seed)
    texts = [
        random.choice(shapes).format(*sorted(random.randrange(spread) for _ in range(4)))
        for _ in range(size)
    ]
    whole = made(texts)
    segment = build(whole.rows, len(whole.attributes), compiled, whole.patterns())
    twin = whole.segment()
    assert segment.buffer.tolist() == twin.buffer.tolist()
    for slot in random.sample(range(size), size // 5):
        segment.remove(slot, plain)
    met: list[Record] = [
        {"a": random.randrange(spread), "b": random.randrange(spread)} for _ in range(3)
    ]
    met += [{**met[0], "c": "x"}, {"b": 1, "c": 2.5}, {"a": 1}]
    found = whole.found(compiled, segment, [*met, *asked])
    assert told(found, segment) == told(whole.found(plain, segment, [*met, *asked]), segment)
    assert measured(compiled, whole, segment, met) == measured(plain, whole, segment, met)
