from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.limits import LINE_BYTES_MAX
from sapwood.pipeline.tables.attributes import Array, Kind, Object, Scalar
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.pipeline.tables.reading import (
    FileKind,
    csv_decoder,
    file_kind,
    read_lines,
    read_parquet,
    read_table,
)

pytestmark = pytest.mark.spark

SCHEMA = DeclaredSchema(Object((("a", Scalar(Kind.INTEGER, "BIGINT")),)))


def test_read_lines_gives_bytes_with_their_place(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"one\rtwo\r\n\xff\n\nlast")
    found = read_lines(spark, str(tmp_path)).collect()
    assert [bytes(row["value"]) for row in found] == [b"one\rtwo\r", b"\xff", b"", b"last"]
    assert {(row["file"], row["block"]) for row in found} == {(f"file:{tmp_path}/a.jsonl", 0)}


def test_read_lines_cuts_a_line_that_is_too_long(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"x" * (LINE_BYTES_MAX + 100) + b"\nshort\n")
    found = read_lines(spark, str(tmp_path)).collect()
    assert [len(row["value"]) for row in found] == [LINE_BYTES_MAX + 1, 5]


def test_read_lines_unpacks_gzip(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    assert read_lines(spark, str(tmp_path / "a.jsonl.gz")).count() == 2


def test_a_path_without_files_is_named(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "none")
    for read in (read_lines, read_parquet, file_kind):
        with pytest.raises(FileFormatError, match="none: there is no such file or folder"):
            read(spark, path)


def test_a_hidden_file_is_refused_since_spark_would_read_it_as_empty(
    spark: Any, tmp_path: Path
) -> None:
    hidden = tmp_path / "_lines.jsonl"
    hidden.write_text("x\n")
    with pytest.raises(FileFormatError, match="rename it"):
        read_lines(spark, str(hidden))


def test_read_parquet_refuses_a_folder_without_parquet(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("this is text, and long enough to have a footer")
    with pytest.raises(FileFormatError, match="holds no Parquet files, or damaged ones"):
        read_parquet(spark, str(tmp_path)).count()


def test_read_parquet_takes_the_columns_of_all_files(spark: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "drifted")
    for number, record in enumerate(("STRUCT<x: INT>", "STRUCT<x: INT, y: STRING>")):
        rows = [(f"p{number}", (number, "new")[: number + 1])]
        frame = spark.createDataFrame(rows, f"id STRING, attributes {record}")
        frame.coalesce(1).write.mode("append").parquet(out)
    found = read_parquet(spark, out).selectExpr("id", "attributes.x", "attributes.y").orderBy("id")
    assert [tuple(row) for row in found.collect()] == [("p0", 0, None), ("p1", 1, "new")]
    other = spark.createDataFrame([("p2", ("text",))], "id STRING, attributes STRUCT<x: STRING>")
    other.write.mode("append").parquet(out)
    with pytest.raises(FileFormatError, match="columns of one name and different types"):
        read_parquet(spark, out)


def test_read_table_knows_the_row_in_the_file(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "with space+plus"
    table = spark.createDataFrame([("a", "x"), ("b", "y")], "`i.d` STRING, file STRING")
    table.coalesce(1).write.parquet(str(path))
    found = read_table(spark, str(path)).orderBy("line").collect()
    assert [(row["i.d"], row["line"]) for row in found] == [("a", 1), ("b", 2)]
    assert Path(found[0]["file"]).parent == path
    assert Path(found[0]["file"]).is_file()


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["a.jsonl", "b.NDJSON", "c.json.gz"], FileKind.LINES),
        (["a.txt"], FileKind.LINES),
        (["a.csv", "b.csv.bz2"], FileKind.CSV),
        (["part-0.snappy.parquet", "part-1.parquet"], FileKind.PARQUET),
        ([], FileKind.LINES),
    ],
)
def test_file_kind_goes_by_the_endings(
    spark: Any, tmp_path: Path, names: list[str], kind: FileKind
) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert file_kind(spark, str(tmp_path)) is kind


def test_file_kind_refuses_a_mixture(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.jsonl").touch()
    with pytest.raises(FileFormatError, match=r"several kinds \(csv, jsonl\)"):
        file_kind(spark, str(tmp_path))
    assert file_kind(spark, str(tmp_path / "*.csv")) is FileKind.CSV


def test_file_kind_refuses_a_packing_that_cannot_be_read(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.zst").touch()
    with pytest.raises(FileFormatError, match=r"is packed as \.zst; unpack it"):
        file_kind(spark, str(tmp_path))


def csv(spark: Any, folder: Path, text: str, schema: DeclaredSchema = SCHEMA) -> Any:
    (folder / "a.csv").write_text(text, encoding="utf-8-sig")
    return csv_decoder(read_lines(spark, str(folder)), "a.csv", schema, ",")


def test_csv_decoder_takes_the_names_from_the_header(spark: Any, tmp_path: Path) -> None:
    decoder, header = csv(spark, tmp_path, 'a,"b,c",id\r\n1,2,3\r\n')
    assert decoder.header == ("a", "b,c", "id")
    assert header == b'a,"b,c",id'


def test_csv_decoder_needs_no_header_where_there_is_no_line(spark: Any, tmp_path: Path) -> None:
    decoder, header = csv(spark, tmp_path, "")
    assert (decoder.header, header) == (("id", "a"), b"")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n", "line 1: the header has no column 'id'; it has a, b"),
        ("id,b\n", "no column 'a'"),
        ("id,a,a\n", "names a column twice"),
        ('id,"a\n', "the header cannot be read"),
        ("\nid,a\n", "the first line is blank"),
    ],
)
def test_csv_decoder_refuses_a_header_that_does_not_fit(
    spark: Any, tmp_path: Path, text: str, reason: str
) -> None:
    with pytest.raises(FileFormatError, match=reason):
        csv(spark, tmp_path, text)


def test_csv_decoder_refuses_what_csv_cannot_hold(spark: Any, tmp_path: Path) -> None:
    arrays = DeclaredSchema(Object((("a", Array(Scalar(Kind.TEXT, "STRING"))),)))
    with pytest.raises(InputError, match="holds no array"):
        csv(spark, tmp_path, "id,a\n", arrays)
    with pytest.raises(InputError, match="one character"):
        csv_decoder(read_lines(spark, str(tmp_path)), "a.csv", SCHEMA, ";;")
    with pytest.raises(InputError, match="one character"):
        csv_decoder(read_lines(spark, str(tmp_path)), "a.csv", SCHEMA, '"')
