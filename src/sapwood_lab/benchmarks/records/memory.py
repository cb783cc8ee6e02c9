"""Memory of a filled index: a process of its own, which is this module run as a program."""

from __future__ import annotations

import gc
import resource
import sys
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood.matching.index import Index
from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.benchmarks.records.cells import PUBLICATIONS, SEED, warm_up
from sapwood_lab.benchmarks.records.filling import Filling, fill
from sapwood_lab.benchmarks.records.sources import source_named

MARK: Final = 5
WARM_SECONDS: Final = 2.0
_FILTERS: Final = "records: "
_PAGES_FIELD: Final = 1


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a subscription: in all, its id included, and beside that as the index reports.

    The first is what a process grows by, the second `Index.memory` without ids.
    """

    workload: str
    engine: str
    subscriptions: int
    verdict: str
    bytes_per_subscription: float | None = None
    filter_bytes: float | None = None


def run_memory(
    name: str, engine: str, size: int, fill_seconds: float, data: Path | None = None
) -> Memory:
    """Fill an index in a process of its own and see how much that process has grown.

    `data` is the folder of real records, where the workload needs one.

    Raises `EnvironmentMissingError` where the process could not be run.
    """
    arguments = (name, engine, size, fill_seconds, *([] if data is None else [data]))
    return msgspec.json.decode(run_apart(__name__, arguments, "memory"), type=Memory)


def measure(
    name: str, engine: str, size: int, fill_seconds: float, data: Path | None = None
) -> Memory:
    """The memory that the subscriptions after the first `MARK`-th part add to this process.

    The first part brings what is there once: compiled code, libraries, buffers.
    """
    source = source_named(name, data)
    publications = list(source.publications(PUBLICATIONS, SEED))
    index = Index(records=engine)
    subscriptions = source.subscriptions(size, SEED)
    filling = Filling(0, 0, 0.0, fill_seconds)
    resident: list[int] = []
    first = max(1, size // MARK)
    for part, wanted in ((first, first), (size - first, size)):
        filling = fill(index, islice(subscriptions, part), wanted, filling)
        if not filling.complete:
            return Memory(name, engine, size, str(replace(filling, wanted=size)))
        index.fold()
        warm_up(index.match_many, publications, WARM_SECONDS)
        resident.append(resident_bytes())
    grown = (resident[1] - resident[0]) / max(1, size - first)
    reported = index.memory().items()
    of_filters = sum(held for part, held in reported if part.startswith(_FILTERS)) / size
    return Memory(name, engine, size, "measured", grown, of_filters)


def resident_bytes() -> int:
    """The resident memory of this process, garbage collected."""
    gc.collect()
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return int(fields[_PAGES_FIELD]) * resource.getpagesize()


def main(name: str, engine: str, size: str, fill_seconds: str, data: str | None = None) -> None:
    """Measure in this process, and print what was found as JSON."""
    folder = None if data is None else Path(data)
    found: Any = measure(name, engine, int(size), float(fill_seconds), folder)
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
