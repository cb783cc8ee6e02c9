from __future__ import annotations

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.compile.job import CompileJob
from sapwood.pipeline.ingest.job import IngestJob
from sapwood.pipeline.matching.job import MatchJob
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.sharding import Layout
from sapwood.pipeline.tables.declared_schema import DeclaredSchema, declared_schema
from sapwood.pipeline.tables.reading import FileKind
from sapwood.pipeline.tables.summaries import Counts
from tests.pipeline.samples import expected, filters, publications
from tests.pipeline.stored import pairs_at, rows_at

pytestmark = pytest.mark.spark

WANTED = filters(40, seed=3)
RECORDS = {
    id_: record
    for id_, record in publications(120, seed=4).items()
    if abs(record["x"] or 0) != float("inf")
}
TRUTH = expected(RECORDS, WANTED)
ARRAYS = sum(record["t"] is not None for record in RECORDS.values())
NOON = "2026-01-31 12:00:00"
BAD_SUBSCRIPTION = '{"id": "bad", "filter": "x >"}'
BAD_PUBLICATION = '{"id": "bad", "attributes": {"x": NaN}}'


def write_lines(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def subscription_lines() -> list[str]:
    return [json.dumps({"id": id_, "filter": text}) for id_, text in WANTED.items()]


def publication_lines() -> list[str]:
    return [json.dumps({"id": id_, "attributes": record}) for id_, record in RECORDS.items()]


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[str, str, str]:
    """Two files with a bad line each, and a place for the result."""
    subscriptions, published = subscription_lines(), publication_lines()
    subscriptions.insert(2, BAD_SUBSCRIPTION)
    published.insert(5, BAD_PUBLICATION)
    return (
        write_lines(tmp_path / "subscriptions.jsonl", subscriptions),
        write_lines(tmp_path / "publications.jsonl", published),
        str(tmp_path / "out"),
    )


def rejected_rows(folder: str) -> list[dict[str, Any]]:
    texts = (path.read_text() for path in sorted(Path(folder).glob("part-*.json")))
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_match_job_delivers_and_sets_aside_and_counts_and_the_same_when_it_runs_again(
    spark: Any, inputs: tuple[str, str, str]
) -> None:
    subscriptions, published, out = inputs
    job = MatchJob(subscriptions, published, out)
    summary = job.run(spark)
    assert pairs_at(out) == TRUTH
    assert summary.subscriptions == Counts(41, 40, 1)
    assert summary.publications == Counts(len(RECORDS) + 1, len(RECORDS), 1)
    assert (summary.deliveries, summary.rejected) == (len(TRUTH), 2)
    assert (summary.layout, summary.aside) == (Layout.BROADCAST, f"{out}.rejected")
    rows = rejected_rows(summary.aside)
    assert [(row["file"], row["line"], row["text"]) for row in rows] == [
        (published, 6, BAD_PUBLICATION),
        (subscriptions, 3, BAD_SUBSCRIPTION),
    ]
    assert job.run(spark) == summary
    assert pairs_at(out) == TRUTH
    assert rejected_rows(summary.aside) == rows
    write_lines(Path(subscriptions), subscription_lines())
    write_lines(Path(published), publication_lines())
    assert job.run(spark).rejected == 0
    assert not Path(summary.aside).exists()


def test_match_job_takes_parquet_and_says_where_bad_rows_are(spark: Any, tmp_path: Path) -> None:
    subscriptions, published = str(tmp_path / "s"), str(tmp_path / "p")
    rows = [("all", "true"), ("bad", "x >"), ("one", "x = 1")]
    spark.createDataFrame(rows, "id STRING, filter STRING").coalesce(1).write.parquet(subscriptions)
    nan = float("nan")
    records = [("a", (1.0, [1])), ("b", (nan, [1])), ("c", (2.0, None))]
    schema = "id STRING, attributes STRUCT<x: DOUBLE, t: ARRAY<INT>>"
    spark.createDataFrame(records, schema).coalesce(1).write.parquet(published)
    summary = MatchJob(subscriptions, published, str(tmp_path / "out")).run(spark)
    assert pairs_at(summary.out) == [("a", "all"), ("a", "one"), ("c", "all")]
    assert summary.publications == Counts(3, 2, 1)
    bad_publication, bad_subscription = rejected_rows(summary.aside)
    assert (Path(bad_publication["file"]).parent, bad_publication["line"]) == (Path(published), 2)
    assert (Path(bad_subscription["file"]).parent, bad_subscription["line"]) == (
        Path(subscriptions),
        2,
    )


@pytest.mark.long
def test_match_job_takes_any_parquet_with_the_names_of_id_columns(
    spark: Any, tmp_path: Path
) -> None:
    published = str(tmp_path / "p")
    rows = [("UA", 7, 3), ("AA", 7, 4)]
    spark.createDataFrame(rows, "carrier STRING, flight INT, line INT").write.parquet(published)
    subscriptions = write_lines(
        tmp_path / "s.jsonl", ['{"id": "s", "filter": "line = 3 and flight = 7"}']
    )
    out = str(tmp_path / "out")
    MatchJob(subscriptions, published, out, id_columns=("carrier", "flight")).run(spark)
    assert pairs_at(out) == [("UA/7", "s")]
    with pytest.raises(InputError, match="as_publications"):
        MatchJob(subscriptions, published, out).run(spark)


@pytest.mark.long
def test_match_job_writes_nothing_when_strict_and_something_is_bad(
    spark: Any, inputs: tuple[str, str, str]
) -> None:
    subscriptions, published, out = inputs
    with pytest.raises(FileFormatError, match=f"{subscriptions}, line 3: filter"):
        MatchJob(subscriptions, published, out, strict=True).run(spark)
    write_lines(Path(subscriptions), subscription_lines())
    with pytest.raises(FileFormatError, match=f"{published}, line 6: NaN"):
        MatchJob(subscriptions, published, out, strict=True).run(spark)
    assert not Path(out).exists()
    assert not Path(f"{out}.rejected").exists()


def test_match_job_touches_nothing_that_is_no_earlier_result(
    spark: Any, inputs: tuple[str, str, str]
) -> None:
    subscriptions, published, _ = inputs
    home = str(Path(published).parent)
    with pytest.raises(FileFormatError, match="is no earlier result"):
        MatchJob(subscriptions, published, home).run(spark)
    with pytest.raises(FileFormatError, match="--rejected"):
        MatchJob(subscriptions, published, f"{home}/out", aside=home).run(spark)
    assert Path(published).exists()


def test_match_job_refuses_csv(spark: Any, tmp_path: Path) -> None:
    table = write_lines(tmp_path / "a.csv", ["id,x", "p,1"])
    lines = write_lines(tmp_path / "a.jsonl", subscription_lines()[:1])
    out = str(tmp_path / "out")
    with pytest.raises(FileFormatError, match="sapwood pipeline ingest"):
        MatchJob(lines, table, out).run(spark)
    with pytest.raises(FileFormatError, match="JSON Lines or Parquet, not CSV"):
        MatchJob(table, lines, out).run(spark)
    with pytest.raises(InputError, match="name their ids themselves"):
        MatchJob(lines, lines, out, id_columns=("x",)).run(spark)


def test_match_job_explains_its_plan(spark: Any, inputs: tuple[str, str, str]) -> None:
    subscriptions, published, out = inputs
    plan = MatchJob(subscriptions, published, out).explain(spark)
    assert "== Physical Plan ==" in plan
    assert "MatchWorker" in plan
    assert not Path(out).exists()


DDL = "n BIGINT, x DOUBLE, b BOOLEAN, s STRING, d STRUCT<e: INT, `f g`: STRING>, t ARRAY<INT>"


@pytest.mark.long
def test_ingested_lines_match_like_the_lines_themselves(
    spark: Any, inputs: tuple[str, str, str], tmp_path: Path
) -> None:
    subscriptions, published, out = inputs
    table = str(tmp_path / "table")
    summary = IngestJob(published, table, declared_schema(DDL)).run(spark)
    assert summary.publications == Counts(len(RECORDS) + 1, len(RECORDS), 1)
    assert summary.undeclared == ("unread",)
    assert (
        spark.read.parquet(table)
        .schema["attributes"]
        .dataType.simpleString()
        .startswith("struct<n:bigint,x:double,b:boolean")
    )
    MatchJob(subscriptions, table, out).run(spark)
    assert pairs_at(out) == TRUTH


@pytest.mark.long
def test_ingest_job_keeps_undeclared_records_as_text(
    spark: Any, inputs: tuple[str, str, str], tmp_path: Path
) -> None:
    subscriptions, published, out = inputs
    table = str(tmp_path / "table")
    assert IngestJob(published, table).run(spark).undeclared == ()
    summary = MatchJob(subscriptions, table, out).run(spark)
    assert pairs_at(out) == TRUTH
    assert summary.publications == Counts(len(RECORDS), len(RECORDS), 0)


@pytest.mark.long
def test_ingest_job_reads_csv(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    write_lines(folder / "a.csv", ["id,x,note", "p,1.5,hello", "q,NA,", 'r,"2",x', "p,3,late"])
    write_lines(folder / "b.csv", ["id,x,note", "s,nan,", "t,4"])
    schema = tmp_path / "schema.toml"
    schema.write_text('null_value = "NA"\n[attributes]\nx = "double"\n')
    job = IngestJob(str(folder), str(tmp_path / "out"), declared_schema(str(schema)))
    summary = job.run(spark)
    assert summary.publications == Counts(6, 3, 3)
    assert summary.undeclared == ("note",)
    rows = sorted(rows_at(summary.out), key=itemgetter("id"))
    assert [(row["id"], row["attributes"]["x"]) for row in rows] == [
        ("p", 1.5),
        ("q", None),
        ("r", 2.0),
    ]
    assert [(Path(row["file"]).name, row["line"]) for row in rejected_rows(summary.aside)] == [
        ("a.csv", 5),
        ("b.csv", 2),
        ("b.csv", 3),
    ]
    assert job.run(spark) == summary
    assert sorted(rows_at(summary.out), key=itemgetter("id")) == rows


def test_ingest_job_ends_when_files_have_different_headers(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "csv"
    folder.mkdir()
    write_lines(folder / "a.csv", ["id,x", "p,1"])
    write_lines(folder / "b.csv", ["x,id", "1,p"])
    job = IngestJob(str(folder), str(tmp_path / "out"), declared_schema("x INT"))
    with pytest.raises(InputError, match=r"csv, line 1: its header is not that of the other"):
        job.run(spark)


def test_ingest_job_refuses_what_it_cannot_read(spark: Any, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    spark.range(1).write.parquet(table)
    lines = write_lines(tmp_path / "a.csv", ["id,x", "p,1"])
    out = str(tmp_path / "out")
    with pytest.raises(InputError, match="has the columns id and attributes"):
        IngestJob(table, out).run(spark)
    with pytest.raises(InputError, match="leave the schema out"):
        IngestJob(table, out, declared_schema("x INT")).run(spark)
    with pytest.raises(InputError, match="no attribute 'y' is declared"):
        IngestJob(lines, out, declared_schema("x INT"), published_at="y").run(spark)
    with pytest.raises(InputError, match="CSV needs a schema"):
        IngestJob(lines, out).run(spark)
    named = DeclaredSchema(declared_schema("x INT").record, ("x",))
    with pytest.raises(InputError, match="are for CSV"):
        IngestJob(lines, out, named, kind=FileKind.LINES).run(spark)
    with pytest.raises(FileFormatError, match="line 1: "):
        IngestJob(lines, out, kind=FileKind.LINES, strict=True).run(spark)
    assert not Path(out).exists()


def stored(out: str) -> list[tuple[Any, ...]]:
    """The rows that ingest has written: id, time, name of the source; in the order of ids."""
    told = ((r["id"], r["published_at"], r["source"]) for r in rows_at(out))
    return sorted((id_, at and str(at), Path(source).name) for id_, at, source in told)


@pytest.mark.long
def test_ingest_job_keeps_times_and_sources(spark: Any, tmp_path: Path) -> None:
    lines = [
        '{"id": "p", "attributes": {}, "published_at": "2026-01-31T12:00:00Z"}',
        '{"id": "q", "attributes": {"at": "x"}, "published_at": 1769860800}',
        '{"id": "r", "attributes": {"published_at": "no member"}}',
        '{"id": "s", "attributes": {}, "published_at": "noon"}',
        '{"id": "t", "attributes": {"at": 1769860800.5}}',
    ]
    source = write_lines(tmp_path / "a.jsonl", lines)
    summary = IngestJob(source, str(tmp_path / "out")).run(spark)
    assert summary.publications == Counts(5, 4, 1)
    assert stored(summary.out) == [
        ("p", NOON, "a.jsonl"),
        ("q", NOON, "a.jsonl"),
        ("r", None, "a.jsonl"),
        ("t", None, "a.jsonl"),
    ]
    (bad,) = rejected_rows(summary.aside)
    assert (bad["line"], bad["text"]) == (4, lines[3])
    assert bad["reason"].startswith("published_at: 'noon' is no time; write it like 2026-")
    named = IngestJob(source, str(tmp_path / "out"), published_at="at").run(spark)
    assert [row[:2] for row in stored(named.out)] == [
        ("p", None),
        ("r", None),
        ("s", None),
        ("t", f"{NOON}.500000"),
    ]


@pytest.mark.long
def test_ingest_job_reads_the_time_of_csv_from_a_column(spark: Any, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "a.csv", ["id,d.at", "p,2026-01-31 12:00:00", "q,"])
    schema = declared_schema("d STRUCT<at: STRING>")
    job = IngestJob(source, str(tmp_path / "out"), schema, published_at="d.at")
    assert job.run(spark).rejected == 0
    assert stored(job.out) == [("p", NOON, "a.csv"), ("q", None, "a.csv")]


@pytest.mark.long
def test_match_job_delivers_the_same_in_shards(spark: Any, inputs: tuple[str, str, str]) -> None:
    subscriptions, published, out = inputs
    summary = MatchJob(subscriptions, published, out, layout=Layout.SHARDED).run(spark)
    assert (summary.layout, summary.deliveries, summary.rejected) == (
        Layout.SHARDED,
        len(TRUTH),
        2,
    )
    assert pairs_at(out) == TRUTH
    places = [(row["file"], row["line"]) for row in rejected_rows(summary.aside)]
    assert places == [(published, 6), (subscriptions, 3)]


@pytest.mark.long
def test_match_job_tells_lists_and_counts(spark: Any, inputs: tuple[str, str, str]) -> None:
    subscriptions, published, out = inputs
    lists = MatchJob(subscriptions, published, out, output=Output.LISTS).run(spark)
    assert lists.deliveries == len(TRUTH)
    rows = rows_at(out)
    assert sorted((r["publication"], s) for r in rows for s in r["subscriptions"]) == TRUTH
    assert all(row["subscriptions"] == sorted(row["subscriptions"]) for row in rows)
    with pytest.raises(FileFormatError, match="no earlier result"):
        MatchJob(subscriptions, published, out, output=Output.COUNTS).run(spark)
    counts = MatchJob(subscriptions, published, f"{out}2", output=Output.COUNTS).run(spark)
    assert counts.deliveries == len(TRUTH)
    found = {r["subscription"]: r["publications"] for r in rows_at(counts.out)}
    assert found == Counter(subscription for _, subscription in TRUTH)


@pytest.mark.long
def test_match_job_tells_the_homes_of_a_compiled_set(
    spark: Any, inputs: tuple[str, str, str], tmp_path: Path
) -> None:
    subscriptions, published, out = inputs
    compiled = str(tmp_path / "set")
    made = CompileJob(subscriptions, compiled, homes=("r1", "r2", "r3")).run(spark)
    home_of = {r["id"]: r["home"] for r in rows_at(f"{made.out}/members")}
    summary = MatchJob(compiled, published, out, output=Output.HOMES).run(spark)
    rows = rows_at(out)
    reached = sorted({(publication, home_of[subscription]) for publication, subscription in TRUTH})
    assert sorted((row["publication"], row["home"]) for row in rows) == reached
    assert summary.deliveries == len(reached)
    for source, output, said in (
        (compiled, Output.PAIRS, "use --output homes"),
        (subscriptions, Output.HOMES, "compile it first"),
    ):
        with pytest.raises(InputError, match=said):
            MatchJob(source, published, f"{out}2", output=output).run(spark)
    with pytest.raises(InputError, match="not cut into shards"):
        MatchJob(compiled, published, out, output=Output.HOMES, layout=Layout.SHARDED).run(spark)
