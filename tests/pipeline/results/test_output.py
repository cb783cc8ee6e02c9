from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.matching.output import Output, columns_of
from sapwood.pipeline.results.output import (
    LARGE_ROWS,
    check_rejected,
    check_table,
    exists,
    rejected_path,
    rejected_table,
    remove_rejected,
    seen_here,
    write_rejected,
    write_table,
)
from sapwood.pipeline.tables.schemas import Rejected
from tests.patience import PATIENCE_S
from tests.pipeline.stored import rows_at

pytestmark = pytest.mark.spark

DELIVERY_COLUMNS = columns_of(Output.PAIRS)
BAD = Rejected("f", 3, "no", "x\ny")


def deliveries(spark: Any, count: int) -> Any:
    rows = [(f"p{n}", "s") for n in range(count)]
    return spark.createDataFrame(rows, "publication STRING, subscription STRING")


def test_write_table_replaces_an_earlier_result_and_counts_rows(spark: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    check_table(spark, out, DELIVERY_COLUMNS)
    assert write_table(deliveries(spark, 3), out) == 3
    check_table(spark, out, DELIVERY_COLUMNS)
    assert write_table(deliveries(spark, 2), out) == 2
    assert len(rows_at(out)) == 2


def test_write_table_of_no_rows_leaves_a_table_that_can_be_read(spark: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert write_table(deliveries(spark, 0), out) == 0
    assert spark.read.parquet(out).columns == DELIVERY_COLUMNS
    check_table(spark, out, DELIVERY_COLUMNS)


def test_check_table_takes_an_empty_folder(spark: Any, tmp_path: Path) -> None:
    check_table(spark, str(tmp_path), DELIVERY_COLUMNS)


def test_check_table_refuses_what_is_no_result(spark: Any, tmp_path: Path) -> None:
    other, text, hidden = tmp_path / "other", tmp_path / "text", tmp_path / "hidden"
    spark.range(1).write.parquet(str(other))
    text.mkdir()
    (text / "letter.txt").write_text("Dear reader, this is not a Parquet file.")
    hidden.mkdir()
    (hidden / ".config").write_text("x")
    for path in (other, text, hidden, text / "letter.txt"):
        with pytest.raises(FileFormatError, match="is no earlier result of this command"):
            check_table(spark, str(path), DELIVERY_COLUMNS)


def test_write_rejected_writes_lines_and_removes_earlier_ones(spark: Any, tmp_path: Path) -> None:
    aside = tmp_path / "out.rejected"
    assert rejected_path(str(tmp_path / "out") + "/") == str(aside)
    table = rejected_table(spark, [BAD])
    check_rejected(spark, str(aside))
    assert write_rejected(table, str(aside), expected=1) == 1
    (part,) = aside.glob("part-*.json")
    assert json.loads(part.read_text()) == {"file": "f", "line": 3, "reason": "no", "text": "x\ny"}
    check_rejected(spark, str(aside))
    assert write_rejected(rejected_table(spark, []), str(aside), expected=0) == 0
    assert not aside.exists()
    remove_rejected(spark, str(aside))


def test_check_rejected_refuses_what_is_no_folder_of_rejected_rows(
    spark: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    check_rejected(spark, str(folder))
    (folder / "letter.txt").write_text("Dear reader")
    for path in (folder, folder / "letter.txt"):
        with pytest.raises(FileFormatError, match="choose another with --rejected"):
            check_rejected(spark, str(path))
        for expected in (0, 1):
            with pytest.raises(FileFormatError, match="choose another with --rejected"):
                write_rejected(rejected_table(spark, [BAD]), str(path), expected=expected)
    assert (folder / "letter.txt").read_text() == "Dear reader"


def test_exists_looks_where_spark_looks(spark: Any, tmp_path: Path) -> None:
    assert exists(spark, str(tmp_path))
    assert exists(spark, f"file:{tmp_path}")
    assert not exists(spark, str(tmp_path / "none"))
    assert not exists(spark, str(tmp_path / "*.txt"))
    (tmp_path / ".hidden").touch()
    assert exists(spark, str(tmp_path / "*"))
    (tmp_path / "a.txt").touch()
    for pattern in ("*.txt", "[ab].txt", "{a,b}.txt", "?.txt"):
        assert exists(spark, str(tmp_path / pattern))


def test_a_place_is_looked_at_here_where_java_means_this_machine(
    spark: Any, tmp_path: Path
) -> None:
    assert seen_here(spark, f"{tmp_path}/out") == tmp_path / "out"
    assert seen_here(spark, "out") is None
    assert seen_here(spark, "s3://bucket/out") is None
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    usual = settings.get("fs.defaultFS")
    settings.set("fs.defaultFS", "hdfs://names:8020")
    try:
        assert seen_here(spark, f"{tmp_path}/out") is None
        assert seen_here(spark, f"file://{tmp_path}/out") == tmp_path / "out"
    finally:
        settings.set("fs.defaultFS", usual)


FULL_DISK = """
import resource, sys
from sapwood.pipeline.job import main
# No file may grow beyond this: writing fails as it does where a disk is full.
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
main(sys.argv[2:])
"""


@pytest.mark.long
@pytest.mark.parametrize("writer", ["Spark", "workers"])
def test_a_disk_that_fills_is_an_error_and_leaves_nothing_that_looks_whole(
    tmp_path: Path, writer: str
) -> None:
    many = [{"id": f"p{n:06d}", "attributes": {"x": n}} for n in range(60_000)]
    if writer == "Spark":
        publications = tmp_path / "p.jsonl"
        publications.write_text("".join(json.dumps(line) + "\n" for line in many))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        publications = tmp_path / "p.parquet"
        parquet.write_table(pa.Table.from_pylist(many), publications)
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "x >= 0"}\n')
    out = tmp_path / "out"
    command = ["match", "--subscriptions", "s.jsonl", "--publications", publications.name]
    arguments = [sys.executable, "-c", FULL_DISK, "40000", *command, "--engine", "counting"]
    done = subprocess.run(
        [*arguments, "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "File too large" in done.stderr
    assert not (out / "_SUCCESS").exists()
    assert not list(out.glob("*.parquet"))
    if writer == "workers":
        inputs = {publications.name, "s.jsonl"}
        assert {path.name for path in tmp_path.iterdir()} == inputs


@pytest.mark.long
def test_large_rows_are_written_a_few_at_a_time(spark: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [random.Random(number).randbytes(4 << 20) for number in range(9)]
    table = spark.createDataFrame(pa.table({"bytes": rows})).coalesce(1)
    assert write_table(table, str(tmp_path / "out"), LARGE_ROWS) == 9
    (file,) = (tmp_path / "out").glob("*.parquet")
    assert parquet.read_metadata(file).num_row_groups > 1
