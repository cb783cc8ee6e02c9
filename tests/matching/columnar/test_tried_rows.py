"""Rows that are tried by a kernel: the same matches as of the filters, whatever goes and comes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InvalidValueError
from sapwood.language import parse_filter
from sapwood.matching.columnar.batch import encoded
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.kernels import compiled
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.searching import LazyKernels, Searcher
from sapwood.matching.columnar.trial import Trial
from sapwood.matching.columnar.tried_rows import (
    NO_HASH,
    TriedFilters,
    TriedRows,
    access_hash,
)
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels
from tests.strategies import filters, records

KERNELS = pytest.mark.parametrize("kernels", [compiled, plain_kernels])


def tried(given: Sequence[tuple[int, Filter]]) -> TriedFilters:
    """The filters as a kernel tries them, with numbers for all attributes."""
    forms = [Trial(one).form() or () for _, one in given]
    names = sorted({one[0] for form in forms for part in form for one in part})
    attributes: dict[Attribute, int] = {name: number for number, name in enumerate(names)}
    found = TriedFilters(attributes, LikePredicates(), lambda: plain_kernels.read_forms)
    for slot, one in given:
        found.add(slot, one, Trial(one).form())
    return found


def pairs(
    found: TriedFilters, records: Sequence[Record], kernels: ModuleType
) -> set[tuple[int, int]]:
    searcher = Searcher(found._attributes, LazyKernels(kernels))
    rows = found.rows()
    numbers, slots = rows.matches(searcher.try_rows(rows, records, encoded(records)))
    if not rows.repeats:
        assert len(set(zip(numbers.tolist(), slots.tolist(), strict=True))) == len(numbers)
    assert np.all(np.diff(numbers) >= 0)
    return set(zip(numbers.tolist(), slots.tolist(), strict=True))


@KERNELS
@settings(max_examples=examples(60))
@given(
    given=st.lists(filters(patterns=False), min_size=1, max_size=6),
    some=st.lists(records(), max_size=4),
    gone=st.sets(st.integers(0, 5)),
)
def test_rows_accept_what_their_filters_accept(
    kernels: ModuleType, given: list[Filter], some: list[Record], gone: set[int]
) -> None:
    found = tried(list(enumerate(given)))
    for slot in gone:
        if slot in found:
            found.remove(slot)
    expected = {
        (number, slot)
        for number, record in enumerate(some)
        for slot, one in enumerate(given)
        if slot in found and one.accepts(record)
    }
    assert pairs(found, some, kernels) == expected


@KERNELS
@pytest.mark.parametrize(
    ("text", "accepted", "others"),
    [
        ("a = 9007199254740993", [9007199254740993], [9007199254740992, 9007199254740994, "x"]),
        ("a > 9007199254740992", [9007199254740993, 1e300], [9007199254740992, True, "1"]),
        ("a >= 1 and a < 2.5", [1, 1.0, 2], [2.5, 0, "1", True]),
        ("a = 0", [0, -0.0], [1, False, ""]),
        ("a < 'b'", ["a", "", "az"], ["b", "ba", 1]),
        ("a = 'é'", ["é"], ["e", "éa"]),
        ("a = true", [True], [False, 1, "true"]),
        ("exists a", [True, 0, ""], []),
        ("a in (1, 'x', 5)", [1, 5, "x"], [2, "y", "xx"]),
        ("a != 3", [2, 4, 3.5], [3, 3.0]),
    ],
)
def test_values_at_the_ends_of_ranges(
    kernels: ModuleType, text: str, accepted: list[object], others: list[object]
) -> None:
    found = tried([(7, parse_filter(text))])
    assert len(found) == 1
    some: list[Record] = [{"a": value} for value in (*accepted, *others)]  # type: ignore[dict-item]
    expected = {(number, 7) for number, one in enumerate(some) if parse_filter(text).accepts(one)}
    assert expected >= {(number, 7) for number in range(len(accepted))}
    assert pairs(found, some, kernels) == expected


@KERNELS
def test_records_that_cannot_be_read_are_refused(kernels: ModuleType) -> None:
    found = tried([(0, parse_filter("a = 1"))])
    searcher = Searcher(found._attributes, LazyKernels(kernels))
    some = [{"a": 1}, {"a": None}]
    with pytest.raises(InvalidValueError):
        searcher.try_rows(found.rows(), some, encoded(some))  # type: ignore[arg-type]


def test_filters_on_new_attributes_and_general_patterns_are_for_others_to_try() -> None:
    attributes: dict[Attribute, int] = {"a": 0}
    found = TriedFilters(attributes, LikePredicates(), lambda: plain_kernels.read_forms)
    for slot, text in enumerate(("a = 1", "b = 1", "a like '%x%y%'")):
        one = parse_filter(text)
        assert found.add(slot, one, Trial(one).form()) == (slot == 0)
    assert len(found) == 1
    assert attributes == {"a": 0}


def test_rows_of_filters_that_went_are_not_tried_for_ever() -> None:
    found = tried([(slot, parse_filter(f"a = {slot}")) for slot in range(200)])
    for slot in range(150):
        found.remove(slot)
    assert len(found) == 50
    assert len(found._writer) <= 120
    assert pairs(found, [{"a": 160}, {"a": 3}], plain_kernels) == {(0, 160)}


def test_an_engine_tries_what_came_beside_its_segments_by_a_kernel() -> None:
    engine = ColumnarEngine()
    for slot in range(300):
        engine.add(slot, parse_filter(f"a = {slot % 50}"))
    engine.fold()
    for slot in range(300, 310):
        engine.add(slot, parse_filter("a = 7 or a = 8 and exists b"))
    engine.remove(305)
    assert len(engine._triable) == 0  # `b` is new
    engine.add(400, parse_filter("a = 7 or a < 3"))
    assert len(engine._triable) == 1
    found = engine.match_slots([{"a": 7}, {"a": 2}, {"a": 9}])
    wanted = [
        [*range(7, 300, 50), 300, 301, 302, 303, 304, 306, 307, 308, 309, 400],
        [*range(2, 300, 50), 400],
        [*range(9, 300, 50)],
    ]
    lists = np.split(found.slots, found.offsets[1:-1])
    assert [one.tolist() for one in lists] == wanted
    assert [engine.match({"a": 7}), engine.match({"a": 2})] == wanted[:2]
    engine.remove(400)
    assert engine.match({"a": 2}) == wanted[1][:-1]
    engine.validate()


TEXTS = ("", "a", "é", "1234567", "12345678", "1234567é", "x" * 40, "x" * 20 + "y" + "x" * 19)


@KERNELS
@settings(max_examples=examples(40))
@given(st.data())
def test_rows_stay_what_they_were_while_filters_come_and_go(
    kernels: ModuleType, data: st.DataObject
) -> None:
    values = st.one_of(
        st.integers(-3, 3),
        st.sampled_from([0.0, -0.0, 2.5, 2**53, 2**53 + 1]),
        st.sampled_from(TEXTS),
    )
    found, kept = tried([(0, parse_filter("a = 1 and b = 1 or c = 1"))]), list[Filter]()
    kept.append(parse_filter("a = 1 and b = 1 or c = 1"))
    some: list[Record] = [
        {"a": 1, "b": value, "c": value} for value in (*TEXTS, 0, 1, 2.5, 2**53 + 1)
    ]
    taken: list[tuple[TriedRows, set[tuple[int, int]]]] = []
    for slot in range(1, data.draw(st.integers(1, 120))):
        constant = data.draw(values)
        shape = data.draw(
            st.sampled_from(("b = {0}", "a = 1 and c = {0}", "b > 0", "b in (1, {0})"))
        )
        one = parse_filter(shape.format(repr(constant)))
        assert found.add(slot, one, Trial(one).form())
        kept.append(one)
        if data.draw(st.integers(0, 9)) == 0:
            expected = {
                (number, slot)
                for number, record in enumerate(some)
                for slot in found._filters
                if kept[slot].accepts(record)
            }
            assert pairs(found, some, kernels) == expected
            taken.append((found.rows(), expected))
        elif data.draw(st.integers(0, 2)) == 0:
            found.remove(data.draw(st.sampled_from(sorted(found._filters))))
            if not len(found):
                break
    searcher = Searcher(found._attributes, LazyKernels(kernels))
    for rows, expected in taken:
        numbers, slots = rows.matches(searcher.try_rows(rows, some, encoded(some)))
        now = set(zip(numbers.tolist(), slots.tolist(), strict=True))
        assert now <= expected
        assert {slot for _, slot in expected - now}.isdisjoint(found._filters)


@KERNELS
def test_rows_of_one_bucket_are_told_apart(kernels: ModuleType) -> None:
    found = tried([(slot, parse_filter(f"a = {slot} and b < {slot}")) for slot in range(300)])
    assert found.rows().unplaced == 0
    assert pairs(found, [{"a": 7, "b": 6}, {"a": 8, "b": 8}], kernels) == {(0, 7)}
    heads = np.array(found.rows().heads)
    assert np.count_nonzero(heads >= 0) < 300  # some buckets have several


def test_a_filter_is_found_by_the_equality_that_the_fewest_use() -> None:
    given = ["a = 1 and b = 2", "a = 1 and c < 3", "a = 1 and b = 3", "c < 3"]
    found = tried([(slot, parse_filter(text)) for slot, text in enumerate(given)])
    a, b = found._attributes["a"], found._attributes["b"]
    hashes = [access_hash(a, 1.0), access_hash(a, 1.0), access_hash(b, 3.0), NO_HASH]
    assert found._hashes.tolist() == hashes
    assert found.rows().unplaced == 1


def test_what_went_is_forgotten() -> None:
    found = tried([(0, parse_filter("a = -1 and b = -1"))])
    for slot in range(1, 1000):
        one = parse_filter(f"a = {slot} and b = {-slot}")
        assert found.add(slot, one, Trial(one).form())
        found.remove(slot)
    assert len(found._sharing) <= 100
    assert len(found._hashes) <= 100
    some: list[Record] = [{"a": -1, "b": -1}, {"a": -1, "b": 1}, {"a": -1}, {"b": -1}]
    for kernels in (compiled, plain_kernels):
        assert pairs(found, some, kernels) == {(0, 0)}
