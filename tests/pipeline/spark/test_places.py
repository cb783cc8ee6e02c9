from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.spark.places import (
    HERE,
    Place,
    Store,
    file_system,
    has_options,
    is_remote,
    nothing_at,
    opened,
    reason_of,
    shown,
    shown_file,
    store_faults,
    suffixed,
)
from tests.pipeline.buckets import Bucket

pa_fs = pytest.importorskip("pyarrow.fs")

SECRET = "s3a://KEY:SECRET@bucket/a lake/*?endpoint_override=127.0.0.1:1&scheme=http"


@pytest.mark.parametrize(
    ("path", "remote"),
    [("lake", False), ("/a/lake", False), ("file:///a", False), ("s3://b/a", True), ("a:b", False)],
)
def test_a_store_is_named_by_its_scheme(path: str, remote: bool) -> None:
    assert is_remote(path) == remote
    assert not has_options(path)
    assert shown(path) == path


def test_what_is_shown_of_a_path_has_no_secret_and_no_options() -> None:
    assert has_options(SECRET)
    assert shown(SECRET) == "s3a://bucket/a lake/*"
    assert shown_file(Place(SECRET, "bucket/a/f.parquet")) == "s3a://bucket/a/f.parquet"
    assert shown_file(Place("hdfs://u:p@host:1/a", "/a/f")) == "hdfs://host:1/a/f"
    assert shown_file(Place(HERE, "/a/f")) == "/a/f"
    assert shown("abfss://box@name.dfs.core.windows.net/a") == (
        "abfss://box@name.dfs.core.windows.net/a"
    )
    assert shown("abfss://box:key@name.dfs.core.windows.net/a") == (
        "abfss://name.dfs.core.windows.net/a"
    )


def test_a_suffix_comes_before_options() -> None:
    assert suffixed("out/", ".rejected") == "out.rejected"
    assert suffixed("s3://k:s@b/out/?region=r", ".rejected") == "s3://k:s@b/out.rejected?region=r"


def test_a_uri_is_opened_as_pyarrow_opens_it() -> None:
    store = opened(SECRET)
    assert store.path == "bucket/a lake/*"
    assert type(store.files).__name__ == "S3FileSystem"
    assert store.files is opened(SECRET).files
    assert pickle.loads(pickle.dumps(store.place)) == Place(SECRET, store.path)
    assert file_system(HERE) is None
    assert file_system(SECRET) is store.files
    assert opened("s3://bucket?region=r").path == "bucket"
    assert opened("gs://anonymous@bucket/x/").path == "bucket/x"


def test_an_option_that_pyarrow_has_not_is_named() -> None:
    with pytest.raises(FileFormatError, match=r"^s3://b/a: cannot be reached: .*'nonsense'"):
        opened("s3://key:secret@b/a?nonsense=1")
    with pytest.raises(FileFormatError, match=r"^ftp://b/a: cannot be reached: Unrec.*ftp"):
        opened("ftp://b/a")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation", "there is no such bucket"),
        ("Bucket 'b' not found. To create buckets, enable the", "there is no such bucket"),
        ("AWS Error ACCESS_DENIED during HeadObject", "refuses these .*AWS_ACCESS_KEY_ID.*DENIED"),
        ("AWS Error UNKNOWN (HTTP status 403)", "refuses these credentials, or there are none"),
        (
            "AWS Error NETWORK_CONNECTION: curlCode: 7, x; Details: no answer",
            r"the endpoint does not answer \(no answer\); name .* AWS_ENDPOINT_URL",
        ),
        (
            "When resolving region for bucket 'b': AWS Error NETWORK_CONNECTION: curlCode: 6",
            r"does not answer \(the region of its bucket cannot be asked for\)",
        ),
        ("AWS Error NETWORK_CONNECTION: curlCode: 35, SSL connect error", "add scheme=http to"),
        ("Something else (Request ID: abc)\nand more", "^Something else$"),
        ("", "^OSError$"),
    ],
)
def test_a_reason_says_what_helps(said: str, reason: str) -> None:
    with pytest.raises(FileFormatError) as caught, store_faults("s3://k:s@b/a"):
        raise OSError(said)
    assert caught.value.path == "s3://b/a"
    found = caught.value.reason.removeprefix("cannot be reached: ")
    assert re.search(reason, found)


def test_a_reason_on_this_machine_is_that_of_the_system() -> None:
    assert reason_of(PermissionError(13, "Permission denied"), HERE) == "Permission denied"
    assert reason_of(PermissionError(13, "Permission denied"), "gs://b") == (
        "it refuses these credentials, or there are none; set GOOGLE_APPLICATION_CREDENTIALS for "
        "this process and for executors (Permission denied)"
    )
    assert "does not answer (curlCode)" in reason_of(OSError("curlCode"), "gs://b")
    with pytest.raises(FileFormatError, match="there is no such file"), store_faults("s3://b"):
        raise FileNotFoundError


def test_a_bucket_that_is_missing_is_told_from_a_folder() -> None:
    bucket = Bucket({"b/a": b""})
    missing = Store("s3://c/a", bucket.files(), "c/a")
    assert nothing_at(missing).reason == "there is no such bucket; create it, or correct its name"
    for path in ("b/c", "b", "/c/a"):
        said = nothing_at(Store("s3://b/c", bucket.files(), path)).reason
        assert said == "there is no such file or folder, or it is empty"


def test_a_server_that_speaks_s3_is_reached_by_the_uri(s3: Any) -> None:
    store = opened(s3.uri("some where/lake"))
    with store.files.open_output_stream(f"{store.path}/a") as stream:
        stream.write(b"content")
    (info,) = store.files.get_file_info([f"{store.path}/a"])
    assert info.size == 7
    assert nothing_at(opened(s3.uri("x").replace(s3.bucket, "other"))).reason.startswith(
        "there is no such bucket"
    )


def test_a_server_is_reached_by_the_environment(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    for number, name in enumerate(("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")):
        with monkeypatch.context() as patch:
            patch.setenv(name, f"http://{s3.address}")
            # Each a URI of its own: a process opens one only once.
            store = opened(f"s3://{s3.bucket}/{number}")
            (info,) = store.files.get_file_info([s3.bucket])
            assert info.type == pa_fs.FileType.Directory
