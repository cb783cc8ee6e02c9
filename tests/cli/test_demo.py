"""`sapwood demo`, from the flights to the comparison, on few of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark.java import find_java


@pytest.mark.spark
@pytest.mark.network
@pytest.mark.usefixtures("quick_java")
def test_demo_finds_brokers_and_spark_of_one_mind_and_leaves_files(tmp_path: Path) -> None:
    try:
        find_java()
    except EnvironmentMissingError as missing:
        pytest.skip(str(missing))
    result = CliRunner().invoke(
        main, ["demo", "--flights", "800", "--out", str(tmp_path), "--json"]
    )
    assert result.exit_code == 0, result.output
    figures = msgspec.json.decode(result.stdout)
    assert figures["equal"]
    assert figures["flights"] == 800
    assert figures["overlay"]["deliveries"] == figures["spark"]["deliveries"] > 100
    for name in ("subscriptions.jsonl", "publications.jsonl", "deliveries-overlay.jsonl"):
        assert (tmp_path / name).stat().st_size > 0
    assert list((tmp_path / "deliveries-spark").glob("*.parquet"))
