"""The second way says where to look when its command fails, and reads what either left."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.tour.inputs import TourInputs
from sapwood.cli.tour.second import in_one_process, on_spark
from sapwood.errors import EnvironmentMissingError


@pytest.mark.parametrize(("way", "log"), [(on_spark, "spark.log"), (in_one_process, "match.log")])
def test_the_log_is_named_when_the_command_fails(tmp_path: Path, way: object, log: str) -> None:
    """The failure is a missing file, so that no Java has to start only to say so."""
    missing = tmp_path / "missing.jsonl"
    assert callable(way)
    with pytest.raises(EnvironmentMissingError, match=f"ended with status 2; .*{log}"):
        way(TourInputs(missing, missing, (), 0, are_real=False), tmp_path)
    assert str(missing) in (tmp_path / log).read_text("utf-8")
