from __future__ import annotations

import io

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.spark.listing import listed, look_into, read_manifest, rows_in
from tests.pipeline.buckets import Bucket

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LAKE = (
    "b/lake/_SUCCESS",
    "b/lake/.part-0.parquet.crc",
    "b/lake/_temporary/0/part-1.parquet",
    "b/lake/day=1/a.parquet",
    "b/lake/day=1/.hidden/c.parquet",
    "b/lake/day=2/b.parquet",
    "b/lake/day=2/sub/c[1].parquet",
    "b/lake/part-0.parquet",
    "b/lake2/other.parquet",
)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket(dict.fromkeys(LAKE, b""))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("b/lake", ["day=1/a", "day=2/b", "part-0"]),
        ("b/lake/day=1", ["day=1/a"]),
        ("b/lake/part-0.parquet", ["part-0"]),
        ("b/lake/*.parquet", ["part-0"]),
        ("b/lake/day=*", ["day=1/a", "day=2/b"]),
        ("b/lake/day=[2-9]/*", ["day=2/b", "day=2/sub/c[1]"]),
        ("b/lake/day=*/b*", ["day=2/b"]),
        ("b/lake/_temporary/0", ["_temporary/0/part-1"]),
        ("b/lake/_*/0", []),
        ("b/lake/none", []),
        ("c/*/x", []),
    ],
)
def test_what_belongs_is_what_spark_would_read(bucket: Bucket, path: str, found: list[str]) -> None:
    assert listed(bucket.files(), path) == tuple(f"b/lake/{name}.parquet" for name in found)


def test_a_manifest_tells_what_belongs_unless_there_is_a_success(bucket: Bucket) -> None:
    bucket.objects["b/lake/_MANIFEST"] = b'{"files":["day=1/a.parquet"]}'
    files = bucket.files()
    assert len(listed(files, "b/lake")) == 3
    assert look_into(files, "b/lake").is_settled
    del bucket.objects["b/lake/_SUCCESS"]
    assert listed(files, "b/lake") == ("b/lake/day=1/a.parquet",)
    assert len(look_into(files, "b/lake").seen) == 3
    del bucket.objects["b/lake/day=1/a.parquet"]
    with pytest.raises(FileFormatError, match="it is being replaced; read it again"):
        listed(files, "b/lake")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"files":[],"x":1}'])
def test_a_manifest_of_another_kind_is_refused(bucket: Bucket, content: bytes) -> None:
    bucket.objects["b/lake/_MANIFEST"] = content
    with pytest.raises(FileFormatError, match="b/lake/_MANIFEST: is no manifest of a result"):
        read_manifest(bucket.files(), "b/lake")


def test_rows_are_counted_by_footers_and_lines_by_their_ends() -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2, 3]}), sink)
    lines = b"x" * (1 << 20) + b"\n\n" + b"y\n"
    files = Bucket({"b/a.parquet": sink.getvalue(), "b/a.json": lines}).files()
    assert rows_in(files, "b/a.parquet") == 3
    assert rows_in(files, "b/a.json") == 3
