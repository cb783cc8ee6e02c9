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
from sapwood.cli.tour import second
from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark.java import find_java


@pytest.fixture(
    params=["session", pytest.param("process", marks=pytest.mark.long)], ids=lambda name: name
)
def spark_step(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tour's step with Spark: on the session of the tests, or in a process as users have it.

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
        monkeypatch.setattr(second, "subprocess", SimpleNamespace(run=run_here, STDOUT=None))


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
    assert figures["real"]
    assert figures["second"]["name"] == "Spark"
    assert figures["overlay"]["deliveries"] == figures["second"]["deliveries"] > 100
    for name in ("subscriptions.jsonl", "publications.jsonl", "deliveries-overlay.jsonl"):
        assert (tmp_path / name).stat().st_size > 0
    assert list((tmp_path / "deliveries-spark").glob("*.parquet"))


@pytest.fixture
def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object) -> None:
        raise EnvironmentMissingError("Spark needs Java")

    monkeypatch.setattr("sapwood.pipeline.spark.java.find_java", nowhere)


@pytest.mark.usefixtures("without_java")
def test_demo_that_insists_on_spark_says_what_is_missing_before_it_does_anything(
    tmp_path: Path,
) -> None:
    result = CliRunner().invoke(
        main, ["demo", "--spark", "--flights", "8", "--out", str(tmp_path / "out")]
    )
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "sapwood: Spark needs Java\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.network
@pytest.mark.usefixtures("without_java")
def test_demo_without_java_or_flights_makes_do_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sapwood.cli.tour.flights.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["demo", "--flights", "300", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "300 invented flights" in result.stderr
    assert "(Spark needs Java)" in result.stderr
    assert "one process" in result.stdout
    assert "yes, every pair" in result.stdout
    assert (tmp_path / "deliveries-match.jsonl").stat().st_size > 0
