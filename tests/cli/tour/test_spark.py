"""The tour through Spark says where to look when the job fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.tour.inputs import TourInputs
from sapwood.cli.tour.spark import run_spark
from sapwood.errors import EnvironmentMissingError


def test_run_spark_names_the_log_when_the_job_fails(tmp_path: Path) -> None:
    """What is missing is a file, so that no Java has to start only to say so."""
    missing = tmp_path / "missing.jsonl"
    with pytest.raises(EnvironmentMissingError, match=r"ended with status 2; .*spark\.log"):
        run_spark(TourInputs(missing, missing, (), 0), tmp_path)
    assert f"{missing}: there is no such file" in (tmp_path / "spark.log").read_text("utf-8")
