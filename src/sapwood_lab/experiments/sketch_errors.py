"""Shen, figure 5.1 and the sizes of sketches: how often two different sets look alike.

The figure shows p_A, the one-sided case of Theorem 6: one set has all that the other has, and x
elements more. Beside it stand the exact value and what is counted over as many salts as `SALTS`.
Sizes are those of section 5.5 (1,000 subscriptions of 50 bytes); the work prints 4,000 bytes for
the filter and means bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from sapwood.sketches.accuracy import equal_bits, sketch_bytes, theorem_6
from sapwood.sketches.bloom import BloomFilter
from sapwood.sketches.counting import CountingBloomFilter
from sapwood.sketches.elements import element_of
from sapwood.sketches.shape import Shape
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    is_within,
    line,
    number,
    table,
)

SIZES: Final = (1_000,)
BITS: Final = (4, 8)
PROBES: Final = (2, 4)
DIFFERENCES: Final = (1, 2, 3, 4, 6, 8)
SALTS: Final = 2_000
ENTRY_BYTES: Final = 50
"""A subscription in a table, as the work has it."""

PUBLISHED_DIFFERENCE: Final = 3
PUBLISHED: Final = 0.001
LOOSE: Final = "Theorem 6 is an upper bound, here far above the exact value."
"""4 bits, 2 probes: the one number that the text has of the figure."""

GIVEN: Final = ("elements", "bits", "probes", "difference", "seed")
COLUMNS: Final = (
    "elements", "bits", "probes", "difference", "theorem_6", "exact", "counted",
    "sketch_bytes", "table_bytes", "published",
)  # fmt: skip


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of elements, bits an element, probes and difference."""
    return [
        dict(zip(GIVEN, (n, bits, probes, difference, choices.seed), strict=True))
        for n in choices.sizes or SIZES
        for bits in BITS
        for probes in PROBES
        for difference in DIFFERENCES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The chances of a difference by the formulas, and by counting."""
    elements, bits, probes, difference, seed = (configuration[name] for name in GIVEN)
    shape = Shape.of(elements, bits, probes, 0)
    generator = Random(f"{seed}/{elements}/{difference}")  # noqa: S311 - reproducible
    words = [generator.randbytes(ENTRY_BYTES) for _ in range(elements + difference)]
    found = [element_of(word) for word in words]
    common, more = found[:elements], found[elements:]
    alike = 0
    for salt in range(SALTS):
        followed = CountingBloomFilter(Shape(shape.size, probes, salt), common)
        smaller = followed.bits()
        alike += smaller == smaller | BloomFilter(smaller.shape, more)
    return [
        {
            "theorem_6": _rounded(theorem_6(shape.size, probes, elements, difference)),
            "exact": _rounded(equal_bits(shape.size, probes, elements, difference)),
            "counted": alike / SALTS,
            "sketch_bytes": sketch_bytes(elements, bits),
            "table_bytes": elements * ENTRY_BYTES,
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Errors by the difference, beside what was published."""
    rows = [{**row, "published": PUBLISHED} if _is_published(row) else row for row in rows]
    pairs = sorted({(int(number(row["bits"])), int(number(row["probes"]))) for row in rows})
    curves = {
        f"{bits} bits, {probes} probes": [
            row for row in rows if (row["bits"], row["probes"]) == (bits, probes)
        ]
        for bits, probes in pairs
    }
    return Report(
        title="How often two different sets look alike (Shen, figure 5.1)",
        settings={"seed": choices.seed, "salts": SALTS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "the one number that the text has of the figure, and that Theorem 6 is above what is "
            "counted; the figure's curves are lost."
        ),
        charts=(
            Chart(
                "errors", "Sets that look alike", "difference", "probability",
                {name: line(some, "difference", "exact") for name, some in curves.items()}
                | {f"{name}, Theorem 6": line(some, "difference", "theorem_6")
                   for name, some in curves.items()},
                linear_x=True,
            ),
        ),
        findings=_findings(rows),
    )  # fmt: skip


DESIGN: Final = Design(configurations, measure, report)


def _rounded(chance: float) -> float:
    return float(f"{chance:.3g}")


def _is_published(row: Row) -> bool:
    return (row["bits"], row["probes"], row["difference"]) == (4, 2, PUBLISHED_DIFFERENCE)


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    above = [
        number(row["theorem_6"]) - number(row["counted"])
        for row in rows
        if number(row["exact"]) > 1 / SALTS
    ]
    ratio = min(number(row["table_bytes"]) / number(row["sketch_bytes"]) for row in rows)
    smallest = [row for row in rows if row["bits"] == min(BITS)] or rows
    best = min(number(row["table_bytes"]) / number(row["sketch_bytes"]) for row in smallest)
    found = [
        Finding(
            "Theorem 6 is above what is counted",
            all(one > 0 for one in above),
            f"{sum(one > 0 for one in above)} of {len(above)} cases",
        ),
        Finding(
            "a sketch is two orders of magnitude smaller than its table, at 4 bits an entry",
            best >= 100,
            f"{best:,.4g} times; at all sizes here {ratio:,.4g} at least",
        ),
    ]
    for row in rows:
        if _is_published(row):
            claim = "4 bits and 2 probes: three entries more are overlooked about once in 1,000"
            for name, value in (("Theorem 6", "theorem_6"), ("the exact value", "exact")):
                most = 5 * PUBLISHED
                found.append(is_within(f"{claim}, by {name}", number(row[value]), most, LOOSE))
    return tuple(found)
