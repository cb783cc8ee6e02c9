"""The job `synopsis`: bit for bit what one process makes of the same documents."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.files.synopses import load_synopsis
from sapwood.pipeline.synopsis.job import SynopsisJob
from sapwood.pipeline.synopsis.partial import PARTIAL, synopsis_of_parts
from sapwood.similarity.layout import to_bytes
from sapwood.similarity.synopsis import Synopsis, synopsis_of
from sapwood.xml import read_document
from tests.similarity.kinds import document

pytestmark = pytest.mark.spark


def made(count: int) -> list[bytes]:
    random = Random(count)
    return [document(random.randbytes(random.randrange(12))) for _ in range(count)]


def line(number: int, data: bytes) -> str:
    return json.dumps({"id": f"p{number}", "document": data.decode()}) + "\n"


def of_one_process(data: list[bytes]) -> Synopsis:
    return synopsis_of(map(read_document, data))


def test_lines_give_the_bytes_that_one_process_gives(spark: Any, tmp_path: Path) -> None:
    data = made(40)
    lines = [line(number, one) for number, one in enumerate(data)]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text("".join(lines[:15]) + "\n")
    more = ['{"id": "r", "attributes": {"x": 1}}\n', '{"id": "x", "document": "<a>"}\n', "no\n"]
    (tmp_path / "in" / "b.jsonl").write_text("".join([*lines[15:], *more]))
    out = tmp_path / "some.synopsis"
    summary = SynopsisJob(str(tmp_path / "in"), str(out)).run(spark)
    assert out.read_bytes() == to_bytes(of_one_process(data))
    assert (summary.documents, summary.others, summary.rejected) == (40, 1, 2)
    assert summary.paths == len(load_synopsis(str(out))) - 1
    rows = [
        json.loads(text)
        for path in sorted(Path(f"{out}.rejected").glob("part-*"))
        for text in path.read_text().splitlines()
    ]
    assert [(Path(row["file"]).name, row["line"]) for row in rows] == [
        ("b.jsonl", 27),
        ("b.jsonl", 28),
    ]


@pytest.mark.long
def test_tables_give_the_bytes_that_one_process_gives(spark: Any, tmp_path: Path) -> None:
    data = made(20)
    rows: list[Any] = [(f"p{number}", None, one.decode()) for number, one in enumerate(data)]
    rows += [("x", None, "<a>"), (None, None, "<a/>")]
    schema = "id STRING, attributes STRING, document STRING"
    spark.createDataFrame(rows, schema).repartition(3).write.parquet(str(tmp_path / "in"))
    out = tmp_path / "some.synopsis"
    job = SynopsisJob(str(tmp_path / "in"), str(out), attributes=False)
    assert "MapInArrow" in job.explain(spark)
    assert job.run(spark).rejected == 2
    plain = synopsis_of(read_document(one, content=False) for one in data)
    assert out.read_bytes() == to_bytes(plain)
    with pytest.raises(FileFormatError, match="id"):
        SynopsisJob(str(tmp_path / "in"), str(out), strict=True).run(spark)


def test_a_tree_of_merges_gives_what_one_merge_gives(spark: Any) -> None:
    data = made(30)
    partials = [(to_bytes(of_one_process(data[at : at + 3])),) for at in range(0, 30, 3)]
    parts = spark.createDataFrame(partials, PARTIAL)
    assert synopsis_of_parts(parts, len(partials), fan_in=3) == of_one_process(data)


def test_other_files_are_not_replaced_and_other_inputs_not_read(spark: Any, tmp_path: Path) -> None:
    source = tmp_path / "p.jsonl"
    source.write_text(line(1, b"<a/>"))
    with pytest.raises(FileFormatError, match="exists and is no synopsis"):
        SynopsisJob(str(source), str(source)).run(spark)
    with pytest.raises(InputError, match="not on this machine"):
        SynopsisJob(str(source), "s3://bucket/x").run(spark)
    spark.createDataFrame([("p", "{}")], "id STRING, attributes STRING").write.parquet(
        str(tmp_path / "table")
    )
    with pytest.raises(FileFormatError, match="no column document"):
        SynopsisJob(str(tmp_path / "table"), str(tmp_path / "out")).run(spark)
