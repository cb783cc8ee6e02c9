"""The tour through Spark says where to look when the job fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.tour.inputs import TourInputs
from sapwood.cli.tour.spark import run_spark
from sapwood.errors import EnvironmentMissingError
from tests.pipeline.conftest import quick_java  # noqa: F401 - a fixture, found by its name


@pytest.mark.spark
@pytest.mark.usefixtures("quick_java")
def test_run_spark_names_the_log_when_the_job_fails(tmp_path: Path) -> None:
    missing = tmp_path / "missing.jsonl"
    with pytest.raises(EnvironmentMissingError, match=r"spark\.log"):
        run_spark(TourInputs(missing, missing, (), 0), tmp_path)
    assert "missing.jsonl" in (tmp_path / "spark.log").read_text("utf-8")
