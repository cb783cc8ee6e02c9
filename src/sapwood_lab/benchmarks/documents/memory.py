"""Memory of a filled engine: a process of its own, which is this module run as a program."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.benchmarks.documents.cells import fill, shuffled
from sapwood_lab.benchmarks.documents.contenders import contender
from sapwood_lab.benchmarks.documents.sources import sources
from sapwood_lab.benchmarks.records.filling import Filling
from sapwood_lab.benchmarks.records.memory import MARK, resident_bytes

WARM_DOCUMENTS: Final = 100


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of an expression in an engine that has seen documents, in bytes.

    `resident_bytes` is all that the process has at the end, its libraries included.
    """

    workload: str
    engine: str
    expressions: int
    verdict: str
    bytes_per_expression: float | None = None
    resident_bytes: int | None = None


def run_memory(name: str, data: Path | None, engine: str, size: int, fill_seconds: float) -> Memory:
    """Fill an engine in a process of its own and see how much that process has grown.

    Raises `EnvironmentMissingError` where the process could not be run.
    """
    arguments = (name, "" if data is None else data, engine, size, fill_seconds)
    return msgspec.json.decode(run_apart(__name__, arguments, "memory"), type=Memory)


def measure(name: str, data: Path | None, engine: str, size: int, fill_seconds: float) -> Memory:
    """The memory that the expressions after the first `MARK`-th part add to this process.

    The first part brings what is there once: compiled code, libraries, buffers.
    """
    (source,) = (one for one in sources(data)[0] if one.name == name)
    rival = contender(engine, texts_remembered=0)
    documents = shuffled(source.documents())[:WARM_DOCUMENTS]
    expressions = source.expressions(size)
    filling = Filling(0, 0, 0.0, fill_seconds)
    resident: list[int] = []
    first = max(1, size // MARK)
    for wanted in (first, size):
        filling = fill(rival, expressions, wanted, filling)
        if not filling.complete:
            return Memory(name, engine, size, str(replace(filling, wanted=size)))
        for document in documents:
            rival.match(document)
        resident.append(resident_bytes())
    grown = (resident[1] - resident[0]) / max(1, size - first)
    return Memory(name, engine, size, "measured", grown, resident[1])


def main(name: str, data: str, engine: str, size: str, fill_seconds: str) -> None:
    """Measure in this process, and print what was found as JSON."""
    folder = Path(data) if data else None
    found: Any = measure(name, folder, engine, int(size), float(fill_seconds))
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
