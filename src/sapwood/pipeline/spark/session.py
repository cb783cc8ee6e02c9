"""Spark sessions: one made for this machine, or the one that is there already.

All steps of the pipeline take DataFrames, so any session will do: a cluster's, a notebook's, one
of Spark Connect. This module is for callers that have none yet.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sapwood.errors import EnvironmentMissingError, InputError
from sapwood.pipeline.spark.java import find_java
from sapwood.pipeline.spark.jvm_memory import heap_bytes, machine_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[2]"

NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
"""Settings of Spark, or of its output, where none are given."""

_ANYWHERE: Final = MappingProxyType(
    {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
        "spark.ui.showConsoleProgress": "false",
    }
)
"""The settings on which results and the transport into Python rely, whatever the master."""

_CALLED_BY_LAST_NAME: Final = (
    "org.apache.spark.api.python.PythonUtils",
    "org.apache.spark.api.python.SimplePythonFunction",
    "org.apache.spark.sql.api.python.PythonSQLUtils",
    "org.apache.spark.sql.functions",
)
"""Classes that PySpark looks up in Java by their last names, several times for each column."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The facts of a session: the versions and places that it runs on."""

    spark: str
    master: str
    java: str
    python: str

    def __str__(self) -> str:
        return f"Spark {self.spark} at {self.master}, Java {self.java}, Python {self.python}"


def local_session(
    app_name: str = "sapwood",
    *,
    master: str = DEFAULT_MASTER,
    driver_memory: str | None = None,
    options: Mapping[str, str] = NO_OPTIONS,
) -> SparkSession:
    """A session in this process's own Spark, or the active session, as it is, if there is one.

    `master` is `local`, `local[N]`, `local[*]` or `local-cluster[...]`; `options` are Spark
    settings that go before the ones chosen here. `driver_memory` is the JVM's heap, such as `2g`:
    left out, a quarter of what this machine has, from 2 to 8 GiB. Environment variables that Spark
    reads while it starts (JAVA_HOME, PYSPARK_PYTHON and some more) are set for this process.

    Raises `EnvironmentMissingError` where there is no Java or no PySpark.
    """
    if not is_local(master):
        raise InputError(f"{master!r} is not on this machine; use open_session for clusters")
    cores = _cores(master)
    active = _active_session()
    if active is not None:
        return active
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    # Workers would otherwise be whatever `python3` is on PATH, without the packages of this one.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = {
        **_ANYWHERE,
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": driver_memory or f"{heap_bytes(machine_bytes()) >> 20}m",
        # Pieces that take Python a second or so, not a minute: they balance, and progress shows.
        "spark.sql.files.maxPartitionBytes": "16m",
        "spark.sql.shuffle.partitions": str(cores),
        # Errors name the line that made a column; to find it takes longer than to make one.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        **options,
    }
    if "SPARK_CONF_DIR" not in os.environ:
        configuration = _package_folder("sapwood.pipeline") / "log4j2.properties"
        quiet = f"-Dlog4j2.configurationFile={configuration.as_uri()}"
        given = chosen.get("spark.driver.extraJavaOptions", "")
        chosen["spark.driver.extraJavaOptions"] = f"{quiet} {given}".strip()
    return _build(app_name, master, chosen)


def open_session(app_name: str = "sapwood", *, master: str | None = None) -> SparkSession:
    """The session to work with: an existing one goes before a new one.

    In this order: the active session; the one that spark-submit has configured, as it is; the
    Spark Connect server `sc://host:port`; a cluster `master`, such as `spark://host:7077` or
    `yarn`; a session on this machine.

    Raises `InputError` for a `master` under spark-submit, which has its own option for it, and
    `EnvironmentMissingError` where there is no Java or no PySpark.
    """
    active = _active_session()
    if under_spark_submit():
        if master is not None:
            raise InputError("spark-submit chooses the master: give --master to spark-submit only")
        return active or _named_in_full(_submitted_session(app_name))
    if active is not None:
        return active
    if master is None or is_local(master):
        return local_session(app_name, master=master or DEFAULT_MASTER)
    if master.startswith("sc://"):
        from pyspark.sql import SparkSession

        return SparkSession.builder.appName(app_name).remote(master).getOrCreate()
    os.environ.setdefault("JAVA_HOME", str(find_java().home))
    return _build(app_name, master, _ANYWHERE)


@contextmanager
def running_session(
    app_name: str = "sapwood", *, master: str | None = None
) -> Iterator[SparkSession]:
    """As `open_session`; a session that was not there before is stopped at the end of the block."""
    ours = _active_session() is None
    spark = open_session(app_name, master=master)
    try:
        yield spark
    finally:
        if ours:
            spark.stop()


def under_spark_submit() -> bool:
    """True if spark-submit has started this process and holds the Java side already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_local(master: str) -> bool:
    """True if the executors of `master` run on this machine."""
    return master.startswith("local")


def is_connect(spark: SparkSession) -> bool:
    """True if the session talks to a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def describe(spark: SparkSession) -> SessionFacts:
    """The facts of `spark`, queried from Spark, so that they hold for a remote session too."""
    row = spark.sql(
        "SELECT java_method('java.lang.System', 'getProperty', 'java.version') AS java,"
        " java_method('java.lang.System', 'getProperty', 'java.home') AS home"
    ).first()
    assert row is not None, "a query without a table has one row"
    return SessionFacts(
        spark=spark.version,
        master=spark.conf.get("spark.master", "a server") or "a server",
        java=f"{row['java']} ({row['home']})",
        python=f"{platform.python_version()} ({sys.executable})",
    )


def _submitted_session(app_name: str) -> SparkSession:
    """The session of spark-submit; nothing that it has configured is overridden."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    if is_local(SparkConf().get("spark.master", "")):
        # On one machine the driver's interpreter is right for the workers as well. On a cluster
        # the same path may be nothing, and spark-submit's own choice stands.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.appName(app_name).getOrCreate()


def _build(app_name: str, master: str, options: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name).master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    return _named_in_full(builder.getOrCreate())


def _named_in_full(spark: SparkSession) -> SparkSession:
    """The session, whose Py4J knows some names in full.

    Otherwise it tries a last name in one package after the other, and Java looks through all of
    Spark's archives for each class that is not there: milliseconds, several hundred times a job.
    """
    java_import = import_module("py4j.java_gateway").java_import
    for name in _CALLED_BY_LAST_NAME:
        java_import(spark._jvm, name)
    return spark


def check_installed() -> None:
    """Raise `EnvironmentMissingError` without PySpark."""
    try:
        import pyspark.sql  # noqa: F401 - whether it can be
    except ImportError:
        raise EnvironmentMissingError(
            "the pipeline runs on PySpark, which is not installed: pip install 'sapwood[spark]'"
        ) from None


def _active_session() -> SparkSession | None:
    """The session that is there already. Raises `EnvironmentMissingError` without PySpark."""
    check_installed()
    from pyspark.sql import SparkSession

    active: SparkSession | None = SparkSession.getActiveSession()
    return active


def _cores(master: str) -> int:
    """The cores that a local master uses: partitions beyond that only cost."""
    cluster = re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,.*\]", master)
    if cluster is not None:
        return int(cluster[1]) * int(cluster[2])
    threads = re.fullmatch(r"local(?:\[\s*(\d+|\*)\s*(?:,.*)?\])?", master)
    if threads is None:
        raise InputError(f"{master!r} is no master on this machine; write local[2], for example")
    if threads[1] == "*":
        return os.cpu_count() or 1
    return int(threads[1] or 1)


def _package_folder(package: str) -> Path:
    """The folder of a package of ours; wheels are always installed as plain files."""
    spec = find_spec(package)
    assert spec is not None, f"{package} is part of this distribution"
    assert spec.origin is not None, f"{package} is a package with a front door"
    return Path(spec.origin).parent
