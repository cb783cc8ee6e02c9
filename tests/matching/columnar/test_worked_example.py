"""The eight filters of docs/matching.md: every array that the page prints is the engine's."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.matching.columnar import ColumnarEngine, bitmaps
from sapwood.matching.columnar.columns import Columns
from sapwood.matching.columnar.derived import Derived, Function
from sapwood.matching.columnar.rows import Rows
from sapwood.matching.columnar.segment import Annex, Segment
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import Made, made
from tests.matching.printed import patterns, printed

RECORD: Record = {"price": 25, "symbol": "SAP", "volume": 70}
PRINTED = printed(2)
LITERALS = [
    name for name in Columns._fields if name.startswith("literal_") and name != "literal_root"
]


def example() -> tuple[Made, Segment]:
    whole = made(patterns(2))
    return whole, whole.segment()


def test_page_prints_all_rows() -> None:
    whole, _ = example()
    assert list(whole.attributes) == ["price", "symbol", "volume", "note"]
    for name in Rows._fields:
        if name not in ("texts", "checks"):
            assert PRINTED[f"rows.{name}"] == getattr(whole.rows, name).tolist(), name
    assert whole.rows.texts == [b"IBM", b"SAP", b"S", b"T"]
    assert PRINTED["rows.checks.owner"] == whole.rows.checks.owner.tolist()
    assert PRINTED["rows.checks.predicate"] == whole.rows.checks.predicate.tolist()
    assert PRINTED["rows.checks.flags"] == whole.rows.checks.flags.tolist()


@pytest.mark.parametrize("name", Columns._fields)
def test_page_prints_every_column_of_the_segment(name: str) -> None:
    _, segment = example()
    assert PRINTED[f"columns.{name}"] == getattr(segment.columns, name).tolist()


def test_page_prints_annex_and_marks() -> None:
    _, segment = example()
    for name in Annex._fields:
        assert PRINTED[f"annex.{name}"] == getattr(segment.annex, name).tolist(), name
    assert PRINTED["marks"] == segment.marks.tolist()


def test_page_prints_the_bitmaps_that_smaller_partitions_would_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bitmaps, "PARTITION_MIN", 2)
    _, segment = example()
    for name in ("partition_first", "partition_last", "bitmap_start", "bitmap_attribute"):
        assert PRINTED[f"small.{name}"] == getattr(segment.columns, name).tolist(), name
    assert PRINTED["small.bitmap_word"] == segment.columns.bitmap_word.tolist()
    of_sap = segment.columns.bitmaps[48:64] & np.uint64(3)
    assert PRINTED["small.bitmaps_of_sap"] == of_sap.tolist()


def test_page_follows_a_record() -> None:
    whole, segment = example()
    ranks = np.zeros(len(whole.attributes), np.uint32)
    plain.rank_record(segment.columns, whole.names(), cast("plain.Readable", RECORD), ranks)
    assert PRINTED["record.ranks"] == ranks.tolist()
    ranges = [end for pair in plain.find_candidate_ranges(segment.columns, ranks) for end in pair]
    assert PRINTED["record.candidate_ranges"] == ranges
    found = whole.found(plain, segment, [RECORD])
    assert PRINTED["record.slots"] == sorted(found.slots.tolist())
    assert PRINTED["record.unverified"] == found.unverified.tolist()


def test_engine_matches_what_the_page_says() -> None:
    engine = ColumnarEngine(kernels=plain)
    for slot, text in enumerate(patterns(2)):
        engine.add(slot, parse_filter(text))
    engine.fold()
    assert PRINTED["record.matches"] == engine.match(RECORD)


def test_page_prints_nothing_that_is_not_compared() -> None:
    known = {"rows", "columns", "annex", "marks", "small", "record"}
    assert {name.split(".")[0] for name in PRINTED} == known
    columns = {name for name in PRINTED if name.startswith("columns.")}
    assert columns == {f"columns.{name}" for name in Columns._fields}
    assert len(PRINTED) == len(columns) + len(Rows._fields) + 1 + 4 + 1 + 6 + 5


USHERS: Record = {"name": "ushers"}


def test_page_prints_what_becomes_of_endings_literals_and_readings() -> None:
    own, whole = printed(5), made(patterns(5))
    columns, marks = whole.segment().columns, whole.segment().marks
    functions = (Function.REVERSED, Function.LOWER, Function.INTEGER)
    assert list(whole.attributes) == ["name", *(Derived(one, "name") for one in functions)]
    arrays = {
        "rows.constraint_start": whole.rows.constraint_start,
        "rows.attribute": whole.rows.attribute,
        "rows.checks.owner": whole.rows.checks.owner,
        "rows.checks.flags": whole.rows.checks.flags,
        "marks": marks,
        **{f"columns.{name}": getattr(columns, name) for name in (*LITERALS, "cluster_start")},
    }
    for name, array in arrays.items():
        assert own[name] == array.tolist(), name
    root = {at: state for at, state in enumerate(columns.literal_root.tolist()) if state}
    assert root == {ord("h"): 1, ord("s"): 2}
    assert len(own) == len(arrays) + 5


def test_page_follows_a_text() -> None:
    own, whole = printed(5), made(patterns(5))
    segment = whole.segment()
    ranks = np.zeros(len(whole.attributes), np.uint32)
    record = cast("plain.Readable", USHERS)
    plain.rank_record(segment.columns, whole.names(), record, ranks)
    assert own["record.ranks"] == ranks.tolist()
    ranges = plain.all_candidate_ranges(segment.columns, whole.names(), record, ranks)
    assert own["record.candidate_ranges"] == [end for pair in ranges for end in pair]
    found = whole.found(plain, segment, [USHERS])
    assert own["record.slots"] == sorted(found.slots.tolist())
    assert own["record.unverified"] == found.unverified.tolist()
    engine = ColumnarEngine(kernels=plain)
    for slot, text in enumerate(patterns(5)):
        engine.add(slot, parse_filter(text))
    engine.fold()
    assert own["record.matches"] == engine.match(USHERS)
