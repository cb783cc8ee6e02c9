"""XSiena, figures 5.3 and 9.16: false positives of Bloom forwarding, beside a formula.

Two parts.

`broker` is figure 9.16: events pass one broker with the structures of the work, an sbsposet that
writes bits of predicates and a counting sbstree that compares them. Filters have one predicate and
each is of another subscriber; names are Pareto out of 2,000, events have 1 to 10 pairs. An event is
a false positive where any subscriber gets it without a filter that accepts it. Values are those of
figure 9.14; the work does not state its own.

`link` is what a link of this project carries under `bloom:BITS:HASHES`, whose elements are whole
filters: every event matches a number of filters behind one link, and none of those behind another.

Beside both stands the chance by the number of elements that an event *matches*, which is exact for
bits that are drawn independently (`sketches.accuracy.false_on_link`), and the share of figure 5.3,
which the work compares with: equation 5.1 for as many elements as are *stored*.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import log, sqrt
from random import Random
from statistics import fmean
from typing import Any, Final, NamedTuple

from sapwood.matching.engine_names import Engines
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.bloom.digest import PREDICATES, shape_of
from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood.routing.forwarding.bloom.published.sbsposet import SbsPoset
from sapwood.routing.forwarding.bloom.published.structures import bits_of
from sapwood.routing.forwarding.protocol import NO_DIGEST, Forwarding
from sapwood.routing.protocols import protocol
from sapwood.sketches.accuracy import false_membership, false_on_link
from sapwood.sketches.kernels.choice import SKETCHES
from sapwood.sketches.sliced import SlicedShape
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    figure,
    is_within,
    line,
    number,
    table,
)
from sapwood_lab.workload.records.draws import Spread
from sapwood_lab.workload.records.xsiena import XSiena

BROKER, LINK = "broker", "link"
SIZES: Final = (1_000, 2_000, 3_000, 4_000, 5_000)
EVENTS: Final = 10_000
LOG_BITS: Final = (12, 14, 16)
HASHES: Final = 4
MATCHED: Final = (20, 60, 100)
"""Filters that an event matches, in the part `link`."""
_POOL: Final = 300
"""Filters of which an event matches some, there."""
_BATCH: Final = 100
AHEAD, BACK, WANTING, OTHER = "ahead", "back", "wanting", "other"

PUBLISHED_SIZE: Final = 5_000
PUBLISHED_LOG_BITS: Final = 12
PUBLISHED_FALSE: Final = 4_695
"""False positives of 10,000 events, with 5,000 filters, 2^12 bits and 4 hashes."""
WITHIN: Final = 0.25
"""The allowed distance of a share from the formula: events of one run share their predicates."""

GIVEN: Final = ("part", "log_bits", "subscriptions", "matched", "events", "seed")
COLUMNS: Final = (
    *("part", "log_bits", "subscriptions", "events", "matched_mean", "false_events", "false_pct"),
    *("exact_pct", "figure_5_3_pct", "false_negatives", "published_false"),
)
FEWER: Final = (
    "Which values filters and events have is not printed, and so how many predicates an event "
    "satisfies, which decides everything."
)
"""The reason why there may be fewer false positives than published, or more."""

WORKLOAD: Final = XSiena(
    predicates=Spread(1, 1), pairs=Spread(1, 10), names=Spread(0, 1_999, "pareto")
).workload()


class _Counted(NamedTuple):
    """Of some events, those for nothing and those lost; what they match on the mean, and expect."""

    events: int
    wrong: int
    lost: int
    matched: float
    expected: float

    def row(self, shape: SlicedShape, stored: int) -> dict[str, Any]:
        """The same as cells, beside the share for as many elements as are stored."""
        whole = shape.shape
        return {
            "matched_mean": round(self.matched, 1),
            "false_events": self.wrong,
            "false_pct": round(100 * self.wrong / self.events, 2),
            "exact_pct": round(100 * self.expected, 2),
            "figure_5_3_pct": round(100 * false_membership(whole.size, whole.probes, stored), 2),
            "false_negatives": self.lost,
        }


def configurations(choices: Choices) -> list[Configuration]:
    """One for each part, number of bits and of filters; `repeats` are events."""
    events, sizes = choices.repeats or EVENTS, choices.sizes or SIZES
    broker = [(BROKER, bits, size, 0) for bits in LOG_BITS for size in sizes]
    link = [(LINK, PUBLISHED_LOG_BITS, max(sizes), matched) for matched in MATCHED]
    return [dict(zip(GIVEN, (*one, events, choices.seed), strict=True)) for one in (*broker, *link)]


def measure(configuration: Configuration) -> list[Row]:
    """The number of false positives, and the expected number."""
    part, bits, size, matched, events, seed = (configuration[name] for name in GIVEN)
    if part == LINK:
        return [_on_link(bits, size, matched, events, seed)]
    return [_through_broker(bits, size, events, seed)]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Counted and expected shares, beside what was published."""
    shown = [_beside(row) for row in rows]
    return Report(
        title="False positives of Bloom forwarding (XSiena, figures 5.3 and 9.16)",
        settings={"seed": choices.seed, "hashes": HASHES},
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "that nothing is lost, that there are far fewer false positives than figure 5.3 says "
            "of the stored filters, and that there are as many as the exact formula says of the "
            "matched ones. The curves are lost, but for one point."
        ),
        charts=tuple(_charts(shown)),
        findings=tuple(_findings(shown)),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((2_000, 5_000), repeats=300))


def _through_broker(log_bits: int, size: int, events: int, seed: int) -> Row:
    shape = shape_of(1 << log_bits, HASHES, PREDICATES)
    poset, tree = SbsPoset(), CountingSbsTree()
    stored: dict[str, dict[Constraint, set[str]]] = {}
    for one in WORKLOAD.subscriptions(size, seed):
        assert isinstance(one.filter, Filter), "a record workload has filters of records"
        ((name, asked),) = one.filter.conjunctions[0].constraints
        bits = bits_of((name, asked), shape)
        poset.add(name, asked, bits)
        tree.add(bits, one.id)
        stored.setdefault(name, {}).setdefault(asked, set()).add(one.id)
    distinct = sum(map(len, stored.values()))
    wrong = lost = 0
    matched: list[int] = []
    for event in WORKLOAD.publications(events, seed):
        found = tree.match(poset.match(event.record))
        wanted = [
            holders
            for name, value in event.record.items()
            for asked, holders in stored.get(name, {}).items()
            if asked.accepts(value)
        ]
        true = {holder for holders in wanted for holder in holders}
        lost += len(true - found)
        wrong += found > true
        matched.append(len(wanted))
    expected = [_chance(shape.part, count, distinct - count) for count in matched]
    counted = _Counted(events, wrong, lost, fmean(matched), fmean(expected))
    return counted.row(shape, distinct)


def _on_link(log_bits: int, size: int, matched: int, events: int, seed: int) -> Row:
    """A second router with two links, and events that only one of them leads to."""
    SKETCHES.load()
    word = f"simple+bloom:{1 << log_bits}:{HASHES}"
    pool = [f"a{seed}.{place}" for place in range(_POOL)]
    wanting = [(name, _asking(name, 1)) for name in pool]
    other = [(f"o{place}", _asking("other", place)) for place in range(size)]
    first = _made(word, {AHEAD: [*wanting, *other]})
    second = _made(word, {BACK: [], WANTING: wanting, OTHER: other})
    generator = Random(f"{seed}/{matched}")  # noqa: S311 - reproducible
    sent = [
        Publication(f"p{place}", dict.fromkeys(generator.sample(pool, matched), 1))
        for place in range(events)
    ]
    wrong = lost = 0
    for begin in range(0, events, _BATCH):
        batch = sent[begin : begin + _BATCH]
        [written] = first.route(batch, None, [NO_DIGEST] * len(batch), 0.0).onward
        routed = second.route(batch, BACK, written.digests, 0.0)
        reached = {onward.neighbor: len(onward.places) for onward in routed.onward}
        wrong += reached.get(OTHER, 0)
        lost += len(batch) - reached.get(WANTING, 0)
    shape = shape_of(1 << log_bits, HASHES)
    counted = _Counted(events, wrong, lost, matched, _chance(shape.part, matched, size))
    return counted.row(shape, size)


def _made(word: str, sides: Mapping[str, Sequence[tuple[str, Filter]]]) -> Forwarding:
    chosen = protocol(word)
    forwarding = chosen.forwarding.make("r", Engines("counting"), chosen.propagation)
    for side, entries in sides.items():
        forwarding.add_side(side)
        forwarding.learned_many(side, entries)
    return forwarding


def _asking(name: str, value: int) -> Filter:
    return Filter((Conjunction(((name, equal_to(value)),)),))


@lru_cache(maxsize=4_096)
def _chance(part: int, matched: int, others: int) -> float:
    return false_on_link(part, HASHES, matched, others) if matched and others else 0.0


def _beside(row: Row) -> Row:
    point = (BROKER, PUBLISHED_LOG_BITS, PUBLISHED_SIZE, EVENTS)
    is_it = tuple(row[name] for name in ("part", "log_bits", "subscriptions", "events")) == point
    return {**row, "published_false": PUBLISHED_FALSE} if is_it else row


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    broker = [row for row in rows if row["part"] == BROKER]
    lines = {}
    for bits in dict.fromkeys(row["log_bits"] for row in broker):
        mine = [row for row in broker if row["log_bits"] == bits]
        lines[f"2^{bits} bits"] = line(mine, "subscriptions", "false_pct")
        lines[f"2^{bits} bits, exact"] = line(mine, "subscriptions", "exact_pct")
    published = [(float(PUBLISHED_SIZE), 100 * PUBLISHED_FALSE / EVENTS)]
    yield Chart(
        *("broker", "Events for nothing (9.16)", "filters", "percent of all"),
        lines,
        linear_x=True,
        linear_y=True,
        published={f"2^{PUBLISHED_LOG_BITS} bits": published} if broker else {},
    )
    sizes = [256 * step for step in range(1, 33)]
    curves = {
        f"2^{bits} bits": [(float(n), _at_best(1 << bits, n)) for n in sizes] for bits in LOG_BITS
    }
    yield Chart(
        *("figure-5-3", "Equation 5.1 at the best number of hashes (5.3)"),
        *("elements", "probability"),
        curves,
        linear_x=True,
    )


def _at_best(bits: int, elements: int) -> float:
    """Equation 5.1 at the whole number of hashes nearest to (m / n) ln 2, 1 at least."""
    best = max(1, round(bits / elements * log(2)))
    return false_membership(bits, best, elements)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    lost = sum(number(row["false_negatives"]) for row in rows)
    yield Finding("nothing is lost", not lost, f"{figure(lost)} false negatives")
    broker = [row for row in rows if row["part"] == BROKER]
    at = [
        row
        for row in broker
        if (row["log_bits"], row["subscriptions"]) == (PUBLISHED_LOG_BITS, PUBLISHED_SIZE)
    ]
    for row in at:
        yield is_within(
            f"{PUBLISHED_SIZE:,} filters, 2^{PUBLISHED_LOG_BITS} bits: fewer than half of all "
            "events are false positives",
            number(row["false_pct"]),
            50.0,
            FEWER,
        )
        yield Finding(
            "there are far fewer than figure 5.3 lets expect",
            number(row["false_pct"]) < number(row["figure_5_3_pct"]) / 2,
            f"{figure(number(row['false_pct']))} % of {figure(number(row['figure_5_3_pct']))} %",
            FEWER,
        )
    for part in (BROKER, LINK):
        mine = [row for row in rows if row["part"] == part]
        if mine:
            yield Finding(
                f"{part}: as many as the exact formula says of the elements that are matched",
                all(map(_is_as_expected, mine)),
                ", ".join(f"{r['false_pct']} of {r['exact_pct']} %" for r in mine),
                "Events with the same names satisfy the same predicates, so their bits are not "
                "independent draws.",
            )


def _is_as_expected(row: Row) -> bool:
    """True if a share is within a quarter of the formula's, and four standard errors."""
    found, expected = number(row["false_pct"]) / 100, number(row["exact_pct"]) / 100
    noise = 4 * sqrt(expected * (1 - expected) / number(row["events"]))
    return abs(found - expected) <= WITHIN * expected + noise + 1e-4
