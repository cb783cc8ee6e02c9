"""The publications a second that Spark matches on this machine, with one thread and with two.

The publications are the flights of `sapwood.cli.tour.flights` as a Parquet table, the subscriptions
the interests that come with them. Each figure has a process of its own, which is this module run as
a program, so that no JVM is warm from the one before.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.cli.tour.flights import flights, interests
from sapwood.errors import EnvironmentMissingError
from sapwood.files import encode_subscription
from sapwood_lab.benchmarks.apart import run_apart

MASTERS: Final = ("local[1]", "local[2]")
RUNS_MIN: Final = 3
"""Whatever the budget: fewer runs do not show how much a rate varies."""

ROW_GROUP_ROWS: Final = 20_000
"""Rows that one task reads at least; a table of a single row group would be one task's work."""


def run_pipeline_bench(
    seconds: float = 20.0, *, rows: int | None = None, masters: Sequence[str] = MASTERS
) -> dict[str, Any]:
    """Match the flights (all, or the first `rows`) for about `seconds` seconds with each master.

    Rates are the median over runs in a warm session, from Parquet to deliveries that are thrown
    away. Raises `EnvironmentMissingError` without Java, PySpark or the package with the data.
    """
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as work:
        folder = Path(work)
        publications = _write_inputs(folder, rows)
        figures: dict[str, Any] = {"publications": publications, "subscriptions": len(interests())}
        for master in masters:
            measured = _in_a_process(folder, master, seconds)
            rates = [publications / took for took in measured["seconds"]]
            figures["deliveries"] = measured["deliveries"]
            figures[f"{master}_publications_per_s"] = statistics.median(rates)
            figures[f"{master}_publications_per_s_best"] = max(rates)
            figures[f"{master}_start_s"] = measured["start_s"]
            figures[f"{master}_first_run_s"] = measured["first_run_s"]
    return figures


def measure(folder: Path, master: str, seconds: float) -> dict[str, Any]:
    """The figures of one process: seconds of each run, and of the warm-up."""
    from sapwood.pipeline.matching.match import match
    from sapwood.pipeline.matching.subscription_source import compile_path
    from sapwood.pipeline.spark.session import running_session

    begin = time.perf_counter()
    with running_session("sapwood bench", master=master) as spark:
        start_s = time.perf_counter() - begin
        compiled = compile_path(spark, str(folder / "subscriptions.jsonl"), engine="columnar")
        deliveries = match(spark.read.parquet(str(folder / "publications.parquet")), compiled)
        begin = time.perf_counter()
        count = deliveries.count()
        first_run_s = time.perf_counter() - begin
        runs: list[float] = []
        while sum(runs) < seconds or len(runs) < RUNS_MIN:
            begin = time.perf_counter()
            deliveries.write.format("noop").mode("overwrite").save()
            runs.append(time.perf_counter() - begin)
    return {
        "deliveries": count,
        "start_s": start_s,
        "first_run_s": first_run_s,
        "seconds": runs,
    }


def main(folder: str, master: str, seconds: str) -> None:
    """Measure in this process, and print what was found as JSON."""
    found = measure(Path(folder), master, float(seconds))
    sys.stdout.buffer.write(msgspec.json.encode(found))


def _in_a_process(folder: Path, master: str, seconds: float) -> dict[str, Any]:
    printed = run_apart(__name__, (folder, master, seconds), f"Spark at {master}")
    found: dict[str, Any] = msgspec.json.decode(printed)
    return found


def _write_inputs(folder: Path, rows: int | None) -> int:
    """Write the two inputs; the number of publications."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise EnvironmentMissingError(
            "measuring Spark needs PySpark: pip install 'sapwood[spark]'"
        ) from None

    lines = [encode_subscription(subscription) + b"\n" for subscription in interests()]
    (folder / "subscriptions.jsonl").write_bytes(b"".join(lines))
    found = [{"id": p.id, "attributes": dict(p.record)} for p in flights(rows)]
    pyarrow.parquet.write_table(
        pa.Table.from_pylist(found),
        folder / "publications.parquet",
        row_group_size=ROW_GROUP_ROWS,
    )
    return len(found)


if __name__ == "__main__":
    main(*sys.argv[1:])
