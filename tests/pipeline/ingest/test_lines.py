from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.pipeline.ingest.lines import (
    LineCounts,
    count_lines,
    decode,
    ingested,
    mark_duplicates,
    number,
    publications,
    rejected,
    repeated_ids,
)
from sapwood.pipeline.tables.attributes import Array, Kind, Object, Scalar
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.reading import read_lines

pytestmark = pytest.mark.spark

BIGINT = Scalar(Kind.INTEGER, "BIGINT")
RECORD = Object((("a", BIGINT), ("t", Array(BIGINT))))


def line(id_: str, **attributes: Any) -> str:
    return json.dumps({"id": id_, "attributes": attributes})


LINES = (
    line("p0", a=0),
    line("p1", a=1, t=[1, 2]),
    "nope",
    "",
    line("p1", a=2, t=[3]),
    line("p2", a="two"),
    line("p3", a=3, b=1),
    "  ",
    line("p3", a=4),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.jsonl").write_text(line("p0", a=9) + "\n")
    (tmp_path / "a.jsonl").write_text("\n".join(LINES))
    return tmp_path


def test_every_line_is_good_or_rejected_or_blank(spark: Any, folder: Path) -> None:
    with ingested(read_lines(spark, str(folder)), JSONDecoder(RECORD)) as rows:
        counts = count_lines(rows)
        good = [tuple(row) for row in publications(rows).orderBy("id").collect()]
        bad = [tuple(row) for row in rejected(rows).orderBy("file", "line").collect()]
    assert counts == LineCounts(lines=10, good=3, rejected=5, blank=2, undeclared=("b",))
    assert good == [
        ("p0", (0, None), None, None),
        ("p1", (1, [1, 2]), None, None),
        ("p3", (3, None), None, None),
    ]
    a, b = f"{folder}/a.jsonl", f"{folder}/b.jsonl"
    assert [(file, number, text) for file, number, _, text in bad] == [
        (a, 3, "nope"),
        (a, 5, LINES[4]),
        (a, 6, LINES[5]),
        (a, 9, LINES[8]),
        (b, 1, line("p0", a=9)),
    ]
    assert [reason for _, _, reason, _ in bad][1:] == [
        "id 'p1' was on line 2 already; give it its own id",
        "attribute 'a': 'two' does not fit BIGINT",
        "id 'p3' was on line 7 already; give it its own id",
        f"id 'p0' was on line 1 of {a} already; give it its own id",
    ]


@pytest.mark.long
def test_the_same_rows_come_out_however_files_are_cut_into_pieces(spark: Any, folder: Path) -> None:
    """Spark is told to cut files into pieces of some lines each."""
    decoder = JSONDecoder(None)
    settings = {
        "spark.sql.files.maxPartitionBytes": "120",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.files.minPartitionNum": "1",
    }
    found = []
    for cut in (False, True):
        for name, value in settings.items() if cut else ():
            spark.conf.set(name, value)
        try:
            lines = read_lines(spark, str(folder))
            pieces = lines.select("file", "block").distinct().count()
            with ingested(lines, decoder) as rows:
                found.append(
                    (
                        count_lines(rows),
                        sorted(map(tuple, publications(rows).collect())),
                        sorted(map(tuple, rejected(rows).collect())),
                    )
                )
        finally:
            for name in settings:
                spark.conf.unset(name)
        assert (pieces > 2) == cut
    assert found[0] == found[1]
    assert found[0][0].rejected == 4


def test_ids_may_repeat_where_that_is_allowed(spark: Any, folder: Path) -> None:
    lines = read_lines(spark, str(folder))
    with ingested(lines, JSONDecoder(None), distinct=False) as rows:
        counts = count_lines(rows)
    assert (counts.good, counts.rejected, counts.blank) == (7, 1, 2)


def decoded(spark: Any, *rows: tuple[str, int, int, str | None]) -> Any:
    """A table of decoded rows as far as the steps after that look at them."""
    schema = "file STRING, block BIGINT, line BIGINT, id STRING, reason STRING"
    return spark.createDataFrame([(*row, None) for row in rows], schema)


def test_number_adds_the_lines_of_the_pieces_before(spark: Any) -> None:
    rows = [("f", 0, 1, "a"), ("f", 0, 2, "b"), ("f", 90, 1, "c"), ("f", 200, 1, "d")]
    pieces = decoded(spark, *rows, ("g", 0, 1, "e"))
    table = number(pieces.where("id <> 'b'"), pieces)
    found = {row["id"]: row["line"] for row in table.collect()}
    assert found == {"a": 1, "c": 3, "d": 4, "e": 1}
    assert "block" not in table.columns
    numbered = pieces.drop("block")
    assert number(numbered, numbered) is numbered


def test_mark_duplicates_keeps_the_first_by_file_and_piece_and_line(spark: Any) -> None:
    rows = [("g", 0, 1, "x"), ("f", 90, 2, "x"), ("f", 90, 1, "x"), ("f", 0, 1, None)]
    table = decoded(spark, *rows, ("f", 0, 2, "y"))
    repeated = repeated_ids(table.where("id = 'x'"), table)
    assert [tuple(row) for row in repeated.collect()] == [("x", ("f", 90, 1), 3)]
    marked = mark_duplicates(table, repeated).orderBy("file", "block", "line").collect()
    assert [(row["file"], row["block"], row["line"], row["id"]) for row in marked] == [
        ("f", 0, 1, None),
        ("f", 0, 2, "y"),
        ("f", 90, 1, "x"),
        ("f", 90, 2, None),
        ("g", 0, 1, None),
    ]
    said = [row["reason"] and row["reason"].partition(" already")[0] for row in marked]
    assert said == [None, None, None, "id 'x' was on line 3", "id 'x' was on line 3 of f"]


def test_rows_are_told_apart_by_file_and_line_where_they_have_no_pieces(spark: Any) -> None:
    rows = [("g", 0, 1, "x"), ("f", 0, 10, "x"), ("f", 0, 9, "x")]
    table = decoded(spark, *rows).drop("block")
    repeated = repeated_ids(table, table)
    assert [tuple(row) for row in repeated.collect()] == [("x", ("f", 9), 9)]
    marked = mark_duplicates(table, repeated).orderBy("file", "line").collect()
    assert [row["id"] for row in marked] == ["x", None, None]


def test_decode_gives_a_row_a_line(spark: Any, folder: Path) -> None:
    lines = read_lines(spark, str(folder))
    assert decode(lines, JSONDecoder(None)).count() == lines.count() == 10


def test_nothing_gives_nothing(spark: Any, tmp_path: Path) -> None:
    with ingested(read_lines(spark, str(tmp_path)), JSONDecoder(RECORD)) as rows:
        assert count_lines(rows) == LineCounts(0, 0, 0, 0, ())
        assert publications(rows).collect() == rejected(rows).collect() == []
