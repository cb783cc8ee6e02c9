"""XSiena, figure 5.7: what joining two Bloom filters takes, by their size.

The work compares processors, word by word or by vectors of words, with graphics processors. Here
a processor does it in two ways: word by word in a loop, and by numpy, whose loops are compiled for
the vectors that the processor has; many filters at once, as routers have them, are joined by the
latter as one array. Graphics processors are not there to be measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from sapwood.errors import InvariantError
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    figure,
    line,
    number,
    table,
)

SIZES: Final = tuple(1 << power for power in range(8, 23, 2))
"""Bits of a filter."""
WORD_BITS: Final = 64
MANY: Final = 64
ROUNDS: Final = 5
WORDS_AT_LEAST: Final = 1 << 14
"""Words that a round joins, so that the clock sees it."""

TIMED: Final = ("words_us", "vector_us", "many_us", "speedup", "speedup_many")
COLUMNS: Final = ("bits", *TIMED)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each size in bits; less than a word is one."""
    return [{"bits": size, "seed": choices.seed} for size in choices.sizes or SIZES]


def measure(configuration: Configuration) -> list[Row]:
    """Microseconds of processor time to join two filters, in each way."""
    words = max(1, configuration["bits"] // WORD_BITS)
    random = np.random.default_rng(configuration["seed"])
    most = np.iinfo(np.uint64).max
    ones, others = (random.integers(0, most, (MANY, words), np.uint64) for _ in range(2))
    one, other, into = ones[0], others[0], np.empty_like(ones)
    listed = one.tolist(), other.tolist()
    times = max(1, WORDS_AT_LEAST // words)
    words_us = _least_us(lambda: _by_words(*listed), times)
    vector_us = _least_us(lambda: np.bitwise_or(one, other, out=into[0]), times)
    many_us = _least_us(lambda: np.bitwise_or(ones, others, out=into), max(1, times // MANY)) / MANY
    if into[0].tolist() != _by_words(*listed):
        raise InvariantError("two ways to join filters give different bits")
    row: dict[str, Any] = {"words_us": words_us, "vector_us": vector_us, "many_us": many_us}
    row["speedup"], row["speedup_many"] = words_us / vector_us, words_us / many_us
    return [{name: float(f"{cell:.4g}") for name, cell in row.items()}]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Times and speed-ups by size."""
    return Report(
        title="Joining Bloom filters (XSiena, figure 5.7)",
        settings={"seed": choices.seed, "many": MANY},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that vectors pay, and the more the larger filters are; the figure's curves are lost, "
            "and so are its graphics processors here."
        ),
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report)


def _by_words(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a | b for a, b in zip(one, other, strict=True)]


def _least_us(work: Callable[[], object], times: int) -> float:
    """Microseconds of processor time, the least of some rounds of `times` calls."""
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            work()
        least = min(least, time.process_time() - began)
    return max(1e6 * least / times, 1e-6)


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    ways = {
        "word by word": "words_us",
        "vectors": "vector_us",
        f"vectors, {MANY} at once": "many_us",
    }
    lines = {told: line(rows, "bits", column) for told, column in ways.items()}
    yield Chart("time", "Joining two filters (5.7)", "bits", "microseconds", lines)
    faster = {"one": line(rows, "bits", "speedup"), f"{MANY}": line(rows, "bits", "speedup_many")}
    yield Chart("speedup", "Vectors against words (5.7)", "bits", "times as fast", faster)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    ordered = sorted(rows, key=lambda row: number(row["bits"]))
    large = [row for row in ordered if number(row["bits"]) >= WORD_BITS * MANY]
    if large:
        least = min(number(row["speedup"]) for row in large)
        yield Finding(
            f"vectors are faster than words, from {WORD_BITS * MANY:,} bits on",
            least > 1,
            f"{figure(least)} times at least",
        )
    if len(ordered) > 1:
        first, last = (number(ordered[at]["speedup"]) for at in (0, -1))
        yield Finding(
            "the larger filters are, the more is gained",
            last > first,
            f"{figure(first)} times with {figure(number(ordered[0]['bits']))} bits, "
            f"{figure(last)} times with {figure(number(ordered[-1]['bits']))}",
        )
