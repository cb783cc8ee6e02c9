"""The tour's second way to the same deliveries, and which one it is on this machine."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sapwood.cli.tour.comparison import Pair, read_json_lines, read_parquet
from sapwood.cli.tour.inputs import TourInputs
from sapwood.errors import EnvironmentMissingError


@dataclass(frozen=True, slots=True)
class SecondWay:
    """The second way: its name, its deliveries, its command, and the command's seconds."""

    name: str
    deliveries: Path
    command: str
    total_s: float

    def pairs(self) -> Iterator[Pair]:
        """The delivered pairs."""
        if self.deliveries.is_dir():
            return read_parquet(self.deliveries)
        return read_json_lines(self.deliveries)


def missing() -> EnvironmentMissingError | None:
    """The obstacle to starting Spark here, with the remedy; `None` if there is none."""
    from sapwood.pipeline.spark.java import find_java
    from sapwood.pipeline.spark.session import check_installed

    try:
        check_installed()
        find_java()
    except EnvironmentMissingError as lack:
        return lack
    return None


def on_spark(inputs: TourInputs, folder: Path) -> SecondWay:
    """Match the flights with the interests in a Spark job of two threads."""
    return _run("Spark", ("pipeline", "match"), inputs, folder / "deliveries-spark")


def in_one_process(inputs: TourInputs, folder: Path) -> SecondWay:
    """Match the flights with the interests in a process by itself."""
    return _run("one process", ("match",), inputs, folder / "deliveries-match.jsonl")


def _run(name: str, words: Sequence[str], inputs: TourInputs, out: Path) -> SecondWay:
    """Run the command that a user would type, on the two files of the tour."""
    arguments = [
        *words,
        "--subscriptions",
        str(inputs.subscriptions_file),
        "--publications",
        str(inputs.publications_file),
        "--out",
        str(out),
    ]
    log_file = out.with_name("spark.log" if words[0] == "pipeline" else "match.log")
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
            f"`sapwood {words[0]}` ended with status {done.returncode}; "
            f"what it said is in {log_file}"
        )
    command = shlex.join(["sapwood", *arguments])
    return SecondWay(name, out, command, time.perf_counter() - begin)
