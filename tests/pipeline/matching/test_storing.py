from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.matching.index import Index
from sapwood.pipeline.matching import output as telling
from sapwood.pipeline.matching.delivering import StoringWorker
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.workers import MatchWorker, RowGroupMatchWorker
from sapwood.pipeline.results import storing
from sapwood.pipeline.results.storing import (
    ResultFile,
    StoreLines,
    StoreRows,
    codec_of,
    needed_codec,
)
from sapwood.pipeline.spark.places import HERE, Place
from sapwood.pipeline.tables.attributes import Kind
from sapwood.pipeline.tables.publications import Carried
from sapwood.pipeline.tables.row_groups import GroupReader, Groups, PartReader, Places

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pyspark = pytest.importorskip("pyspark")


class Task(NamedTuple):
    """A task, as its worker knows it."""

    number: int

    def partitionId(self) -> int:  # noqa: N802 - as Spark has it
        return self.number


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RowGroupMatchWorker:
    """The worker of a task, with a lake of 50 publications in two parts."""
    made = Index(records="counting")
    made.add("low", "n < 20")
    made.add("all", "true")
    made.save(tmp_path / "the-index")
    monkeypatch.setattr(pyspark.SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    monkeypatch.setattr(pyspark.TaskContext, "get", lambda: Task(7))
    ids = [f"p{number}" for number in range(50)]
    records = [{"n": number} for number in range(50)]
    lake = tmp_path / "lake.parquet"
    pq.write_table(pa.table({"id": ids, "attributes": records}), lake, row_group_size=10)
    path = ("attributes", "n")
    reader = GroupReader(
        Places(), Carried(("n",)), ((path, Kind.INTEGER),), (), case_sensitive=True
    )
    parts = [[Groups(str(lake), (0, 1, 2))], [Groups(str(lake), (3, 4))]]
    match = MatchWorker("the-index", Carried(("n",)), Output.PAIRS, coded=True)
    (tmp_path / "out").mkdir()
    return RowGroupMatchWorker(PartReader(reader, parts), match)


def here(path: Path) -> Place:
    return Place(HERE, str(path))


def part(number: int) -> Any:
    return iter([pa.RecordBatch.from_pydict({"id": pa.array([number], pa.int64())})])


def pairs(table: Any) -> set[tuple[str, str]]:
    return {tuple(row.values()) for row in table.to_pylist()}


def test_a_task_writes_a_file_and_tells_of_it(work: RowGroupMatchWorker, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (listing,) = StoringWorker(work, here(out), "zstd")(part(0))
    assert listing.schema.names == ["task", "file", "rows"]
    ((task, name, rows),) = (tuple(row.values()) for row in listing.to_pylist())
    assert (task, rows) == (7, 50)
    assert [path.name for path in out.iterdir()] == [name]
    assert name.startswith("_")
    expected = {(f"p{n}", "all") for n in range(30)} | {(f"p{n}", "low") for n in range(20)}
    assert pairs(pq.read_table(out / name)) == expected


def test_what_is_done_twice_is_in_two_files(work: RowGroupMatchWorker, tmp_path: Path) -> None:
    store = StoringWorker(work, here(tmp_path / "out"), "snappy")
    names = {listing.to_pylist()[0]["file"] for _ in range(2) for listing in store(part(1))}
    assert len(names) == 2
    tables = [pq.read_table(tmp_path / "out" / name) for name in names]
    assert pairs(tables[0]) == pairs(tables[1]) == {(f"p{n}", "all") for n in range(30, 50)}


def test_a_task_without_deliveries_writes_nothing(
    work: RowGroupMatchWorker, tmp_path: Path
) -> None:
    assert list(StoringWorker(work, here(tmp_path / "out"), "snappy")(iter([]))) == []
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_that_is_not_here_is_named(work: RowGroupMatchWorker, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="none: the folder of a result is not where this"):
        list(StoringWorker(work, here(tmp_path / "none"), "snappy")(part(0)))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(FileFormatError, match="cannot be written"):
        ResultFile(here(tmp_path / "f"), "snappy").add(
            pa.RecordBatch.from_pydict({"publication": ["p"]})
        )


@pytest.mark.parametrize("rows", [10, 1000])
def test_a_file_has_plain_texts_bounds_of_what_is_looked_up_and_bounded_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(storing, "ROW_GROUP_ROWS_MAX", 100)
    texts = pa.array([f"s{number}" for number in range(7)])
    columns = [pa.DictionaryArray.from_arrays(np.arange(rows) % 7, texts)] * 2
    file = ResultFile(here(tmp_path / "f.parquet"), "snappy")
    for _ in range(2):
        file.add(pa.RecordBatch.from_arrays(columns, names=["publication", "subscription"]))
    file.close()
    found = pq.read_table(tmp_path / "f.parquet")
    assert found.schema.types == [pa.string(), pa.string()]
    assert found.column(1).to_pylist() == [f"s{number % 7}" for number in range(rows)] * 2
    footer = pq.read_metadata(tmp_path / "f.parquet")
    assert footer.num_row_groups == 2 * max(rows // 100, 1)
    for number in range(footer.num_row_groups):
        publication, subscription = (footer.row_group(number).column(at) for at in (0, 1))
        assert (publication.statistics.min, publication.statistics.max) == ("s0", "s6")
        assert not subscription.is_stats_set
        assert "RLE_DICTIONARY" in publication.encodings


def test_lists_are_stored_as_lists_of_texts(work: RowGroupMatchWorker, tmp_path: Path) -> None:
    lists = MatchWorker(work.match.name, work.match.carried, Output.LISTS, coded=True)
    store = StoringWorker(RowGroupMatchWorker(work.read, lists), here(tmp_path / "out"), "none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "ROW_GROUP_ROWS_MAX", 8)
        (listing,) = store(part(0))
    (row,) = listing.to_pylist()
    assert row["rows"] == 30
    found = pq.read_table(tmp_path / "out" / row["file"])
    assert found.schema.field("subscriptions").type == pa.list_(pa.string())
    both = [["all", "low"]] * 20
    assert found.column("subscriptions").to_pylist() == [*both, *([["all"]] * 10)]


def test_rows_of_any_table_are_stored_in_groups_of_a_bounded_size(
    work: RowGroupMatchWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "ROW_GROUP_BYTES", 100)
    batches = [pa.RecordBatch.from_pydict({"n": list(range(n))}) for n in (0, 5, 5, 5, 1, 0, 1)]
    (listing,) = StoreRows(here(tmp_path / "out"), "snappy")(iter(batches))
    ((task, name, rows),) = (tuple(row.values()) for row in listing.to_pylist())
    assert (task, rows) == (7, 17)
    footer = pq.read_metadata(tmp_path / "out" / name)
    assert [footer.row_group(n).num_rows for n in range(footer.num_row_groups)] == [15, 2]
    found = pq.read_table(tmp_path / "out" / name).column("n").to_pylist()
    assert found == [n for batch in batches for n in batch.column(0).to_pylist()]
    assert list(StoreRows(here(tmp_path / "out"), "snappy")(iter(batches[:1]))) == []


def test_texts_are_stored_as_lines_in_a_store(work: RowGroupMatchWorker, s3: Any) -> None:
    batches = [pa.RecordBatch.from_pydict({"value": texts}) for texts in ([], ["a", "ü"], ["c"])]
    store = StoreLines(Place(s3.uri("x"), f"{s3.bucket}/lines"), ".json")
    (listing,) = store(iter(batches))
    (row,) = listing.to_pylist()
    assert (row["task"], row["rows"]) == (7, 3)
    with s3.files.open_input_stream(f"{s3.bucket}/lines/{row['file']}") as stream:
        assert bytes(stream.read()).decode() == "a\nü\nc\n"
    assert list(store(iter(batches[:1]))) == []


def test_what_cannot_be_written_into_a_store_is_named_without_its_secret(
    work: RowGroupMatchWorker, s3: Any
) -> None:
    uri = s3.uri("x").replace(f"@{s3.bucket}", "@other")
    batch = pa.RecordBatch.from_pydict({"publication": ["p"]})
    with pytest.raises(FileFormatError) as caught:
        list(StoreRows(Place(uri, "other/a"), "snappy")(iter([batch])))
    assert caught.value.path.startswith("s3://other/a/_")
    assert caught.value.reason == (
        "cannot be written: there is no such bucket; create it, or correct its name"
    )


class Session(NamedTuple):
    """A session with nothing but its settings, of which the codec is one."""

    conf: dict[str, str]


@pytest.mark.parametrize(("name", "codec"), [("ZSTD", "zstd"), ("lz4_raw", "lz4"), ("lzo", None)])
def test_a_codec_has_its_own_name_in_arrow(name: str, codec: str | None) -> None:
    spark: Any = Session({"spark.sql.parquet.compression.codec": name})
    assert codec_of(spark) == codec
    if codec is None:
        with pytest.raises(InputError, match=r"set spark\.sql.* to one of none, snappy"):
            needed_codec(spark)
    else:
        assert needed_codec(spark) == codec
