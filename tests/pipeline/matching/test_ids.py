from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.index import Index
from sapwood.matching.protocol import SlotBatch
from sapwood.pipeline.matching.ids import (
    HomeIds,
    IdDictionary,
    LoadedIndex,
    SlotIds,
    SortedIds,
)

pa = pytest.importorskip("pyarrow")

ids = st.lists(st.text(min_size=1, max_size=3), unique=True, min_size=1, max_size=5)


def part(*names: str) -> LoadedIndex:
    made = Index(records="counting")
    for name in names:
        made.add(name, "true")
    return LoadedIndex(made)


def batch(*found: Sequence[int]) -> SlotBatch:
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return SlotBatch(offsets, np.array([slot for slots in found for slot in slots], np.int32))


def decoded(ids: IdDictionary, found: Sequence[SlotBatch], count: int) -> list[list[str]]:
    """The texts of the matches of each of `count` publications."""
    counts, codes = ids.encode(found, count)
    assert len(counts) == count
    texts = iter(ids.texts.take(pa.array(codes)).to_pylist())
    rows = [[next(texts) for _ in range(each)] for each in counts]
    assert not list(texts)
    return rows


def test_slots_have_the_ids_of_their_index() -> None:
    ids = SlotIds(part("b", "a", "c"))
    assert decoded(ids, [batch([2, 0], [], [1])], 3) == [["c", "b"], [], ["a"]]


def test_a_free_slot_has_no_id() -> None:
    made = Index(records="counting")
    for name in ("a", "b", "c"):
        made.add(name, "true")
    made.remove("b")
    found = made.match_slots([{}])
    assert decoded(SlotIds(LoadedIndex(made)), [found], 1) == [["a", "c"]]


@given(one=ids, two=ids, data=st.data())
def test_ranks_are_the_order_of_bytes_whatever_the_number_of_indexes(
    one: list[str], two: list[str], data: st.DataObject
) -> None:
    matched = [[name for name in names if data.draw(st.booleans())] for names in (one, two)]
    parts = [part(*one), part(*two)]
    found = [
        batch([names.index(name) for name in some], [])
        for names, some in zip((one, two), matched, strict=True)
    ]
    both = sorted((name for some in matched for name in some), key=str.encode)
    assert decoded(SortedIds(parts), found, 2) == [both, []]
    alone = sorted(matched[0], key=str.encode)
    assert decoded(SortedIds(parts[:1]), found[:1], 2) == [alone, []]


def test_the_ids_of_an_index_are_sorted_once() -> None:
    loaded = part("b", "a")
    assert loaded.sorted_ids() is loaded.sorted_ids()


def test_a_home_comes_once_for_all_its_entries() -> None:
    parts = [part("k1@r1", "k2@r1", "k3@r@2"), part("k4@r1", "k5@r3")]
    found = [batch([0, 1, 2], [], [0]), batch([0], [1], [])]
    homes = [sorted(row) for row in decoded(HomeIds(parts), found, 3)]
    assert homes == [["r1", "r@2"], ["r3"], ["r1"]]


@pytest.mark.parametrize("dictionary", [SortedIds, HomeIds])
def test_a_set_without_an_index_has_no_ids(dictionary: type[SortedIds | HomeIds]) -> None:
    assert decoded(dictionary([]), [], 2) == [[], []]
