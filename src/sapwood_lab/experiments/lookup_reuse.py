"""Shen, table 3.1 and figures 3.1 to 3.5: the savings by a lookup, and when it pays.

Routers form a balanced binary tree. All subscriptions travel first; then publications enter at
routers drawn with the seed, and what is added up is the processor time that routers spend on them:
at the router where each enters (`source`) and at the later ones (`downstream`). Of the latter,
`lookup` is what reading the digests takes: the keys that were looked up, times what one lookup
takes by itself. The work has 100 routers, 10,000 subscriptions and 1,000 publications; here they
are fewer unless sizes are given, and matching is what grows with them.

Engines are those of the work as compiled code, as it had them, and this project's own. A
configuration is an engine, a law of boxes and a density; each has all strategies beside each other.
Under `covering` keys are never complete (Algorithm 3.6), and Always-Reuse is not to be had.

The work counts keys as 4 bytes (2.4), and here they are 8: `keys_kb` are the digests on all links,
`keys_kb_of_4` what they would take with keys as short as that, and `equal_of_4` the subscriptions
whose keys would have the same 4 bytes as another one's, and so identify none.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from math import inf
from types import MappingProxyType
from typing import Final

from sapwood.errors import InvariantError
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.forwarding.reuse.digest import HEAD_BYTES, KEY_BYTES, hash_of
from sapwood.routing.forwarding.reuse.key_table import KeyTable
from sapwood.routing.messages import Message, Publish, carried
from sapwood.routing.protocols import protocol
from sapwood.simulation.evaluation import evaluate
from sapwood.simulation.metering import Meter
from sapwood.simulation.scenario import Scenario, subscribe_then_publish
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Cell,
    Chart,
    Finding,
    Lines,
    Report,
    Row,
    line,
    number,
    table,
)
from sapwood_lab.workload.records.boxes import boxes

ROUTERS: Final = 31
SUBSCRIPTIONS: Final = 1_000
PUBLICATIONS: Final = 40
DENSITIES: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2)
ENGINES: Final = ("counting-compiled", "kdtree-compiled", "auto")
PROPAGATIONS: Final = ("simple", "covering")
STRATEGIES: Final = ("never", "partial:20", "partial:60", "always")
ALWAYS, PARTIAL = STRATEGIES[-1], STRATEGIES[1:-1]
LAW: Final = "norm-1"

PUBLISHED: Final = MappingProxyType(
    {
        "never": (4.51, 5.71, 6.12, 5.89, 5.47, 4.43),
        "partial:20": (1.95, 2.47, 2.80, 3.46, 3.79, 4.38),
        "partial:60": (1.92, 2.41, 2.74, 3.46, 3.89, 4.59),
        "always": (1.87, 2.54, 3.35, 11.77, 30.00, 104.88),
    }
)
"""Figure 3.1(a), seconds by density: `counting`, `norm-1`, 10,000 subscriptions, 100 routers."""

FIGURE: Final = ("counting-compiled", "simple")
"""The engine and the propagation of figure 3.1(a)."""

PUBLISHED_SUBSCRIPTIONS: Final = 10_000
FEW: Final = (
    "A lookup is made for each subscription that matches: of fewer subscriptions than the "
    "published 10,000 few match, and all strategies cost next to the same."
)
"""The reason why strategies may cost the same."""

NEAR: Final = 0.10
"""Partial-Reuse is published to be within this of the best strategy."""

TIMED: Final = (
    "match_us", "lookup_us", "source_ms", "downstream_ms", "lookup_ms", "total_ms", "above_best",
)  # fmt: skip
GIVEN: Final = ("engine", "propagation", "law", "density", "subscriptions", "seed")
COLUMNS: Final = (
    *("engine", "propagation", "density", "strategy", *TIMED, "matches", "lookups", "deliveries"),
    *("keys_kb", "keys_kb_of_4", "equal_of_4", "published_above_best"),
)

PUBLISHED_KEY_BYTES: Final = 4

_ROUNDS: Final = 3
"""Times that a match and a lookup are measured; the least counts."""


def configurations(choices: Choices) -> list[Configuration]:
    """One for each engine, propagation and density; sizes are numbers of subscriptions."""
    return [
        dict(zip(GIVEN, (engine, told, law, density, n, choices.seed), strict=True))
        for n in choices.sizes or (SUBSCRIPTIONS,)
        for law in (choices.source or LAW,)
        for engine in ENGINES
        for told in PROPAGATIONS
        for density in DENSITIES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The cost of each strategy, beside one match and one lookup by themselves."""
    engine, told, law, density, n, seed = (configuration[name] for name in GIVEN)
    workload = boxes(law, density)
    subscriptions = list(workload.subscriptions(n, seed))
    publications = list(workload.publications(PUBLICATIONS, seed))
    # Homes are drawn with the seed, those of subscriptions and of publications independently.
    scenario = subscribe_then_publish(
        "lookup-reuse",
        parse_topology(f"tree:{ROUTERS}:2", lambda _: 0),
        subscriptions,
        [(one, None) for one in publications],
        seed=seed,
    )
    match_us = _match_us(engine, subscriptions, publications)
    keys = [one.id for one in subscriptions]
    lookup_us, equal = _lookup_us(keys), _equal_of_4(keys)
    rows: list[dict[str, Cell]] = []
    for strategy in STRATEGIES:
        if told == "simple" or strategy != ALWAYS:
            rows.append(_row(scenario, engine, f"{told}+reuse:{strategy}", lookup_us))
            rows[-1].update(strategy=strategy, match_us=match_us, lookup_us=lookup_us)
            rows[-1].update(equal_of_4=equal)
    least = min(number(row["total_ms"]) for row in rows)
    return [{**row, "above_best": _rounded(number(row["total_ms"]) / least - 1)} for row in rows]


def _row(scenario: Scenario, engine: str, name: str, lookup_us: float) -> dict[str, Cell]:
    """The cost of publications under one strategy; raises `InvariantError` if it is not exact."""
    sent = _Sent()
    meter = Meter(time.process_time, sent.weigh)
    found = evaluate(scenario, protocol(name), engine=engine, maker=meter.maker)
    if not found.is_right:
        raise InvariantError(f"{name} lost or added a delivery: {found.judgment}")
    counted = meter.counters()
    return {
        "source_ms": _rounded(1e3 * meter.entered.seconds),
        "downstream_ms": _rounded(1e3 * meter.passed.seconds),
        "lookup_ms": _rounded(1e-3 * lookup_us * counted["lookups"]),
        "total_ms": _rounded(1e3 * (meter.entered.seconds + meter.passed.seconds)),
        "matches": counted["content_matches"],
        "lookups": counted["lookups"],
        "deliveries": found.metrics.deliveries,
        "keys_kb": sent.kilobytes(KEY_BYTES),
        "keys_kb_of_4": sent.kilobytes(PUBLISHED_KEY_BYTES),
    }


class _Sent:
    """The digests that went over links, and the keys in them."""

    def __init__(self) -> None:
        self.digests = self.keys = 0

    def weigh(self, message: Message) -> int:
        """The bytes of a message's digest."""
        message = carried(message)
        size = len(message.digest) if isinstance(message, Publish) else 0
        if size:
            self.digests += 1
            self.keys += (size - HEAD_BYTES) // KEY_BYTES
        return size

    def kilobytes(self, key_bytes: int) -> float:
        """The kilobytes of all digests with keys of `key_bytes` bytes."""
        return _rounded(1e-3 * (self.digests * HEAD_BYTES + self.keys * key_bytes))


def _equal_of_4(keys: Sequence[str]) -> int:
    """The number of subscriptions that share the first 4 bytes of their keys with another one."""
    short = Counter(hash_of(key) % (1 << 8 * PUBLISHED_KEY_BYTES) for key in keys)
    return sum(count for count in short.values() if count > 1)


def _match_us(
    engine: str, subscriptions: Sequence[Subscription], publications: Sequence[Publication]
) -> float:
    """The microseconds of one match among all subscriptions."""
    index = Index(engine)
    index.add_many((one.id, one.filter) for one in subscriptions)
    return _least_us(lambda: [index.found(one) for one in publications], len(publications))


def _lookup_us(keys: Sequence[str]) -> float:
    """The microseconds of one lookup, of many in one digest."""
    known, hashes = KeyTable(), [hash_of(key) for key in keys]
    known.add_many(hashes, range(len(hashes)))
    return _least_us(lambda: known.places(hashes), len(hashes))


def _least_us(work: Callable[[], object], count: int) -> float:
    """Microseconds of processor time for each of `count`, the least of some rounds."""
    least = inf
    for _ in range(_ROUNDS):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return _rounded(1e6 * least / count)


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Costs by density, and how far each strategy is from the best, beside what was published."""
    rows = [{**row, "published_above_best": _published(row)} for row in rows]
    charts = tuple(
        Chart(
            f"reuse-{engine}-{told}",
            f"Processor time of publications, {engine}, {told}",
            "density",
            "ms",
            {
                strategy: line(_of(rows, engine, told, strategy), "density", "total_ms")
                for strategy in STRATEGIES
            },
            published=_published_lines() if (engine, told) == FIGURE else {},
        )
        for engine in ENGINES
        for told in PROPAGATIONS
    )
    return Report(
        title="What lookup reuse saves (Shen, table 3.1 and figures 3.1 to 3.5)",
        settings={
            "seed": choices.seed,
            "law": choices.source or LAW,
            "routers": ROUTERS,
            "publications": PUBLICATIONS,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "orders and shares, not times: matching was compiled code on a Pentium 4 there; here "
            "it is compiled as well, and a publication's way through a router is Python in part."
        ),
        charts=charts,
        findings=_findings(rows),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((60,)))


def _published_lines() -> Lines:
    """Figure 3.1(a), in milliseconds."""
    return {
        strategy: [(at, 1000 * s) for at, s in zip(DENSITIES, seconds, strict=True)]
        for strategy, seconds in PUBLISHED.items()
    }


def _published(row: Row) -> Cell:
    """The distance of a strategy from the best one tried here, in figure 3.1(a)."""
    printed = (row["engine"], row["propagation"], row["law"]) == (*FIGURE, LAW)
    if not printed or row["density"] not in DENSITIES:
        return None
    at = DENSITIES.index(number(row["density"]))
    return _rounded(
        PUBLISHED[str(row["strategy"])][at] / min(one[at] for one in PUBLISHED.values()) - 1
    )


def _of(rows: Sequence[Row], engine: str, told: str, strategy: str) -> list[Row]:
    wanted = (engine, told, strategy)
    return [r for r in rows if (r["engine"], r["propagation"], r["strategy"]) == wanted]


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for engine in ENGINES:
        some = [row for row in rows if row["engine"] == engine]
        if not some:
            continue
        ratios = [number(row["match_us"]) / number(row["lookup_us"]) for row in some]
        shown = f"{min(ratios):,.3g} to {max(ratios):,.3g} times"
        found.append(
            Finding(
                f"{engine}: a match costs 100 to 1,000 lookups",
                min(ratios) >= 100,
                shown,
                needs=_needs(some),
            )
        )
        for told in PROPAGATIONS:
            found += _near_best(rows, engine, told)
        found += _always(rows, engine)
    return tuple(found)


def _near_best(rows: Sequence[Row], engine: str, told: str) -> list[Finding]:
    """The finding whether Partial-Reuse is as near to the best as published, at most densities."""
    best = min(
        (
            [number(row["above_best"]) for row in _of(rows, engine, told, strategy)]
            for strategy in PARTIAL
        ),
        key=sum,
    )
    if not best:
        return []
    near = sum(one <= NEAR for one in best)
    claim = f"{engine}, {told}: Partial-Reuse is within {NEAR:.0%} of the best at most densities"
    shown = f"{near} of {len(best)}, {max(best):.0%} at most"
    return [Finding(claim, 2 * near > len(best), shown, FEW, _needs(rows))]


def _always(rows: Sequence[Row], engine: str) -> list[Finding]:
    """The finding whether Always-Reuse collapses where many subscriptions match."""
    always = _of(rows, engine, "simple", ALWAYS)
    if not always:
        return []
    least, most = always[0], always[-1]
    claim = f"{engine}: Always-Reuse is near the best at the lowest density and last at the highest"
    last = max(
        (row for s in STRATEGIES for row in _of(rows, engine, "simple", s)[-1:]),
        key=lambda row: number(row["total_ms"]),
    )
    holds = number(least["above_best"]) <= NEAR and last is most
    shown = f"{number(least['above_best']):.0%} and {number(most['above_best']):.0%} above the best"
    return [Finding(claim, holds, shown, FEW, _needs(rows))]


def _needs(rows: Sequence[Row]) -> str:
    few = any(number(row["subscriptions"]) < PUBLISHED_SUBSCRIPTIONS for row in rows)
    return f"{PUBLISHED_SUBSCRIPTIONS:,} subscriptions" if few else ""


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
