from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, InvariantError
from sapwood.pipeline.spark.faults import (
    condition_of,
    first_line,
    is_worker_defect,
    spark_errors,
    spark_faults,
)

pytestmark = pytest.mark.spark


def raising(error: Exception) -> Any:
    """A function for `mapInArrow` that fails in the worker."""

    def fail(batches: Iterator[Any]) -> Iterator[Any]:
        yield from ()
        raise error

    return fail


def test_a_path_that_is_not_there_is_named(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="here: there is no such file"), spark_faults("here"):
        spark.read.text(str(tmp_path / "none"))


def test_a_damaged_file_is_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 this is not how it goes on PAR1")
    with pytest.raises(FileFormatError, match=r"here: .* damaged"), spark_faults("here"):
        spark.read.parquet(str(tmp_path)).count()


def test_what_a_worker_raises_on_purpose_comes_back_as_that(spark: Any) -> None:
    failing = spark.range(1).mapInArrow(raising(InputError("say the remedy\nx")), "id BIGINT")
    with pytest.raises(InputError, match=r"^say the remedy$"), spark_faults():
        failing.collect()


@pytest.mark.parametrize("defect", [KeyError("x"), InvariantError("no")])
def test_a_defect_in_a_worker_stays_what_it_is(spark: Any, defect: Exception) -> None:
    failing = spark.range(1).mapInArrow(raising(defect), "id BIGINT")
    with pytest.raises(spark_errors()) as caught, spark_faults("here"):
        failing.collect()
    assert is_worker_defect(caught.value)


def test_a_worker_without_the_package_is_told_where_to_install_it(spark: Any) -> None:
    missing = ModuleNotFoundError("No module named 'sapwood'")
    failing = spark.range(1).mapInArrow(raising(missing), "id BIGINT")
    with pytest.raises(EnvironmentMissingError, match="PYSPARK_PYTHON"), spark_faults():
        failing.collect()


def test_other_errors_of_spark_pass_as_they_are(spark: Any) -> None:
    with pytest.raises(spark_errors()) as caught, spark_faults("here"):
        spark.sql("SELECT nothing")
    assert condition_of(caught.value).startswith("UNRESOLVED_COLUMN")
    assert "nothing" in first_line(caught.value)
    assert not is_worker_defect(caught.value)


def test_the_condition_of_a_java_error_is_read_from_its_text() -> None:
    error = Exception("x: [FAILED_READ_FILE.NO_HINT] Encountered ...")
    assert condition_of(error) == "FAILED_READ_FILE.NO_HINT"
    assert condition_of(Exception("nothing")) == ""


def test_the_first_line_of_a_java_error_is_its_innermost_cause() -> None:
    text = "An error occurred\n\tat x\nCaused by: a: outer\n\tat y\nCaused by: b: inner\n\tat z"
    assert first_line(Exception(text)) == "Caused by: b: inner"
    assert first_line(Exception()) == "Exception"
