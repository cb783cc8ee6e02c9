"""`sapwood demo`, from the flights to the comparison, on few of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import IO, Any

import msgspec
import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood.cli.tour import spark
from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark.java import find_java


@pytest.fixture(
    params=["session", pytest.param("process", marks=pytest.mark.long)], ids=lambda name: name
)
def spark_step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tour's command for Spark runs: on the session of the tests, or as users have it.

    `tests/pipeline/test_job.py` starts the same command in a process of its own in the gate, too.
    """
    if request.param == "process":
        try:
            find_java()
        except EnvironmentMissingError as missing:
            pytest.skip(str(missing))
        request.getfixturevalue("quick_java")
    else:
        request.getfixturevalue("spark")
        monkeypatch.setattr(spark, "subprocess", SimpleNamespace(run=run_here, STDOUT=None))


def run_here(command: Sequence[str], *, stdout: IO[bytes], **_: Any) -> CompletedProcess[bytes]:
    """Stands for `subprocess.run` of `sapwood`."""
    assert command[:3] == [sys.executable, "-m", "sapwood"]
    done = CliRunner().invoke(main, command[3:])
    stdout.write(done.output.encode())
    return CompletedProcess(command, done.exit_code)


@pytest.mark.spark
@pytest.mark.network
@pytest.mark.usefixtures("spark_step")
def test_demo_finds_brokers_and_spark_of_one_mind_and_leaves_files(tmp_path: Path) -> None:
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


def test_demo_without_java_says_so_before_it_does_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(*_: object) -> None:
        raise EnvironmentMissingError("Spark needs Java")

    monkeypatch.setattr("sapwood.pipeline.spark.java.find_java", nowhere)
    result = CliRunner().invoke(main, ["demo", "--flights", "8", "--out", str(tmp_path / "out")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "sapwood: Spark needs Java\n"
    assert not (tmp_path / "out").exists()
