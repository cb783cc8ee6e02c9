"""The covering index `columnar` finds what `Filter.covers` finds, with either set of kernels."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.covering.columnar import ColumnarCovering
from sapwood.covering.columnar.columns import Kernels
from sapwood.covering.columnar.index import COVERING
from sapwood.covering.columnar.kernels import compiled, plain
from sapwood.covering.columnar.table import FIT_FROM
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.kdtree import KdTreeCovering
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ATTRIBUTES_MAX
from sapwood.matching.readiness import Awaiting
from sapwood.model.filter import Filter
from sapwood_lab.experiments.covering_time import boxes
from tests.covering.laws import (
    IndexMachine,
    check_all_pairs,
    covered_by,
    covers_of,
)
from tests.examples import examples
from tests.matching.switched import Nobody, Switched

both = pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])


@both
def test_index_answers_for_every_shape(kernels: Kernels) -> None:
    check_all_pairs(ColumnarCovering(kernels))


def test_index_takes_compiled_kernels_when_they_are_at_hand() -> None:
    switched = Switched(COVERING)
    index = ColumnarCovering(awaiting=Awaiting(switched, Nobody(), every=1))
    for key in range(2 * FIT_FROM):
        switched.is_on = key > FIT_FROM
        index.add(key, parse_filter(f"a between {-key} and {key}"))
        assert index._kernels is index._groups.kernels is (compiled if switched.is_on else plain)
        index.validate()
    assert index.cov(parse_filter("a = 0"), 3 * FIT_FROM) == list(range(1, 2 * FIT_FROM))


@pytest.mark.parametrize("ask", ["cov", "covered"])
def test_question_notices_that_kernels_are_at_hand(ask: str) -> None:
    switched = Switched(COVERING)
    index = ColumnarCovering(awaiting=Awaiting(switched, Nobody(), every=1))
    index.add(0, parse_filter("a < 5"))
    switched.is_on = True
    if ask == "cov":
        assert index.cov(parse_filter("a < 4"), 1) == [0]
    else:
        assert index.covered(parse_filter("a < 9")) == [0]
    assert index._kernels is index._groups.kernels is compiled


def test_index_begins_with_compiled_kernels_that_are_at_hand() -> None:
    COVERING.load()
    index = ColumnarCovering()
    index.add(0, parse_filter("a < 5"))
    assert index._kernels is index._groups.kernels is compiled


def test_index_never_reports_the_filter_that_is_asked_about() -> None:
    index = ColumnarCovering()
    index.add(0, parse_filter("a < 5"))
    index.add(1, parse_filter("a < 9"))
    assert index.cov(parse_filter("a < 5"), 2) == [1]
    assert index.covered(parse_filter("a < 9")) == [0]
    index.remove(1)
    assert index.cov(parse_filter("a < 5"), 2) == []


@pytest.mark.parametrize("dimensions", [1, 3])
@pytest.mark.one_in(2)
def test_index_agrees_with_the_k_d_tree_through_packing_and_removal(dimensions: int) -> None:
    random = Random(dimensions)
    fresh = boxes(random, dimensions)
    tried, other = ColumnarCovering(compiled), KdTreeCovering()
    held: dict[int, Filter] = {}
    for step in range(6000):
        if held and random.random() < (0.2 if step < 4000 else 0.7):
            key = random.choice(list(held))
            del held[key]
            for index in (tried, other):
                index.remove(key)
        else:
            key = next(k for k in range(step + 1) if k not in held) if step % 50 == 0 else step
            held[key] = next(fresh)
            for index in (tried, other):
                index.add(key, held[key])
        if step % 400 == 399:
            tried.validate()
            for wanted in [next(fresh), *random.sample(list(held.values()), min(5, len(held)))]:
                assert set(tried.cov(wanted, len(held))) == set(other.cov(wanted, len(held)))
                assert len(tried.cov(wanted, 3)) == min(3, len(other.cov(wanted, 3)))
                assert set(tried.covered(wanted)) == set(other.covered(wanted))


def test_index_holds_filters_on_more_attributes_than_it_has_places_for() -> None:
    texts = [f"z{place:03d} < 5" for place in range(COVERING_ATTRIBUTES_MAX + 5)]
    texts += [f"{text} and {other}" for text, other in zip(texts, texts[5:], strict=False)]
    texts += [f"z{COVERING_ATTRIBUTES_MAX + 2:03d} < 3", "z000 < 3 and y = 1", "false", "true"]
    filters = dict(enumerate(map(parse_filter, texts)))
    index = ColumnarCovering()
    for key, wanted in filters.items():
        index.add(key, wanted)
    index.validate()
    for asked in filters.values():
        assert set(index.cov(asked, len(filters))) == covers_of(filters, asked)
        assert set(index.covered(asked)) == covered_by(filters, asked)


def test_index_gives_earlier_filters_their_place_when_new_attributes_come() -> None:
    texts = [
        "false",
        "true",
        "a = 'x' or a = 5",
        "a = 'x'",
        "a < 9",
        "exists a",
        "b = 'y'",
        "b < 3",
    ]
    texts += [f"c{place} = 1" for place in range(12)] + ["a = 5 and c11 = 1", "c11 = 'x'"]
    filters: dict[int, Filter] = {}
    index = ColumnarCovering()
    for key, wanted in enumerate(map(parse_filter, texts)):
        index.add(key, wanted)
        filters[key] = wanted
        index.validate()
        for asked in map(parse_filter, texts):
            assert set(index.cov(asked, 99)) == covers_of(filters, asked)
            assert set(index.covered(asked)) == covered_by(filters, asked)


def test_validate_finds_a_filter_that_is_wrongly_taken_for_its_hull() -> None:
    index = ColumnarCovering()
    index.add(0, parse_filter("a < 5"))
    index._unsure.remove(0)
    with pytest.raises(InvariantError, match="not its hull"):
        index.validate()


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return ColumnarCovering(compiled)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)
