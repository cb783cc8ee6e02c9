from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.model.publication import Publication
from sapwood.pipeline.report.inputs import SIZES, read_rows, read_sizes
from sapwood.pipeline.tables.schemas import DELIVERIES
from sapwood.store.table_sizes import FOLDER, LATEST, TableSizes
from tests.store.journals import write_journal

pytestmark = pytest.mark.spark


def journal(folder: Path, *held: int) -> str:
    """A journal of one publication, and of the sizes of a table at one second after another."""
    write_journal(folder, [Publication("p1", {})])
    if held:
        sizes = TableSizes(folder, folder.name, bytes_max=2 * 300)
        for second, entries in enumerate(held):
            sizes.write({"local": entries}, float(second))
        sizes.close()
    return str(folder)


def test_rows_that_cannot_be_used_are_told(spark: Any, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    spark.range(1).write.parquet(other)
    with pytest.raises(FileFormatError, match="has no column 'publication'; it has id"):
        read_rows(spark, other, DELIVERIES)
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_rows(spark, str(tmp_path / "none"), DELIVERIES)
    (tmp_path / "d.csv").write_text("publication,subscription\n")
    with pytest.raises(FileFormatError, match="JSON Lines or Parquet, not CSV"):
        read_rows(spark, str(tmp_path / "d.csv"), DELIVERIES)


def test_sizes_come_from_journals_and_files_each_once(spark: Any, tmp_path: Path) -> None:
    # So many that the first have gone, and the others are in two files.
    first = journal(tmp_path / "r1", *range(12))
    second, without = journal(tmp_path / "r2", 5), journal(tmp_path / "r3")
    stored = str(tmp_path / "sizes")
    rows, none = read_sizes(spark, (first, second, without))
    assert none == (without,)
    rows.write.parquet(stored)
    again, none = read_sizes(spark, (first, f"{second}/{FOLDER}", stored))
    assert none == ()
    found = sorted((row["broker"], row["entries"]) for row in again.collect())
    assert found == sorted((row["broker"], row["entries"]) for row in rows.collect())
    assert ("r1", 11) in found
    assert ("r1", 0) not in found
    assert found[-1] == ("r2", 5)


def test_a_line_that_is_being_written_is_not_there_yet(spark: Any, tmp_path: Path) -> None:
    place = journal(tmp_path / "r1", 1)
    with (tmp_path / "r1" / FOLDER / LATEST).open("ab") as file:
        file.write(b'{"broker":"r1","table":"lo')
    rows, _ = read_sizes(spark, (place,))
    assert [row["entries"] for row in rows.collect()] == [1]


def test_nothing_named_is_nothing_found(spark: Any) -> None:
    rows, without = read_sizes(spark, ())
    assert (rows.count(), without) == (0, ())
    assert rows.columns == [column.split()[0] for column in SIZES.split(", ")]


def test_a_broker_is_no_place_of_table_sizes(spark: Any) -> None:
    with pytest.raises(FileFormatError, match="name the folder of its journal"):
        read_sizes(spark, ("host:7411",))


@pytest.mark.long
def test_publications_of_a_journal_are_the_same_with_table_sizes(
    spark: Any, tmp_path: Path
) -> None:
    place = journal(tmp_path / "r1", 1, 2, 3)
    rows = read_rows(spark, place, "id STRING, published_at TIMESTAMP").collect()
    assert [row["id"] for row in rows] == ["p1"]
