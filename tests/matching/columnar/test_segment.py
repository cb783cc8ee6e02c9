"""Segments: back to rows, removal, files, and their own invariants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.columnar.columns import CHECKED, DEAD, SHARED, columns_of
from sapwood.matching.columnar.segment import Annex, Segment
from sapwood.matching.storage import Folder
from sapwood.model.filter import Filter
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made, shown
from tests.matching.columnar.unranking import rows_of
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
        assert segment.remove(slot, plain) == had
        assert segment.remove(slot, plain) == 0
    segment.validate()
    left = [entry for entry in shown(whole.rows) if entry[0] not in removed]
    assert shown(rows_of(segment)) == left
    assert segment.live == len(left)
    assert set(segment.slots().tolist()) == {entry[0] for entry in left}


def test_marks_tell_checked_and_shared_conjunctions() -> None:
    segment = made(["a = 1", "a = 2 or b = 2", "a not like '%x%'"]).segment()
    marks = dict.fromkeys(range(3), 0)
    slots = segment.slots_of(np.arange(4)).tolist()
    for slot, mark in zip(slots, segment.marks.tolist(), strict=True):
        marks[slot] |= mark
    assert marks == {0: 0, 1: SHARED, 2: CHECKED}
    segment.remove(1, plain)
    assert sorted(segment.marks.tolist()) == [0, CHECKED, SHARED | DEAD, SHARED | DEAD]


def test_segment_is_read_only_but_for_its_marks() -> None:
    segment = made(TEXTS).segment()
    assert not any(array.flags.writeable for array in (*segment.columns, *segment.annex))
    assert segment.marks.flags.writeable


def test_segment_is_loaded_as_it_was_saved(tmp_path: Path) -> None:
    segment = made(TEXTS).segment()
    segment.remove(0, plain)
    segment.save(Folder(tmp_path))
    again = Segment.load(Folder(tmp_path))
    again.validate()
    assert again.dead == segment.dead == 1
    for one, other in ((segment.columns, again.columns), (segment.annex, again.annex)):
        for name, array in one._asdict().items():
            assert array.dtype == getattr(other, name).dtype, name
            assert np.array_equal(array, getattr(other, name)), name
    again.remove(3, plain)
    assert Segment.load(Folder(tmp_path)).dead == 1


def test_loading_from_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        Segment.load(Folder(tmp_path))


def damaged(segment: Segment, field: str) -> Segment:
    """The segment with the last element of a column one larger."""
    buffer = segment.buffer.copy()
    getattr(columns_of(buffer), field)[-1] += 1
    return Segment(buffer, segment.annex, segment.marks)


@pytest.mark.parametrize("field", ["cluster_start", "several_start", "block_start", "bitmap_start"])
def test_validate_finds_groups_that_do_not_fit(field: str) -> None:
    with pytest.raises(InvariantError, match=r"partition|no cluster|differ in length"):
        damaged(made(TEXTS).segment(), field).validate()


def test_validate_finds_a_lost_conjunction() -> None:
    segment = made(["a = 1", "a in (2, 3)"]).segment()
    with pytest.raises(InvariantError, match="no cluster"):
        damaged(segment, "entry_conjunction").validate()


def test_validate_finds_a_buffer_with_something_behind_it() -> None:
    segment = made(TEXTS).segment()
    longer = Segment(np.append(segment.buffer, np.uint64(0)), segment.annex, segment.marks)
    with pytest.raises(InvariantError, match="fill its buffer"):
        longer.validate()


def test_validate_finds_slots_and_checks_out_of_order() -> None:
    segment = made([*TEXTS, "a like '%y%' and b like '%z%'"]).segment()
    annex = segment.annex
    for changed, message in (
        (annex._replace(by_slot=annex.by_slot[::-1]), "sorted by slot"),
        (annex._replace(check_owner=annex.check_owner[::-1]), "sorted by conjunction"),
    ):
        with pytest.raises(InvariantError, match=message):
            Segment(segment.buffer, changed, segment.marks).validate()


@pytest.mark.parametrize("name", ["image", "marks", *Annex._fields])
def test_foreign_and_shortened_arrays_are_refused(tmp_path: Path, name: str) -> None:
    made(TEXTS).segment().save(Folder(tmp_path))
    array = np.load(tmp_path / f"{name}.npy")
    for other in (array[:-1], array.astype(np.float32), array.reshape(1, -1), array[:0]):
        if name == "check_owner" and not len(other):
            continue
        np.save(tmp_path / f"{name}.npy", other)
        with pytest.raises(FileFormatError, match=r"check_\w+\.npy|" + name):
            Segment.load(Folder(tmp_path))
    np.save(tmp_path / f"{name}.npy", array)
    Segment.load(Folder(tmp_path)).validate()


@pytest.mark.parametrize("name", ["image", "marks"])
def test_truncated_files_are_refused(tmp_path: Path, name: str) -> None:
    made(TEXTS).segment().save(Folder(tmp_path))
    path = tmp_path / f"{name}.npy"
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 60, 0):
        path.write_bytes(whole[:size])
        with pytest.raises(FileFormatError, match=name):
            Segment.load(Folder(tmp_path))


def test_segment_buffer_with_a_column_that_ends_elsewhere_is_refused(tmp_path: Path) -> None:
    segment = made(TEXTS).segment()
    damaged(segment, "block_start").save(Folder(tmp_path))
    with pytest.raises(FileFormatError, match="do not fit together"):
        Segment.load(Folder(tmp_path))


def test_validate_finds_a_wrong_count_of_the_dead() -> None:
    segment = made(TEXTS).segment()
    segment.dead = 1
    with pytest.raises(InvariantError, match="removed"):
        segment.validate()
