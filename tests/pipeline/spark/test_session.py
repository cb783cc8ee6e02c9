from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from sapwood.errors import EnvironmentMissingError, InputError
from sapwood.pipeline.spark import session
from sapwood.pipeline.spark.session import (
    describe,
    is_local,
    local_session,
    open_session,
    running_session,
    under_spark_submit,
)

pytestmark = pytest.mark.spark


def test_local_session_has_what_the_pipeline_relies_on(spark: Any) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert "log4j2.properties" in spark.conf.get("spark.driver.extraJavaOptions")


def test_workers_run_the_interpreter_of_the_driver(spark: Any) -> None:
    def executable(batches: Any) -> Any:
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"path": [sys.executable]})

    rows = spark.range(1, numPartitions=1).mapInArrow(executable, "path STRING").collect()
    assert [row["path"] for row in rows] == [sys.executable]


def test_describe_asks_spark_itself(spark: Any) -> None:
    facts = describe(spark)
    assert facts.master == "local[2]"
    assert facts.spark == spark.version
    assert int(facts.java.split(".")[0]) >= 17
    assert sys.executable in facts.python
    assert str(facts).startswith(f"Spark {spark.version} at local[2], Java ")


def test_open_session_takes_the_active_one(spark: Any) -> None:
    assert open_session() is spark


def test_local_session_takes_the_active_one_as_it_is(spark: Any) -> None:
    assert local_session(master="local[7]") is spark
    assert describe(spark).master == "local[2]"


def test_running_session_leaves_a_session_that_was_there_before(spark: Any) -> None:
    with running_session() as running:
        assert running is spark
    assert spark.range(3).count() == 3


def test_open_session_refuses_a_master_under_spark_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert under_spark_submit()
    with pytest.raises(InputError, match="give --master to spark-submit only"):
        open_session(master="local[1]")


def test_local_session_refuses_a_cluster() -> None:
    with pytest.raises(InputError, match="use open_session"):
        local_session(master="spark://host:7077")
    assert not is_local("yarn")


def test_local_session_says_the_remedy_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(EnvironmentMissingError, match=r"pip install 'sapwood\[spark\]'"):
        local_session()


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[ 2, 4 ]", 2), ("local-cluster[2, 3,1024]", 6)],
)
def test_partitions_follow_the_cores_of_the_master(master: str, cores: int) -> None:
    assert session._cores(master) == cores


def test_a_master_of_all_cores_counts_them() -> None:
    assert session._cores("local[*]") == os.cpu_count()


def test_a_master_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"write local\[2\]"):
        local_session(master="local[many]")


def test_the_jvm_has_the_memory_that_was_asked_for(spark: Any) -> None:
    assert spark.conf.get("spark.driver.memory") == "2g"


def test_the_jvm_has_memory_by_the_size_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: dict[str, str] = {}
    monkeypatch.setattr(session, "_active_session", lambda: None)
    monkeypatch.setattr(session, "machine_bytes", lambda: 12 << 30)
    monkeypatch.setattr(session, "_build", lambda _name, _master, options: chosen.update(options))
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    local_session()
    assert chosen["spark.driver.memory"] == "3072m"
