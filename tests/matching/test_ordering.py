"""Ids in order, by integers as far as these are known."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.ordering import ARRANGED_MAX, UNRANKED, IdOrder, ranked
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.storage import Folder
from sapwood.matching.texts import TextColumn, packed

IDS = st.lists(
    st.text(st.sampled_from("a\0\x7f\xe9\ud800\uffff\U0001f600"), max_size=20)
    | st.text(max_size=9),
    unique=True,
    max_size=20,
)


def column_of(texts: list[str]) -> TextColumn:
    column = TextColumn()
    for at, text in enumerate(texts):
        column[at] = text
    return column


def order_of(texts: list[str]) -> IdOrder:
    """All in order but the empty text."""
    order = IdOrder()
    for at in range(len(texts)):
        order.forget(at)
    order.learn(column_of(texts))
    return order


@given(ids=IDS)
def test_ranked_counts_the_texts_before(ids: list[str]) -> None:
    texts = [text.encode("utf-8", "surrogatepass") for text in ids]
    wanted = sorted(text for text in ids if text)
    places = {text: at for at, text in enumerate(wanted)} | {"": UNRANKED}
    assert ranked(*packed(texts)).tolist() == [places[text] for text in ids]


@given(
    ids=IDS,
    late=st.sets(st.integers(0, 19), max_size=3),
    matches=st.lists(st.sets(st.integers(0, 19), max_size=8), max_size=ARRANGED_MAX),
)
def test_arranged_sorts_by_id_and_says_where_ranks_do_not_tell(
    ids: list[str], late: set[int], matches: list[set[int]]
) -> None:
    ids = [text for text in ids if text]
    order = order_of(ids)
    late = {slot for slot in late if slot < len(ids)}
    for slot in late:
        order.forget(slot)
    matches = [{slot for slot in slots if slot < len(ids)} for slots in matches]
    offsets = np.cumsum([0, *map(len, matches)])
    slots = np.array([slot for found in matches for slot in found], np.int32)
    places, doubtful = order.arranged(SlotBatch(offsets, slots))
    assert doubtful == [at for at, found in enumerate(matches) if found & late]
    for number, (first, last) in enumerate(pairwise(offsets.tolist())):
        mine = places[first:last].tolist()
        assert set(mine) == matches[number]
        if number not in doubtful:
            assert [ids[slot] for slot in mine] == sorted(ids[slot] for slot in mine)


def test_ids_that_change_while_others_are_ranked_have_no_rank() -> None:
    order = IdOrder()

    class Changing(TextColumn):
        def packed(self) -> tuple[np.ndarray, np.ndarray]:
            found = super().packed()
            order.learn(self)  # somebody else learns: nothing happens
            order.forget(1)
            order.forget(5)
            return found

    ids = Changing()
    for slot, text in enumerate("cab"):
        ids[slot] = text
        order.forget(slot)
    order.learn(ids)
    slots = np.array([0, 1, 2], np.int32)
    assert order.arranged(SlotBatch(np.array([0, 2, 3]), slots[[0, 2, 1]]))[1] == [1]
    order.learn(column_of(["c", "a", "b"]))
    assert order.arranged(SlotBatch(np.array([0, 3]), slots))[0].tolist() == [1, 2, 0]


def test_order_that_fails_to_learn_can_try_again() -> None:
    order = IdOrder()
    order.forget(0)
    with pytest.raises(AttributeError):
        order.learn(None)  # type: ignore[arg-type]
    order.learn(column_of(["a"]))
    assert order.arranged(SlotBatch(np.array([0, 1]), np.array([0], np.int32)))[1] == []


def test_order_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    ids = ["b", "", "c", "a"]
    order_of(ids).save(folder, "ranks")
    loaded = IdOrder.load(folder, "ranks", 4)
    loaded.validate(ids)
    found = SlotBatch(np.array([0, 3]), np.array([0, 2, 3], np.int32))
    assert loaded.arranged(found)[0].tolist() == [3, 0, 2]
    loaded.forget(0)
    assert loaded.arranged(found)[1] == [0]


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (np.zeros(3, np.int64), "not a rank"),
        (np.zeros((3, 1), np.int32), "not a rank"),
        (np.zeros(2, np.int32), "not a rank"),
        (np.array([0, 1, 3], np.int32), "beyond"),
        (np.array([0, 1, -1], np.int32), "beyond"),
    ],
)
def test_foreign_ranks_are_refused(tmp_path: Path, ranks: np.ndarray, message: str) -> None:
    folder = Folder(tmp_path)
    folder.write_arrays({"ranks": ranks})
    with pytest.raises(FileFormatError, match=message):
        IdOrder.load(folder, "ranks", 3)


def test_validate_finds_ids_that_are_not_in_order() -> None:
    order = order_of(["a", "b"])
    order.validate(["a", "b"])
    for ids in (["b", "a"], ["", "b"]):
        with pytest.raises(InvariantError, match="ranks"):
            order.validate(ids)
