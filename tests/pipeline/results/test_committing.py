from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InvariantError
from sapwood.pipeline.results.committing import StoreStaging
from sapwood.pipeline.results.storing import Stored
from sapwood.pipeline.spark import listing
from sapwood.pipeline.spark.listing import listed
from sapwood.pipeline.spark.places import Place, Store
from tests.pipeline.buckets import Bucket, nothing

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = pa.schema([("publication", pa.string())])
OUT = "bucket/out"


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests in the same order in every run, so that the third one is the third."""
    monkeypatch.setattr(listing, "AT_ONCE", 1)


@cache
def parquet(*publications: str) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"publication": list(publications)}, SCHEMA), sink)
    return sink.getvalue()


def staging(bucket: Bucket, job: str) -> StoreStaging:
    return StoreStaging(Store("mem://bucket/out", bucket.files(), OUT), job)


def begun(bucket: Bucket, job: str) -> StoreStaging:
    made = staging(bucket, job)
    made.begin()
    return made


def written(bucket: Bucket, made: StoreStaging, task: int, name: str, *texts: str) -> Stored:
    """A file of a task, as it would have told of it."""
    bucket.objects[f"{made.place.path}/{name}"] = parquet(*texts)
    return Stored(task, name, len(texts))


def job(bucket: Bucket, name: str, *tasks: tuple[str, ...]) -> int:
    """A whole job whose tasks find so many publications each."""
    made = begun(bucket, name)
    try:
        files = [
            written(bucket, made, number, f"_{number}.parquet", *texts)
            for number, texts in enumerate(tasks)
        ]
        return made.put_in_place(files, SCHEMA)
    finally:
        made.remove()


def rows(bucket: Bucket, paths: Any) -> list[str]:
    found = []
    for path in paths:
        table = pq.read_table(io.BytesIO(bucket.objects[path]))
        found += table.column("publication").to_pylist()
    return sorted(found)


def seen_by_all(bucket: Bucket) -> list[str]:
    """The rows that a reader sees who lists the folder and knows no manifest."""
    names = [n for n in bucket.names(OUT) if not n.startswith(("_", "."))]
    return rows(bucket, [f"{OUT}/{name}" for name in names])


def seen_by_us(bucket: Bucket) -> list[str]:
    before, bucket.before = bucket.before, nothing
    after, bucket.after = bucket.after, nothing
    try:
        return rows(bucket, listed(bucket.files(), OUT))
    finally:
        bucket.before, bucket.after = before, after


OLD, NEW = ["a", "b", "c"], ["v", "w", "x", "y"]


def old_job(bucket: Bucket) -> int:
    return job(bucket, "old", ("a", "b"), ("c",))


def new_job(bucket: Bucket) -> int:
    return job(bucket, "new", ("v",), ("w", "x", "y"))


def made_by_spark(bucket: Bucket) -> int:
    bucket.objects |= {f"{OUT}/part-0.parquet": parquet(*OLD), f"{OUT}/_SUCCESS": b""}
    return len(OLD)


def made_by_others(bucket: Bucket) -> int:
    bucket.objects[f"{OUT}/all.parquet"] = parquet(*OLD)
    return len(OLD)


class FailedError(OSError):
    """The error of a request of ours that fails."""


class Failing:
    """Fails a request, by its number among those that begin with a text, and maybe all from it."""

    def __init__(self, number: int, *, from_then_on: bool, begins: str = "") -> None:
        self._number, self._from_then_on, self._begins = number, from_then_on, begins
        self.count = 0

    def __call__(self, request: str) -> None:
        failed = self.count >= self._number and self._from_then_on
        self.count += request.startswith(self._begins)
        if failed or (self.count == self._number and request.startswith(self._begins)):
            raise FailedError(f"{request} failed")


def cut_short(bucket: Bucket) -> int:
    """A result, and a job whose driver was killed while it put files of its own there."""
    old_job(bucket)
    bucket.before = Failing(2, from_then_on=True, begins=f"put {OUT}/_MANIFEST")
    with pytest.raises((FileFormatError, FailedError)):
        job(bucket, "killed", ("k",), ("l",))
    bucket.before = nothing
    assert seen_by_all(bucket) == sorted([*OLD, "k", "l"])
    return len(OLD)


earlier_results = pytest.mark.parametrize(
    "earlier", [old_job, made_by_spark, made_by_others, cut_short]
)


def test_a_result_is_files_of_those_tasks_that_count_and_a_success() -> None:
    bucket = Bucket()
    made = begun(bucket, "job")
    files = [
        written(bucket, made, 3, "_x.parquet", "p3"),
        written(bucket, made, 1, "_z.parquet", "p1"),
    ]
    written(bucket, made, 1, "_y.parquet", "p1")  # of a task that was run twice
    assert made.place == Place("mem://bucket/out", f"{OUT}/_writing/job")
    assert made.put_in_place(files, SCHEMA) == 2
    made.remove()
    names = ["_SUCCESS", "part-00000-job.parquet", "part-00001-job.parquet"]
    assert bucket.names(OUT) == names
    assert rows(bucket, [f"{OUT}/{names[1]}"]) == ["p1"]


@pytest.mark.parametrize(("schema", "files"), [(SCHEMA, 1), (None, 0)])
def test_a_result_without_rows_has_columns_if_it_is_a_table(schema: Any, files: int) -> None:
    bucket = Bucket()
    old_job(bucket)
    assert begun(bucket, "new").put_in_place([], schema) == 0
    assert len(bucket.names(OUT)) == files + 1
    for path in listed(bucket.files(), OUT):
        assert pq.read_schema(io.BytesIO(bucket.objects[path])) == SCHEMA


@earlier_results
@pytest.mark.one_in(2)
def test_at_every_moment_one_whole_result_is_seen(earlier: Callable[[Bucket], int]) -> None:
    bucket = Bucket()
    earlier(bucket)
    ours, others, settled = [], [], []

    def look(request: str) -> None:
        ours.append(seen_by_us(bucket))
        others.append(seen_by_all(bucket))
        if f"{OUT}/_SUCCESS" in bucket.objects:
            settled.append(others[-1])

    bucket.before = look
    assert new_job(bucket) == len(NEW)
    turn = ours.index(NEW)
    assert ours == [OLD] * turn + [NEW] * (len(ours) - turn)
    # Who knows no manifest sees at worst both, and whoever waits for `_SUCCESS` never does.
    assert all(set(OLD) <= set(each) or set(NEW) <= set(each) for each in others)
    assert any({*OLD, *NEW} <= set(each) for each in others)
    assert all(each in (OLD, NEW) for each in settled)
    assert seen_by_all(bucket) == seen_by_us(bucket) == NEW
    assert [n for n in bucket.names(OUT) if n.startswith("_")] == ["_SUCCESS"]


def test_a_first_result_is_seen_when_it_is_whole() -> None:
    bucket = Bucket()
    ours = []
    bucket.before = lambda request: ours.append(seen_by_us(bucket))
    new_job(bucket)
    turn = ours.index(NEW)
    assert ours == [[]] * turn + [NEW] * (len(ours) - turn)


def attempts(
    earlier: Callable[[Bucket], int], hook: str, *, from_then_on: bool
) -> Iterator[tuple[Bucket, bool]]:
    """A job whose first request fails, then one whose second does, and so on, up to the last."""
    before = Bucket()
    earlier(before)
    for number in range(1, 200):
        bucket = Bucket(dict(before.objects))
        fail = Failing(number, from_then_on=from_then_on)
        setattr(bucket, hook, fail)
        failed = False
        try:
            new_job(bucket)
        except (FileFormatError, FailedError):
            failed = True
        bucket.before = bucket.after = nothing
        if fail.count < number:
            assert not failed
            return
        yield bucket, failed
    raise AssertionError("a job makes fewer requests")


@earlier_results
@pytest.mark.parametrize("hook", ["before", "after"])
@pytest.mark.one_in(6)
def test_whatever_request_fails_one_whole_result_is_there(
    earlier: Callable[[Bucket], int], hook: str
) -> None:
    results, before = [], Bucket()
    earlier(before)
    for bucket, failed in attempts(earlier, hook, from_then_on=False):
        found = seen_by_us(bucket)
        assert found in (OLD, NEW)
        assert failed or found == NEW
        results.append(found)
        if found == OLD:
            # Nothing of the new one was left: it was taken back, and all is as it was before.
            assert seen_by_all(bucket) == seen_by_all(before)
            for name in ("_MANIFEST", "_SUCCESS"):
                assert (name in bucket.names(OUT)) == (name in before.names(OUT))
        job(bucket, "next", ("n",))
        assert bucket.names(OUT) == ["_SUCCESS", "part-00000-next.parquet"]
    assert results[0] == OLD
    assert results[-1] == NEW
    assert len(results) > 15


@earlier_results
@pytest.mark.parametrize("hook", ["before", "after"])
@pytest.mark.one_in(3)
def test_whenever_a_driver_is_killed_one_whole_result_is_there(
    earlier: Callable[[Bucket], int], hook: str
) -> None:
    for bucket, failed in attempts(earlier, hook, from_then_on=True):
        found = seen_by_us(bucket)
        assert found in (OLD, NEW)
        assert failed or found == NEW
        if f"{OUT}/_SUCCESS" in bucket.objects:
            assert seen_by_all(bucket) == found
        job(bucket, "next", ("n",))
        assert bucket.names(OUT) == ["_SUCCESS", "part-00000-next.parquet"]


def test_an_interrupt_leaves_the_earlier_result_too() -> None:
    bucket = Bucket()
    old_job(bucket)

    def interrupt(request: str) -> None:
        if request.startswith("move"):
            raise KeyboardInterrupt

    bucket.after = interrupt
    with pytest.raises(KeyboardInterrupt):
        new_job(bucket)
    assert seen_by_all(bucket) == OLD
    assert bucket.names(OUT)[0] == "_SUCCESS"


def test_of_two_jobs_the_one_that_began_last_has_its_result_there() -> None:
    bucket = Bucket()
    old_job(bucket)
    first = begun(bucket, "first")
    lost = written(bucket, first, 0, "_0.parquet", "f")
    second = begun(bucket, "second")
    late = written(bucket, first, 1, "_1.parquet", "f")
    for files in ([lost], [late]):
        with pytest.raises(FileFormatError, match="another job has begun to write"):
            first.put_in_place(files, SCHEMA)
    first.remove()
    assert seen_by_all(bucket) == OLD
    told = written(bucket, second, 0, "_0.parquet", "s")
    assert second.put_in_place([told], SCHEMA) == 1
    second.remove()
    assert seen_by_all(bucket) == ["s"]
    assert bucket.names(OUT) == ["_SUCCESS", "part-00000-second.parquet"]


@pytest.mark.parametrize("moves", [1, 2])
def test_a_job_that_is_overtaken_while_it_puts_its_files_there_takes_them_away(moves: int) -> None:
    bucket = Bucket()
    old_job(bucket)
    first = begun(bucket, "first")
    files = [written(bucket, first, n, f"_{n}.parquet", "f") for n in range(2)]
    left = moves

    def overtake(request: str) -> None:
        nonlocal left
        left -= request.startswith("move")
        if not left:
            bucket.after = nothing
            staging(bucket, "second").begin()

    bucket.after = overtake
    with pytest.raises(FileFormatError, match=r"out: files .* not there any more|another job has"):
        first.put_in_place(files, SCHEMA)
    first.remove()
    assert seen_by_all(bucket) == OLD
    assert [n for n in bucket.names(OUT) if not n.startswith("part")] == [
        "_SUCCESS",
        "_writing/owner",
    ]


def test_rows_that_are_not_those_that_were_told_are_no_result() -> None:
    bucket = Bucket()
    old_job(bucket)
    made = begun(bucket, "new")
    told = written(bucket, made, 0, "_0.parquet", "p", "q")
    with pytest.raises(InvariantError, match="3 rows were counted first and 2 later"):
        made.put_in_place([told._replace(rows=3)], SCHEMA)
    with pytest.raises(FileFormatError, match="out: files that tasks have written here are not"):
        made.put_in_place([told, Stored(1, "_lost.parquet", 1)], SCHEMA)
    assert seen_by_all(bucket) == OLD


def test_a_file_in_place_of_the_folder_is_refused() -> None:
    bucket = Bucket({OUT: b"a letter"})
    with pytest.raises(FileFormatError, match="is a file; name a folder"):
        begun(bucket, "new")
    assert bucket.objects == {OUT: b"a letter"}
