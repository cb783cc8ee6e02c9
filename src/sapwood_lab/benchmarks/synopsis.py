"""The synopsis of many documents: by `sapwood pipeline synopsis`, and by one process.

Documents are `news` of a few dozen elements, a thousand different ones over and over in JSON Lines,
so that drawing them takes no time and reading them as long as any. Both ways read the same file:
one process reads line by line, as `sapwood match` does, and the job by as many tasks as there are
cores. Each runs in a process of its own, this module run as a program, from the start of Python
(and of the JVM) to the file of the synopsis; the two files have to be the same bytes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from sapwood.cli.output import say
from sapwood.errors import InvariantError
from sapwood_lab.benchmarks.apart import run_apart
from sapwood_lab.workload.documents import DocumentShape, shipped_dtd
from sapwood_lab.workload.documents.bodies import draw_documents

SIZES: Final = (10_000, 100_000)
WAYS: Final = ("one process", "local[1]", "local[2]")
DRAWN: Final = 1_000
"""Different documents."""

_SEED: Final = 1


def run_synopsis_bench(sizes: Sequence[int], folder: Path | None = None) -> list[dict[str, Any]]:
    """Make the synopsis of each number of documents in each way; a row of figures for each.

    `seconds` are from the start of the process, `rate` documents a second, and `times` how many
    times as fast as one process. Raises `InvariantError` where the bytes of two ways differ,
    `EnvironmentMissingError` without Java or PySpark.
    """
    rows: list[dict[str, Any]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="sapwood-bench-", dir=folder) as work:
            source = Path(work) / "documents.jsonl"
            with source.open("wb") as file:
                file.writelines(lines(size))
            written: list[bytes] = []
            first = 0.0
            for way in WAYS:
                out = Path(work) / f"{way}.synopsis"
                begin = time.perf_counter()
                run_apart(__name__, (source, out, way), "synopsis")
                seconds = time.perf_counter() - begin
                first = first or seconds
                written.append(out.read_bytes())
                rows.append(
                    {
                        "documents": size,
                        "way": way,
                        "seconds": seconds,
                        "rate": size / seconds,
                        "times": first / seconds,
                        "bytes": len(written[-1]),
                    }
                )
                say(msgspec.json.encode(rows[-1]).decode())
            if len(set(written)) > 1:
                raise InvariantError("synopses of the same documents differ by how they were made")
    return rows


def lines(count: int) -> Iterator[bytes]:
    """`count` publications as JSON Lines; equal for equal counts, whatever the machine."""
    shape = DocumentShape(levels=8, repeats=3, tags=60)
    random = np.random.default_rng(_SEED)
    drawn = draw_documents(shipped_dtd("news"), shape, random, DRAWN)
    for number, document in enumerate(islice(cycle(drawn), count)):
        yield msgspec.json.encode({"id": f"p{number}", "document": document.decode()}) + b"\n"


def main(source: str, out: str, way: str) -> None:
    """Make a synopsis in one way, in this process."""
    if way == WAYS[0]:
        _in_one_process(source, out)
    else:
        from sapwood.pipeline.spark.session import local_session
        from sapwood.pipeline.synopsis.job import SynopsisJob

        SynopsisJob(source, out).run(local_session("sapwood bench", master=way))


def _in_one_process(source: str, out: str) -> None:
    from sapwood.files.lines import decode_publication
    from sapwood.files.synopses import save_synopsis
    from sapwood.similarity import SynopsisBuilder

    builder = SynopsisBuilder()
    with Path(source).open("rb") as file:
        for line in file:
            document = decode_publication(line.rstrip(b"\n")).publication.read_document()
            if document is not None:
                builder.add(document)
    save_synopsis(out, builder.synopsis())


if __name__ == "__main__":
    main(*sys.argv[1:])
