"""The tour through Spark: the command that a user would type, on the same two files."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sapwood.cli.tour.inputs import TourInputs
from sapwood.errors import EnvironmentMissingError


@dataclass(frozen=True, slots=True)
class SparkResult:
    """Where Spark wrote its deliveries, and how long the whole command took, seconds."""

    deliveries_folder: Path
    command: str
    total_s: float


def check_environment() -> None:
    """Raise `EnvironmentMissingError`, with the remedy, where Spark could not be started."""
    from sapwood.pipeline.spark.java import find_java
    from sapwood.pipeline.spark.session import check_installed

    check_installed()
    find_java()


def run_spark(inputs: TourInputs, folder: Path) -> SparkResult:
    """Match the flights with the interests in a Spark job of two threads."""
    deliveries_folder = folder / "deliveries-spark"
    arguments = [
        "pipeline",
        "match",
        "--subscriptions",
        str(inputs.subscriptions_file),
        "--publications",
        str(inputs.publications_file),
        "--out",
        str(deliveries_folder),
    ]
    log_file = folder / "spark.log"
    begin = time.perf_counter()
    with log_file.open("wb") as log:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-m", "sapwood", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise EnvironmentMissingError(
            f"the Spark job ended with status {done.returncode}; what it said is in {log_file}"
        )
    command = shlex.join(["sapwood", *arguments])
    return SparkResult(deliveries_folder, command, time.perf_counter() - begin)
