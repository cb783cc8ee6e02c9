from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, FilterSyntaxError, InputError
from sapwood.limits import LINE_BYTES_MAX
from sapwood.pipeline.tables.attributes import Kind, Object, Scalar
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.pipeline.tables.decoding import (
    DECODED_COLUMNS,
    CSVDecoder,
    DecodeLines,
    JSONDecoder,
    LineNumbers,
    decoded_sql,
    one_line,
    plain_line,
    split_csv,
)

pa = pytest.importorskip("pyarrow")

BIGINT = Scalar(Kind.INTEGER, "BIGINT")
STRING = Scalar(Kind.TEXT, "STRING")
RECORD = Object((("a", BIGINT), ("b", STRING)))
SCHEMA = DeclaredSchema(RECORD, ("id",), "NA")


def batch(rows: Iterable[tuple[str, int, bytes]]) -> Any:
    files, blocks, values = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(files), pa.array(blocks, pa.int64()), pa.array(values, pa.binary())],
        names=["file", "block", "value"],
    )


def run(decode: DecodeLines, *batches: Any) -> list[dict[str, Any]]:
    results = list(decode(iter(batches)))
    assert all(tuple(result.schema.names) == DECODED_COLUMNS for result in results)
    return [row for result in results for row in result.to_pylist()]


def one_file(*lines: bytes) -> Any:
    return batch(("f", 0, line) for line in lines)


def test_a_good_line_gives_its_publication() -> None:
    line = b'{"id": "p", "attributes": {"a": 1, "b": "x", "t": [1]}, "home": "r"}'
    (row,) = run(DecodeLines(JSONDecoder(RECORD)), one_file(line))
    assert row == {
        "file": "f",
        "block": 0,
        "line": 1,
        "id": "p",
        "attributes": {"a": 1, "b": "x"},
        "document": None,
        "home": "r",
        "undeclared": ["t"],
        "reason": None,
        "text": line.decode(),
    }


def test_a_document_stays_text_and_a_bad_one_is_a_reason() -> None:
    lines = (
        b'{"id": "p", "document": "<a>\xc3\xa9</a>"}',
        b'{"id": "q", "attributes": {"a": 1}, "document": "<a/>"}',
        b'{"id": "r", "document": "<a>"}',
    )
    good, both, bad = run(DecodeLines(JSONDecoder(RECORD)), one_file(*lines))
    assert (good["attributes"], good["document"]) == (None, "<a>\u00e9</a>")
    assert (both["attributes"], both["document"]) == ({"a": 1, "b": None}, "<a/>")
    assert (bad["id"], bad["document"]) == (None, None)
    assert bad["reason"]


def test_attributes_stay_text_when_nothing_is_declared() -> None:
    line = b'{"id": "p", "attributes": {"a": 1.0, "t": [1, {"x": null}]}}'
    (row,) = run(DecodeLines(JSONDecoder(None)), one_file(line))
    assert row["attributes"] == '{"a":1.0,"t":[1,{"x":null}]}'
    assert (row["undeclared"], row["home"]) == (None, None)


def test_every_line_gives_one_row_whatever_it_holds() -> None:
    lines = [b"nope", b"", b"  \t", b'{"id": "p", "attributes": {"a": "x"}}', b"\xff\r", b"\r"]
    rows = run(DecodeLines(JSONDecoder(RECORD)), one_file(*lines))
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["reason"] is None for row in rows] == [False, True, True, False, False, True]
    assert [row["id"] for row in rows] == [None] * 6
    assert [row["attributes"] for row in rows] == [None] * 6
    assert rows[3]["reason"] == "attribute 'a': 'x' does not fit BIGINT"
    assert rows[4]["text"] == "\\xff"


def test_the_mark_at_the_start_of_a_file_is_no_part_of_its_first_line() -> None:
    line = b'\xef\xbb\xbf{"id": "p", "attributes": {}}'
    rows = run(
        DecodeLines(JSONDecoder(None)),
        batch([("f", 0, line), ("f", 100, line), ("g", 0, line), ("g", 0, line)]),
    )
    assert [row["id"] for row in rows] == ["p", None, "p", None]


def test_a_batch_without_rows_gives_none() -> None:
    empty = one_file(b"").slice(0, 0)
    assert run(DecodeLines(JSONDecoder(RECORD)), empty, one_file(b"x"))[0]["line"] == 1


def csv(*lines: bytes, header: bytes = b"id,b,a,c") -> list[dict[str, Any]]:
    decoder = CSVDecoder(tuple(header.decode().split(",")), SCHEMA)
    return run(DecodeLines(decoder, header), one_file(header + b"\r", *lines))[1:]


def test_a_row_of_csv_gives_its_publication() -> None:
    plain, quoted, missing = csv(b"p,x,12,", b'"q","x,""y""",-1,z\r', b"r,NA,,")
    assert (plain["id"], plain["attributes"]) == ("p", {"a": 12, "b": "x"})
    assert (quoted["id"], quoted["attributes"]) == ("q", {"a": -1, "b": 'x,"y"'})
    assert missing["attributes"] == {"a": None, "b": None}
    assert plain["line"] == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"p,x,1", "the row has 3 cells, the header 4"),
        (b",x,1,", "the cell of 'id' is empty"),
        (b"p,x,one,", "attribute 'a': 'one' does not fit BIGINT"),
        (b'p,"x,1,', "not CSV with one row a line"),
        (b"p,\xff,1,", "byte 3 of the line is not UTF-8"),
        (b"p," + b"x" * LINE_BYTES_MAX + b",1,", "LINE_BYTES_MAX"),
    ],
)
def test_a_row_of_csv_that_cannot_be_used_says_why(line: bytes, reason: str) -> None:
    (row,) = csv(line)
    assert row["reason"].startswith(reason) or reason in row["reason"]
    assert row["id"] is None


def test_an_id_of_several_columns_is_joined() -> None:
    schema = DeclaredSchema(RECORD, ("b", "a"))
    decoder = CSVDecoder(("a", "b"), schema)
    assert decoder([b"1,x"]).columns[0].to_pylist() == ["x/1"]
    assert decoder([b",x"]).reasons == ["the cell of 'a' is empty, and the id needs it"]


def test_undeclared_columns_of_csv_are_known_beforehand() -> None:
    assert CSVDecoder(("id", "b", "a", "c"), SCHEMA).undeclared == ("c",)


def test_a_file_with_another_header_ends_the_job() -> None:
    decode = DecodeLines(CSVDecoder(("id", "a", "b"), SCHEMA), b"id,a,b")
    with pytest.raises(FileFormatError, match="line 1: its header is not that of the other files"):
        run(decode, one_file(b"id,b,a"))


def test_a_decoder_without_lines_gives_columns_all_the_same() -> None:
    for decoder in (JSONDecoder(None), JSONDecoder(RECORD), CSVDecoder(("id", "a", "b"), SCHEMA)):
        columns, reasons = decoder(())
        assert [len(column) for column in columns] == [0] * 5
        assert reasons == []


def test_decoded_sql_names_the_columns_in_order() -> None:
    sql = decoded_sql(JSONDecoder(RECORD))
    assert "attributes STRUCT<`a`: BIGINT, `b`: STRING>, document STRING, home" in sql
    assert sql.startswith("file STRING, block BIGINT, line BIGINT, id STRING")


@pytest.mark.parametrize(
    ("line", "cells"),
    [(b"a,b", ["a", "b"]), (b",", ["", ""]), (b'"a,b",c', ["a,b", "c"]), (b'a b,"', None)],
)
def test_split_csv_reads_one_row(line: bytes, cells: list[str] | None) -> None:
    if cells is None:
        with pytest.raises(InputError, match="multiLine"):
            split_csv(line, ",")
    else:
        assert split_csv(line, ",") == cells


def test_plain_line_drops_ends_and_marks() -> None:
    assert plain_line(b"x\r") == b"x"
    assert plain_line(b"\xef\xbb\xbfx") == b"\xef\xbb\xbfx"
    assert plain_line(b"\xef\xbb\xbfx\r", first=True) == b"x"


def test_one_line_leaves_the_pointer_out() -> None:
    error = FilterSyntaxError("a >", 3, "a value is missing")
    assert one_line(error) == "a value is missing, at position 4 of the filter"
    assert one_line(InputError("no")) == "no"


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 4)), max_size=6),
    st.lists(st.integers(0, 5), min_size=1).filter(any),
)
def test_lines_are_numbered_in_each_piece_however_batches_are_cut(
    pieces: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    pieces = list({(file, block): (file, block, size) for file, block, size in pieces}.values())
    rows = [(f"f{file}", 100 * block) for file, block, size in pieces for _ in range(size)]
    expected = [number for _, _, size in pieces for number in range(1, size + 1)]
    numbers = LineNumbers()
    found: list[int] = []
    at = step = 0
    while at < len(rows):
        some = rows[at : at + cuts[step % len(cuts)]]
        files = pa.array([file for file, _ in some], pa.string())
        found += numbers.number(files, pa.array([block for _, block in some], pa.int64())).tolist()
        at, step = at + len(some), step + 1
    assert found == expected
