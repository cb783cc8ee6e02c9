"""The tour through Spark says where to look when the job fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.cli.tour.inputs import TourInputs
from sapwood.cli.tour.spark import run_spark
from sapwood.errors import EnvironmentMissingError


def test_run_spark_names_the_log_when_the_job_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is missing is PySpark, so that no Java has to start only to say so."""
    (tmp_path / "pyspark.py").write_text("raise ImportError\n")
    paths = (str(tmp_path), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    missing = tmp_path / "missing.jsonl"
    with pytest.raises(EnvironmentMissingError, match=r"ended with status 2; .*spark\.log"):
        run_spark(TourInputs(missing, missing, (), 0), tmp_path)
    assert "pip install 'sapwood[spark]'" in (tmp_path / "spark.log").read_text("utf-8")
