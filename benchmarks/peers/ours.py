"""Sapwood under the same protocol as the peers.

`ours.py ENGINE SUBSCRIPTIONS PUBLICATIONS COUNT FILL_SECONDS SECONDS` prints one line of JSON. The
engine is one of `sapwood engines`; with `/64` behind its name publications come 64 at a time. The
filters are read from their text, and what a publication costs is asking the index for ids.
"""

from __future__ import annotations

import gc
import itertools
import json
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Final

from sapwood.files import decode_publication
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood_lab.benchmarks.records.cells import warm_up

MARK: Final = 5
"""Memory is what the subscriptions after the first fifth add: compiled code is there by then."""

WARM_SECONDS: Final = 2.0


def main(engine: str, *arguments: str) -> None:
    """Measure and print."""
    subscriptions, publications, count, fill, seconds = arguments
    name, _, batch = engine.partition("/")
    lines = Path(publications).read_bytes().splitlines()
    records = [decode_publication(line).publication for line in lines]
    size = min(int(batch or 1), len(records))
    index = Index(records=name)
    wanted, build_s, marked = int(count), 0.0, (0, 0)
    with Path(subscriptions).open("rb") as file:
        for line in itertools.islice(file, wanted):
            if build_s >= float(fill):
                break
            if len(index) == wanted // MARK:
                marked = (len(index), resident_bytes(index, records))
            subscription = json.loads(line)
            begin = time.perf_counter()
            index.add(subscription["id"], subscription["filter"])
            build_s += time.perf_counter() - begin
    report: dict[str, object] = {
        "wanted": wanted,
        "added": len(index),
        "inexpressible": 0,
        "build_s": build_s,
    }
    if len(index) == wanted:
        grown = resident_bytes(index, records) - marked[1]
        report["memory_bytes"] = grown * wanted / (wanted - marked[0])
        report["matches"] = sum(map(len, index.match_many(records)))
        report["publications"] = len(records)
        gc.freeze()
        took = sorted(timed(index, records, size, float(seconds)))
        report["match_us"] = statistics.median(took)
        report["match_p99_us"] = took[len(took) * 99 // 100]
    sys.stdout.write(json.dumps(report) + "\n")


def timed(index: Index, records: list[Publication], size: int, seconds: float) -> list[float]:
    """Microseconds a publication, over all of them again and again."""
    batches = [records[at : at + size] for at in range(0, len(records) - size + 1, size)]
    took: list[float] = []
    end = time.perf_counter() + seconds
    for batch in itertools.cycle(batches):
        begin = time.perf_counter()
        if size == 1:
            index.match(batch[0])
        else:
            index.match_many(batch)
        now = time.perf_counter()
        took.append((now - begin) / size * 1e6)
        if now >= end:
            return took
    return took


def resident_bytes(index: Index, records: list[Publication]) -> int:
    """The resident memory of this process, once the index has folded what was added."""
    warm_up(index.match_many, records, WARM_SECONDS)
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main(*sys.argv[1:])
