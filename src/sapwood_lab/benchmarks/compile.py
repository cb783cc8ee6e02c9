"""The resources of `sapwood pipeline compile` on this machine, and their growth with the set.

The sets have an equality and two ranges each, attributes and values by Zipf's law; every second
subscription is a narrower form of another one, so that half of them are covered. Each size is
compiled in a process of its own, which is this module run as a program: its memory is that of the
driver, the JVM and the Python workers from beginning to end.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.cli.output import say
from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.workload.records.draws import distinct, ranks, zipf

SIZES: Final = (100_000, 1_000_000)
MASTER: Final = "local[2]"
DRIVER_MEMORY: Final = "7g"
"""The JVM's heap: what does not fit goes to disk."""

_ATTRIBUTES: Final = 50
_VALUES: Final = 1000
_RANGES: Final = 2
_WIDTH: Final = 300_000
_NARROWING: Final = 100_000
_SCALE: Final = 1_000_000
"""Numbers are millionths between 0 and 1."""

_BLOCK: Final = 50_000
"""Subscriptions drawn at once, and as many narrower ones."""

_SEED: Final = 1


def run_compile_bench(sizes: Sequence[int], folder: Path | None = None) -> list[dict[str, Any]]:
    """Compile a set of each size; a row of figures for each, with its growth since the first.

    `cpu_us_per_subscription` is processor time of all processes, and `growth` what it has become
    of that of the first size: 1 is linear growth. Sets are written below `folder`, which must have
    room for some 300 bytes a subscription. Raises `EnvironmentMissingError` without Java or
    PySpark.
    """
    rows: list[dict[str, Any]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="sapwood-bench-", dir=folder) as work:
            source = Path(work) / "subscriptions.jsonl"
            with source.open("wb") as file:
                file.writelines(lines(size))
            row = _in_a_process(source, Path(work) / "set")
        first = (rows or [row])[0]["cpu_us_per_subscription"]
        rows.append({**row, "growth": row["cpu_us_per_subscription"] / first})
        say(f"{size:,} subscriptions: {msgspec.json.encode(rows[-1]).decode()}")
    return rows


def lines(count: int) -> Iterator[bytes]:
    """`count` subscriptions as JSON Lines; equal for equal counts, whatever the machine."""
    for number, text in zip(range(count), _texts(), strict=False):
        yield b'{"id":"s%d","filter":"%s"}\n' % (number, text)


def measure(source: Path, out: Path) -> dict[str, Any]:
    """The figures of one process: a session from its start, and one compile job."""
    from sapwood.pipeline.compile.job import CompileJob
    from sapwood.pipeline.spark.session import local_session
    from sapwood.pipeline.spark.usage import metered

    begin = time.perf_counter()
    with metered() as meter:
        spark = local_session("sapwood bench", master=MASTER, driver_memory=DRIVER_MEMORY)
        report = CompileJob(str(source), str(out)).run(spark).report
    seconds, usage = time.perf_counter() - begin, meter.usage
    row: dict[str, Any] = {
        "subscriptions": report.read,
        "covered": report.covered,
        "entries": report.entries,
        "seconds": seconds,
    }
    if usage is not None:
        row |= {
            "cpu_s": usage.cpu_s,
            "cpu_us_per_subscription": 1e6 * usage.cpu_s / report.read,
            "peak_gib": usage.peak_bytes / 2**30,
            "jvm_gib": usage.jvm_peak_bytes / 2**30,
            "python_gib": usage.python_peak_bytes / 2**30,
        }
    return row


def main(source: str, out: str) -> None:
    """Measure in this process, and print what was found as JSON."""
    sys.stdout.buffer.write(msgspec.json.encode(measure(Path(source), Path(out))))


def _texts() -> Iterator[bytes]:
    """Filters without end: a block of wide ones, then a narrower one of each, in another order."""
    random = np.random.default_rng(_SEED)
    popularity, values = zipf(_ATTRIBUTES), zipf(_VALUES)
    while True:
        names = ranks(random, popularity, _BLOCK)
        chosen = ranks(random, values, _BLOCK)
        numbers = distinct(random, popularity, _BLOCK, _RANGES)
        lows = random.integers(_SCALE - _WIDTH, size=(_BLOCK, _RANGES))
        highs = lows + _WIDTH
        cuts = random.integers(_NARROWING, size=(2, _BLOCK, _RANGES))
        order = random.permutation(_BLOCK)
        for rows, low, high in (
            (np.arange(_BLOCK), lows, highs),
            (order, lows + cuts[0], highs - cuts[1]),
        ):
            columns = [names[rows], chosen[rows]]
            for at in range(_RANGES):
                columns += [numbers[rows, at], low[rows, at], high[rows, at]]
            for row in np.stack(columns, axis=1).tolist():
                yield _TEXT % tuple(row)


_TEXT: Final = b"c%02d = 'v%d'" + b" and n%02d between 0.%06d and 0.%06d" * _RANGES


def _in_a_process(source: Path, out: Path) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(run_apart(__name__, (source, out), "compile"))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
