from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.compile.job import CompileJob
from sapwood.pipeline.matching.subscription_source import compile_path
from sapwood.pipeline.matching.subscriptions import SubscriptionSet
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.stream.following import FollowedSet
from sapwood.pipeline.stream.stream import StreamJob
from sapwood.pipeline.tables.attributes import Kind, Object, Scalar
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.summaries import BatchSummary, Counts
from tests.patience import PATIENCE_S
from tests.pipeline.samples import Pair, expected, filters, publications
from tests.pipeline.stored import pairs_at, rows_at

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[3]
WANTED = filters(25, seed=5)
RECORDS = {
    id_: record
    for id_, record in publications(90, seed=6).items()
    if abs(record["x"] or 0) != float("inf")
}
TRUTH = expected(RECORDS, WANTED)


def drop(folder: Path, name: str, ids: Sequence[str], *more: str) -> None:
    """Let a file with these publications come into the folder, whole."""
    lines = [json.dumps({"id": id_, "attributes": RECORDS[id_]}) for id_ in ids]
    partial = folder / f".{name}"
    partial.write_text("".join(f"{line}\n" for line in (*lines, *more)))
    partial.rename(folder / "in" / name)


def parts(count: int) -> list[list[str]]:
    ids = sorted(RECORDS)
    return [ids[place::count] for place in range(count)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return write_wanted(tmp_path)


def write_wanted(folder: Path) -> Path:
    lines = [json.dumps({"id": id_, "filter": text}) for id_, text in WANTED.items()]
    (folder / "subscriptions.jsonl").write_text("\n".join([*lines, "nope"]))
    return folder


def compiled_at(spark: Any, folder: Path) -> SubscriptionSet:
    return compile_path(spark, str(folder / "subscriptions.jsonl"), engine="counting")


@pytest.fixture(scope="module")
def compiled(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> SubscriptionSet:
    """The subscriptions of every folder, compiled once: streams only read them."""
    return compiled_at(spark, write_wanted(tmp_path_factory.mktemp("wanted")))


def delivered(folder: Path) -> list[Pair]:
    return pairs_at(folder / "out")


def job(
    compiled: SubscriptionSet, folder: Path, **options: Any
) -> tuple[StreamJob, list[BatchSummary]]:
    told: list[BatchSummary] = []
    return StreamJob(
        source=str(folder / "in"),
        out=str(folder / "out"),
        decoder=options.pop("decoder", JSONDecoder(None)),
        compiled=compiled,
        files_per_batch=1,
        on_batch=told.append,
        **options,
    ), told


def run(spark: Any, stream: StreamJob) -> None:
    query = stream.start(spark)
    with spark_faults():
        query.awaitTermination()


def test_a_stream_stopped_between_files_goes_on_where_it_was(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    first, second, third = parts(3)
    stream, told = job(compiled, folder)
    drop(folder, "1.jsonl", first, "nope", "")
    drop(folder, "2.jsonl", second)
    run(spark, stream)
    assert [batch.batch for batch in told] == [0, 1]
    assert {batch.publications for batch in told if batch.publications.rejected} == {
        Counts(len(first) + 1, len(first), 1)
    }
    done = [*first, *second]
    assert delivered(folder) == expected({id_: RECORDS[id_] for id_ in done}, WANTED)
    drop(folder, "3.jsonl", third)
    run(spark, stream)
    assert [batch.batch for batch in told] == [0, 1, 2]
    assert delivered(folder) == TRUTH
    assert sum(batch.deliveries for batch in told) == len(TRUTH)
    run(spark, stream)
    assert len(told) == 3


def test_rejected_lines_and_subscriptions_lie_beside_the_output(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    drop(folder, "1.jsonl", [], "nope", "", '{"id": "p"}')
    stream, told = job(compiled, folder)
    run(spark, stream)
    aside = folder / "out.rejected"
    assert sorted(path.name for path in aside.iterdir()) == ["batch=0", "subscriptions"]
    (lines,) = (path.read_text().splitlines() for path in aside.glob("batch=0/part-*.json"))
    assert [json.loads(line)["line"] for line in lines] == [1, 3]
    assert told == [BatchSummary(0, Counts(2, 0, 2), 0)]


def test_a_stream_with_a_declared_schema_checks_it(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    record = Object((("n", Scalar(Kind.INTEGER, "BIGINT")),))
    good, bad = ('{"id": "p", "attributes": {"n": 1}}', '{"id": "q", "attributes": {"n": "x"}}')
    drop(folder, "1.jsonl", [], good, bad)
    stream, told = job(compiled, folder, decoder=JSONDecoder(record))
    run(spark, stream)
    assert told[0].publications == Counts(2, 1, 1)


@pytest.mark.long
def test_a_strict_stream_ends_at_the_first_bad_line(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    first, second = parts(2)
    drop(folder, "1.jsonl", first)
    stream, told = job(compiled, folder, strict=True)
    run(spark, stream)
    drop(folder, "2.jsonl", second, "nope")
    with pytest.raises(InputError, match=r"2\.jsonl, line \d+: not JSON"):
        run(spark, stream)
    assert [batch.batch for batch in told] == [0]
    assert not (folder / "out" / "batch=1").exists()
    drop(folder, "3.jsonl", [])
    lenient, told = job(compiled, folder)
    run(spark, lenient)
    assert delivered(folder) == TRUTH


@pytest.mark.long
def test_a_stream_without_an_end_takes_files_as_they_come(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    stream, told = job(compiled, folder)
    query = stream.start(spark, every_s=0)
    try:
        for place, ids in enumerate(parts(2)):
            drop(folder, f"{place}.jsonl", ids)
            query.processAllAvailable()
            assert len(told) == place + 1
        assert query.isActive
    finally:
        query.stop()
    assert delivered(folder) == TRUTH


def test_output_and_checkpoint_must_belong_together(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    drop(folder, "1.jsonl", parts(1)[0])
    stream, _ = job(compiled, folder)
    run(spark, stream)
    elsewhere, _ = job(compiled, folder, checkpoint=str(folder / "other"))
    with pytest.raises(FileFormatError, match=r"that the checkpoint .*other does not know"):
        elsewhere.start(spark)
    shutil.rmtree(folder / "out" / "batch=0")
    run(spark, stream)  # Batches may be taken away by those who want them,
    shutil.rmtree(folder / "out")
    with pytest.raises(FileFormatError, match="which is gone"):  # but not all of the output.
        stream.start(spark)


@pytest.mark.long
def test_documents_stream_beside_records(spark: Any, folder: Path) -> None:
    wanted = [{"id": "x", "filter": "x > 1"}, {"id": "b", "xpath": "/a[b='1']"}]
    (folder / "subscriptions.jsonl").write_text("".join(json.dumps(w) + "\n" for w in wanted))
    lines = [
        {"id": "both", "attributes": {"x": 2}, "document": "<a><b>1</b></a>"},
        {"id": "document", "document": "<a><b>1</b></a>"},
        {"id": "other", "document": "<a><b>2</b></a>"},
        {"id": "broken", "document": "<a>"},
    ]
    drop(folder, "a.jsonl", [], *map(json.dumps, lines))
    stream, told = job(compiled_at(spark, folder), folder)
    run(spark, stream)
    assert delivered(folder) == [("both", "b"), ("both", "x"), ("document", "b")]
    assert told[0].publications == Counts(4, 3, 1)


@pytest.mark.long
def test_a_late_file_and_one_that_comes_twice_are_each_matched_once(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    first, second = parts(2)
    drop(folder, "b.jsonl", first)
    stream, _ = job(compiled, folder)
    run(spark, stream)
    # Older by years than all that was read, and by its name before it.
    drop(folder, "a.jsonl", second)
    years_ago = (folder / "in" / "b.jsonl").stat().st_mtime - 5 * 365 * 86_400
    os.utime(folder / "in" / "a.jsonl", (years_ago, years_ago))
    drop(folder, "b.jsonl", first)  # The publisher repeats a file under its name.
    run(spark, stream)
    assert delivered(folder) == TRUTH


def test_a_checkpoint_of_another_version_is_refused_and_nothing_is_written(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    first, second = parts(2)
    drop(folder, "a.jsonl", first)
    stream, _ = job(compiled, folder)
    run(spark, stream)
    before = delivered(folder)
    drop(folder, "b.jsonl", second)
    offsets = folder / "out.checkpoint" / "offsets"
    newer = offsets / "0"
    newer.write_text(newer.read_text().replace("v1\n", "v99\n", 1))
    (offsets / ".0.crc").unlink()
    with pytest.raises(InputError, match="made by another version of Spark"), spark_faults():
        stream.start(spark).awaitTermination()
    assert delivered(folder) == before
    assert not (folder / "out" / "batch=1").exists()


def test_a_folder_that_is_not_there_is_named(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    shutil.rmtree(folder / "in")
    stream, _ = job(compiled, folder)
    with pytest.raises(FileFormatError, match="in: there is no such file or folder"):
        stream.start(spark)


def start(folder: Path, *options: str) -> tuple[int, list[list[int]]]:
    """Run the stream in processes of its own; the status, and what it said of each batch."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.stream.streaming", str(folder), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Java and Python die together when their group is killed.
    )
    out, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, [[int(n) for n in line.split()] for line in out.splitlines()]


@pytest.mark.long
def test_a_killed_driver_loses_nothing_and_repeats_nothing(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    for place, ids in enumerate(parts(3)):
        drop(folder, f"{place}.jsonl", ids)
    status, told = start(folder, "--stop-in-batch", "1")
    assert status == -signal.SIGKILL
    assert [batch for batch, _ in told] == [0, 1]
    assert (folder / "out" / "batch=1").exists()
    commits = folder / "out.checkpoint" / "commits"
    assert sorted(path.name for path in commits.iterdir() if path.name.isdigit()) == ["0"]
    half = folder / "out" / "batch=1" / "part-from-before.parquet"
    shutil.copy(next((folder / "out" / "batch=1").glob("part-*.parquet")), half)
    stream, again = job(compiled, folder)
    run(spark, stream)
    assert [batch.batch for batch in again] == [1, 2]
    assert not half.exists()
    assert delivered(folder) == TRUTH


@pytest.mark.long
def test_a_new_version_of_a_compiled_set_holds_from_the_next_batch(
    spark: Any, compiled: SubscriptionSet, folder: Path
) -> None:
    versions = str(folder / "set")
    wanted = folder / "subscriptions.jsonl"

    def compile_for(home: str) -> None:
        line = {"id": "s", "filter": "true", "home": home}
        wanted.write_text(json.dumps(line))
        CompileJob(str(wanted), versions, engine="counting").run(spark)

    compile_for("r1")
    stream, told = job(compiled, folder)
    stream = replace(stream, compiled=FollowedSet(versions))
    first, second = parts(2)
    drop(folder, "a.jsonl", first)
    query = stream.start(spark, every_s=0)
    try:
        query.processAllAvailable()
        compile_for("r2")
        drop(folder, "b.jsonl", second)
        query.processAllAvailable()
    finally:
        query.stop()
    assert [(batch.batch, batch.version) for batch in told] == [(0, 1), (1, 2)]
    rows = [(row["publication"], row["home"]) for row in rows_at(folder / "out")]
    reached = [(id_, "r1") for id_ in first] + [(id_, "r2") for id_ in second]
    assert sorted(rows) == sorted(reached)
