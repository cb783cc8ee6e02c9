"""One Spark session for the whole run, for tests with the marker `spark`, and one server of S3."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark.session import local_session

ROOT: Final = Path(__file__).resolve().parent.parent

QUICK_JVM = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""Starts in half the time and runs long jobs slower, of which there are none here. With one
compiler Java takes less room for its code, throws out what it needs again, and compiles anew. That
Spark's twenty thousand classes are well made is believed: to check it takes a sixth of a start."""

QUICK_PLANS: Final = {
    # A class is written, compiled and loaded for each step of a plan, to run over a dozen rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Each shuffle is a job of its own, after which what is left is planned anew.
    "spark.sql.adaptive.enabled": "false",
}
"""Settings under which a plan over a few rows is run as it is written.

What Spark makes of a plan is Spark's concern, and its answers are the same. Commands that tests
start in processes of their own (spark-submit, the demo) have Spark as users have it.
"""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on this machine, or a skip where there is no Java."""
    options = {
        "spark.driver.extraJavaOptions": QUICK_JVM,
        # Its workers are forked with all that they import: see there.
        "spark.python.daemon.module": "tests.spark_daemon",
        **QUICK_PLANS,
    }
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    try:
        with pytest.MonkeyPatch.context() as patch:  # what Java starts has its environment
            patch.setenv("PYTHONPATH", path)
            session = local_session("sapwood tests", driver_memory="2g", options=options)
    except EnvironmentMissingError as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that start Spark in processes of their own start it as quickly."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JVM)


class S3(NamedTuple):
    """A server on loopback that speaks S3, and a bucket there."""

    address: str
    bucket: str
    files: Any

    def uri(self, path: str) -> str:
        """The URI of a place in the bucket, with all that is needed to reach it."""
        options = f"endpoint_override={self.address}&scheme=http&region=us-east-1"
        return f"s3://key:secret@{self.bucket}/{path}?{options}"

    def put(self, path: str, content: bytes) -> None:
        """Write a file into the bucket."""
        with self.files.open_output_stream(f"{self.bucket}/{path}") as stream:
            stream.write(content)

    def copy(self, folder: Path, path: str) -> None:
        """Copy the files of a folder into one of the bucket."""
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(folder)}", file.read_bytes())

    def keys(self, path: str) -> list[str]:
        """The files and folders in a folder of the bucket, named from there on."""
        from pyarrow.fs import FileSelector

        base = f"{self.bucket}/{path}"
        found = self.files.get_file_info(FileSelector(base, recursive=True, allow_not_found=True))
        return sorted(info.path.removeprefix(f"{base}/") for info in found)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """A bucket that is there for the whole run."""
    moto = pytest.importorskip("moto.server")
    fs = pytest.importorskip("pyarrow.fs")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    files = fs.S3FileSystem(
        access_key="key",
        secret_key="secret",
        endpoint_override=f"{host}:{port}",
        scheme="http",
        region="us-east-1",
        allow_bucket_creation=True,
    )
    files.create_dir("sapwood")
    yield S3(f"{host}:{port}", "sapwood", files)
    server.stop()
