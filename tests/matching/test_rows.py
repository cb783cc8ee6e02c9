"""Records with several values: as rows, and matched by every engine in every form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.language.parser import parse
from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.matching import record_store
from sapwood.matching.columnar.flat_records import READ, flattener_of
from sapwood.matching.columnar.kernels.compiled import flatten_records
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.engines import ENGINES
from sapwood.matching.index import Index
from sapwood.matching.protocol import ALL, MatchingSeveral
from sapwood.matching.record_store import RecordStore
from sapwood.matching.reference import holds
from sapwood.matching.rows import Rows, one_by_one, rows_of
from sapwood.model.publication import ManyValued, Publication, Record, flatten
from tests import oracles
from tests.examples import examples
from tests.matching.variants import VARIANTS
from tests.strategies import attribute_names, filter_texts, records_with_arrays, values

MANY = ManyValued({"tags": ("a", "b"), "price": (1, 2), "size": 5})


def everything(attribute: str) -> bool:
    assert attribute
    return True


def encoded(records: Sequence[Mapping[str, Any]]) -> EncodedRecords:
    """As compiled code flattens them."""
    parts = [msgspec.msgpack.encode(record) for record in records]
    ends = np.cumsum([0, *map(len, parts)])
    found = flattener_of(flatten_records).flatten(b"".join(parts), ends[:-1], ends[1:])
    assert (found.verdicts == READ).all()
    return found.records


def test_a_record_with_several_values_has_a_row_for_each_choice() -> None:
    made = one_by_one(MANY, everything)
    assert made is not None
    assert [*made] == [
        {"size": 5, "tags": tag, "price": price} for tag in ("a", "b") for price in (1, 2)
    ]


def test_what_no_filter_reads_makes_no_rows() -> None:
    made = one_by_one(MANY, lambda name: name == "price")
    assert made is not None
    assert [*made] == [{"size": 5, "price": 1}, {"size": 5, "price": 2}]


def test_a_record_with_too_many_rows_has_none() -> None:
    wide = ManyValued({name: tuple(range(RECORD_ROWS_MAX)) for name in "ab"})
    assert one_by_one(wide, everything) is None
    narrow = one_by_one(wide, lambda name: name == "a")
    assert narrow is not None
    assert len([*narrow]) == RECORD_ROWS_MAX


@given(records=st.lists(records_with_arrays(), max_size=5), enough=st.integers(1, 12))
def test_rows_are_those_of_each_record_in_its_place(
    records: list[dict[str, Any]], enough: int
) -> None:
    flat = [flatten(record).record for record in records]
    for given_as in (flat, encoded(records)):
        made = rows_of(given_as, everything, enough)
        assert made.offsets[-1] == len(made.rows)
        assert len(made) == len(flat) or len(made.rows) >= enough
        for record, (first, last) in zip(flat, pairwise(made.offsets.tolist()), strict=False):
            each = [sorted_items(made.rows[at]) for at in range(first, last)]
            assert sorted(each) == sorted(map(sorted_items, oracles.rows(record)))
        for at in range(len(made)):
            assert sorted_items(made[at]) == sorted_items(flat[at])
            assert type(made[at]) is type(flat[at])
            assert [sorted_items(one) for one in made[at:]] == [
                sorted_items(one) for one in flat[at : len(made)]
            ]


def sorted_items(record: Record) -> list[tuple[str, list[str]]]:
    return sorted(
        (name, sorted(map(repr, value if isinstance(value, tuple) else (value,))))
        for name, value in record.items()
    )


@pytest.fixture(params=[1, 4, RECORD_ROWS_MAX], ids=["whole", "both", "in-rows"])
def rows_max(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The rows that a record may have: so few that none is matched in rows, or enough."""
    bound: int = request.param
    monkeypatch.setattr(RecordStore, "rows_max", bound)
    monkeypatch.setattr(record_store, "_ROWS_AT_ONCE", 3)
    return bound


Way = Callable[[Index, list[dict[str, Any]]], list[list[str]]]


def _by_slots(index: Index, records: Sequence[Record], **options: Any) -> list[list[str]]:
    found: list[list[str]] = []
    while len(found) < len(records):
        offsets, slots = index.match_slots(records[len(found) :], **options)
        ids = [index.ids[slot] for slot in slots.tolist()]
        found += [sorted(ids[first:last]) for first, last in pairwise(offsets.tolist())]
        assert len(offsets) > 1, "it gets on"
    return found


WAYS: dict[str, Way] = {
    "match": lambda index, records: [index.match(record) for record in records],
    "publications": lambda index, records: [
        index.match(Publication("p", record)) for record in records
    ],
    "json": lambda index, records: [index.match_json(json.dumps(record)) for record in records],
    "many": lambda index, records: index.match_many(records),
    "threads": lambda index, records: index.match_many(records * 70, threads=2)[-len(records) :],
    "flat": lambda index, records: _by_slots(index, [flatten(one).record for one in records]),
    "encoded": lambda index, records: _by_slots(index, encoded(records)),
    "some": lambda index, records: _by_slots(
        index, encoded(records), in_order=False, max_matches=1
    ),
    "some-flat": lambda index, records: _by_slots(
        index, [flatten(one).record for one in records], in_order=False, max_matches=2
    ),
    "rows": lambda index, records: _by_slots(
        index, rows_of([flatten(one).record for one in records], everything, ALL)
    ),
}


@pytest.mark.parametrize("info", VARIANTS, ids=lambda info: info.name)
@pytest.mark.usefixtures("rows_max")
@pytest.mark.one_in(3)
@settings(max_examples=examples(60))
@given(
    texts=st.lists(filter_texts(), min_size=1, max_size=8),
    records=st.lists(records_with_arrays(), min_size=1, max_size=4),
)
def test_every_engine_matches_records_with_arrays_as_their_trees_say(
    info: Any, texts: list[str], records: list[dict[str, Any]]
) -> None:
    index = Index(info)
    trees = {f"s{at}": parse(text) for at, text in enumerate(texts)}
    for at, text in enumerate(texts):
        index.add(f"s{at}", text)
    flat = [flatten(record).record for record in records]
    expected = [sorted(name for name, tree in trees.items() if holds(tree, one)) for one in flat]
    for name, way in WAYS.items():
        if name == "json" and "Infinity" in json.dumps(records):
            continue
        assert way(index, records) == expected, name
    assert [index.match_any(one) for one in records] == [bool(ids) for ids in expected]
    assert [index.match_count(one) for one in records] == [len(ids) for ids in expected]
    for one, ids in zip(records, expected, strict=True):
        first = index.found(one, 1).tolist()
        assert {index.ids[slot] for slot in first} <= {*ids}
        assert bool(first) is bool(ids)


@st.composite
def wide_records(draw: st.DrawFn) -> dict[str, Any]:
    """Records with more than `RECORD_ROWS_MAX` rows."""
    names = draw(st.lists(attribute_names(), min_size=3, max_size=4, unique=True))
    elements = [st.lists(values(), min_size=11, max_size=12) for _ in names]
    return {name: draw(each) for name, each in zip(names, elements, strict=True)}


@pytest.mark.parametrize(
    "info", [one for one in VARIANTS if isinstance(one.make(), MatchingSeveral)],
    ids=lambda info: info.name,
)  # fmt: skip
@pytest.mark.one_in(3)
@settings(max_examples=examples(25))
@given(texts=st.lists(filter_texts(), min_size=1, max_size=12), record=wide_records())
def test_records_that_no_row_is_made_of_are_matched_as_their_trees_say(
    info: Any, texts: list[str], record: dict[str, Any]
) -> None:
    index = Index(info)
    trees = {f"s{at}": parse(text) for at, text in enumerate(texts)}
    index.add_many([*zip(trees, texts, strict=True)])
    flat = flatten(record).record
    expected = sorted(name for name, tree in trees.items() if holds(tree, flat))
    assert index.match(record) == expected
    assert _by_slots(index, encoded([record, {}, record]))[::2] == [expected, expected]
    assert index.match_any(record) is bool(expected)


def test_a_record_with_a_million_rows_is_matched() -> None:
    values = [*range(1000)]
    wide = {"a": values, "b": values, "c": values, "tags": ["x", "y"]}
    for engine in ENGINES:
        index = Index(engine)
        for at in range(40):
            index.add(f"in{at}", f"a = {at} and b = {at + 1} and c < 1")
            index.add(f"out{at}", f"a = {at} and b = {at + 1} and c < 0")
        index.add("x", "tags = 'x' and a > 998")
        expected = sorted([*(f"in{at}" for at in range(40)), "x"])
        assert index.match(wide) == expected
        assert index.match_many([{"a": 0}, wide, {"tags": "x", "a": 1e9}]) == [[], expected, ["x"]]
        assert index.match_any(wide)
        assert index.match_count(wide) == len(expected)


def test_records_without_arrays_stay_one_batch_beside_one_with() -> None:
    index = Index()
    for at in range(100):
        index.add(f"s{at}", f"a = {at}")
    index.fold()
    batches: list[type] = []
    engine = index._records.engine
    assert engine is not None
    whole = engine.match_slots

    def watched(records: Sequence[Record]) -> Any:
        batches.append(type(records))
        assert len(records) == 51
        return whole(records)

    engine.match_slots = watched  # type: ignore[method-assign]
    records: list[dict[str, Any]] = [{"a": at} for at in range(50)]
    records[7] = {"a": [7, 8]}
    _, slots = index.match_slots(encoded(records))
    assert slots.tolist() == sorted([*range(50), 8])
    assert batches == [EncodedRecords]


def test_rows_of_records_that_lie_apart_are_not_taken_out() -> None:
    made = rows_of([MANY, {"a": 1}, MANY], everything, ALL)
    assert len(made) == 3
    assert isinstance(made[1:], Rows)
    assert [len(one) for one in made[1:2]] == [1]
    with pytest.raises(AssertionError, match="lie apart"):
        _ = made[::2]


@given(texts=st.lists(filter_texts(), max_size=4), record=records_with_arrays())
def test_a_filter_accepts_a_record_iff_it_accepts_a_row(
    texts: list[str], record: dict[str, Any]
) -> None:
    flat = flatten(record).record
    for text in texts:
        wanted, tree = parse_filter(text), parse(text)
        each = oracles.rows(flat)
        assert wanted.accepts(flat) is any(wanted.accepts(row) for row in each)
        assert wanted.accepts(flat) is holds(tree, flat) is oracles.holds(tree, flat)
