"""The cost of a match from the form of the caller on: a dict, a line of JSON.

`python -m sapwood_lab.benchmarks.records.forms [SUBSCRIPTIONS [WORKLOAD [SECONDS]]]` prints JSON.
Records have `ATTRIBUTES` attributes, as wide ones of applications do: those of the workload, and
others that no filter tests. Figures are processor time in microseconds, the best of several rounds,
as one number of one run: compare them with `search_us`, which is the engine's part alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from sapwood.matching.index import Index
from sapwood.matching.readiness import RECORDS
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.sources import source_named

ATTRIBUTES: Final = 80
PUBLICATIONS: Final = 200
SUBSCRIPTIONS: Final = 200_000
ROUNDS_MIN: Final = 3


def run_forms(
    subscriptions: int = SUBSCRIPTIONS, workload: str = "mix", seconds: float = 2.0
) -> dict[str, Any]:
    """The figures, and whether all forms gave the same ids."""
    RECORDS.load()
    source = source_named(workload)
    index = Index()
    index.add_many(
        [(one.id, one.record_filter) for one in source.subscriptions(subscriptions, SEED)]
    )
    index.fold()
    records = [_wide(dict(one.record)) for one in source.publications(PUBLICATIONS, SEED)]
    lines = [msgspec.json.encode(record) for record in records]
    from_dicts, from_lines = [*map(index.match, records)], [*map(index.match_json, lines)]
    together = index.match_many(records)
    # A wide record has the matches of a bare one, which has all attributes that filters test.
    bare = [index.match(dict(one.record)) for one in source.publications(PUBLICATIONS, SEED)]
    return {
        "subscriptions": subscriptions,
        "workload": workload,
        "attributes": ATTRIBUTES,
        "matches": sum(map(len, from_dicts)) / len(from_dicts),
        "dict_us": _best_us(index.match, records, seconds),
        "json_us": _best_us(index.match_json, lines, seconds),
        "many_us": _best_us(index.match_many, [records], seconds) / len(records),
        "search_us": _best_us(index.match_count, records, seconds),
        "are_equal": from_dicts == from_lines == together == bare,
    }


def _wide(record: dict[str, Any]) -> dict[str, Any]:
    """A record with further attributes, texts and numbers in turn."""
    for number in range(ATTRIBUTES - len(record)):
        record[f"more{number}"] = number if number % 2 else f"a text of some length {number}"
    return record


def _best_us(match: Callable[[Any], object], given: Sequence[Any], seconds: float) -> float:
    """Microseconds of processor time for each of what is given: the best round of several."""
    end, best, rounds = time.monotonic() + seconds, float("inf"), 0
    while rounds < ROUNDS_MIN or time.monotonic() < end:
        begin = time.process_time()
        for one in given:
            match(one)
        best, rounds = min(best, time.process_time() - begin), rounds + 1
    return best / len(given) * 1e6


def _main(arguments: Sequence[str]) -> None:
    kinds = (int, str, float)
    said = run_forms(*(kind(text) for kind, text in zip(kinds, arguments, strict=False)))
    print(json.dumps(said, indent=2))  # noqa: T201 - a program


if __name__ == "__main__":
    _main(sys.argv[1:])
