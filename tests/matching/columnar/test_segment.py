"""Segments: back to rows, removal, files, and their own invariants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.columnar.segment import CHECKED, DEAD, SHARED, Segment
from sapwood.matching.storage import Folder
from sapwood.model.filter import Filter
from tests.matching.columnar.made import made, shown
from tests.strategies import filters

TEXTS = ["a = 1", "a > 1 or b like '%x%'", "true", "c is null", "a between 1 and 5 and b = 'x'"]


@settings(deadline=None)
@given(wanted=st.lists(filters(), min_size=1, max_size=6), removed=st.sets(st.integers(0, 5)))
def test_rows_come_back_without_what_was_removed(wanted: list[Filter], removed: set[int]) -> None:
    whole = made(wanted)
    segment = whole.segment()
    segment.validate()
    for slot in removed:
        had = int(np.count_nonzero(whole.rows.slot == slot))
        assert segment.remove(slot) == had
        assert segment.remove(slot) == 0
    segment.validate()
    left = [entry for entry in shown(whole.rows) if entry[0] not in removed]
    assert shown(segment.rows()) == left
    assert segment.live == len(left)
    assert set(segment.slots().tolist()) == {entry[0] for entry in left}


def test_marks_tell_checked_and_shared_conjunctions() -> None:
    segment = made(["a = 1", "a = 2 or b = 2", "a like '%x%'"]).segment()
    marks = dict.fromkeys(range(3), 0)
    for slot, mark in zip(segment.columns.slot.tolist(), segment.marks.tolist(), strict=True):
        marks[slot] |= mark
    assert marks == {0: 0, 1: SHARED, 2: CHECKED}
    segment.remove(1)
    assert sorted(segment.marks.tolist()) == [0, CHECKED, SHARED | DEAD, SHARED | DEAD]


def test_segment_is_read_only_but_for_its_marks() -> None:
    segment = made(TEXTS).segment()
    assert not any(array.flags.writeable for array in (*segment.columns, *segment.annex))
    assert segment.marks.flags.writeable


def test_segment_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    segment = made(TEXTS).segment()
    segment.remove(0)
    segment.save(Folder(tmp_path))
    again = Segment.load(Folder(tmp_path))
    again.validate()
    assert again.dead == segment.dead == 1
    for one, other in ((segment.columns, again.columns), (segment.annex, again.annex)):
        for name, array in one._asdict().items():
            assert array.dtype == getattr(other, name).dtype, name
            assert np.array_equal(array, getattr(other, name)), name
    again.remove(3)
    assert Segment.load(Folder(tmp_path)).dead == 1


def test_loading_from_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        Segment.load(Folder(tmp_path))


def damaged(segment: Segment, field: str) -> Segment:
    array = getattr(segment.columns, field).copy()
    array[-1] += 1
    return Segment(segment.columns._replace(**{field: array}), segment.annex, segment.marks)


@pytest.mark.parametrize("field", ["cluster_start", "run_start", "constraint_start"])
def test_validate_finds_groups_that_do_not_fit(field: str) -> None:
    with pytest.raises(InvariantError, match="partition"):
        damaged(made(TEXTS).segment(), field).validate()


def test_validate_finds_a_lost_conjunction() -> None:
    with pytest.raises(InvariantError, match="no cluster"):
        damaged(made(TEXTS).segment(), "entry_conjunction").validate()


def test_validate_finds_slots_out_of_order() -> None:
    segment = made(TEXTS).segment()
    slots = segment.columns.slot[::-1] * 2
    with pytest.raises(InvariantError, match="sorted by slot"):
        Segment(segment.columns._replace(slot=slots), segment.annex, segment.marks).validate()


def test_validate_finds_a_wrong_count_of_the_dead() -> None:
    segment = made(TEXTS).segment()
    segment.dead = 1
    with pytest.raises(InvariantError, match="removed"):
        segment.validate()
