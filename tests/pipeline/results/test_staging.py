from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InvariantError
from sapwood.pipeline.results.staging import Staging, staging_for
from sapwood.pipeline.results.storing import Stored

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = pa.schema([("publication", pa.string()), ("subscription", pa.string())])


def stored(staging: Staging, task: int, name: str, *publications: str) -> Stored:
    """A file in the folder, as a task would have told of it."""
    subscriptions = ["s"] * len(publications)
    table = pa.table({"publication": list(publications), "subscription": subscriptions})
    pq.write_table(table, staging.folder / name)
    return Stored(task, name, len(publications))


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    folder = tmp_path / ".out.writing"
    folder.mkdir()
    return Staging(folder, tmp_path / "out")


def publications(folder: Path) -> list[str]:
    return [row["publication"] for row in pq.read_table(folder).to_pylist()]


def test_a_result_has_the_files_that_count_in_the_order_of_their_tasks(staging: Staging) -> None:
    files = [stored(staging, 3, "_a.parquet", "p3"), stored(staging, 1, "_b.parquet", "p1", "p2")]
    stored(staging, 1, "_c.parquet", "p1", "p2")  # of a task that was run twice
    assert staging.put_in_place(files, SCHEMA) == 3
    names = sorted(path.name for path in staging.target.iterdir())
    assert names == ["_SUCCESS", "part-00000.parquet", "part-00001.parquet"]
    assert publications(staging.target) == ["p1", "p2", "p3"]
    assert not staging.folder.exists()


def test_a_result_without_rows_has_columns(staging: Staging) -> None:
    assert staging.put_in_place([], SCHEMA) == 0
    assert pq.read_table(staging.target).schema == SCHEMA


def test_a_result_takes_the_place_of_an_earlier_one(staging: Staging, tmp_path: Path) -> None:
    staging.target.mkdir()
    (staging.target / "part-00007.parquet").write_text("earlier")
    (tmp_path / ".out.earlier").mkdir()  # left there by a job that was killed
    staging.put_in_place([stored(staging, 0, "_a.parquet", "p")], SCHEMA)
    assert publications(staging.target) == ["p"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_takes_the_place_of_a_file(staging: Staging, tmp_path: Path) -> None:
    staging.target.write_text("earlier")
    staging.put_in_place([stored(staging, 0, "_a.parquet", "p")], SCHEMA)
    assert publications(staging.target) == ["p"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_result_stays_until_the_new_one_is_whole(
    staging: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    staging.target.mkdir()
    (staging.target / "letter.txt").write_text("earlier")
    told = stored(staging, 0, "_a.parquet", "p")
    with pytest.raises(FileFormatError, match=r"out: cannot be written: No such file"):
        staging.put_in_place([told, Stored(1, "_lost.parquet", 1)], SCHEMA)
    again = Stored(0, "part-00000.parquet", 2)
    with pytest.raises(InvariantError, match="2 rows were counted first and 1 later"):
        staging.put_in_place([again], SCHEMA)
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if source == staging.folder:
            raise PermissionError(1, "Operation not permitted")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(FileFormatError, match="out: cannot be written: Operation not permitted"):
        staging.put_in_place([Stored(0, "part-00000.parquet", 1)], SCHEMA)
    assert (staging.target / "letter.txt").read_text() == "earlier"
    staging.remove()
    assert not staging.folder.exists()


@pytest.mark.spark
def test_staging_is_where_spark_looks_for_it(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "new" / "out", f"file:{tmp_path}/new/out"):
        staging = staging_for(spark, str(path))
        assert staging == Staging(tmp_path / "new" / ".out.writing", tmp_path / "new" / "out")
        (staging.folder / "left").touch()
    (tmp_path / "link").symlink_to(tmp_path / "new")
    staging = staging_for(spark, str(tmp_path / "link"))
    assert staging == Staging(tmp_path / ".new.writing", tmp_path / "new")
    monkeypatch.chdir(tmp_path)
    staging = staging_for(spark, "here")
    assert staging is not None
    assert staging.target == tmp_path / "here"


@pytest.mark.spark
def test_where_no_folder_can_be_put_there_is_no_staging(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert staging_for(spark, "hdfs://host/out") is None
    (tmp_path / "file").touch()
    assert staging_for(spark, str(tmp_path / "file" / "out")) is None
    monkeypatch.setattr("sapwood.pipeline.results.staging.exists", lambda *_: False)
    assert staging_for(spark, str(tmp_path / "other" / "place")) is None
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    assert staging_for(spark, str(tmp_path / "volume")) is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
