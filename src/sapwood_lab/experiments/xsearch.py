"""Containment search among tree patterns: XNet's tables 6.7 and 6.8, figures 6.12 to 6.15.

What is measured of a set of distinct patterns is that of `bench documents-covering`: 1,000 fresh
queries in both directions, some of them compared pattern by pattern as well, by a table of all
pairs of elements ("Linear"). Sets grow with `//` 0.05 and `*` 0.1; then, at the largest size, one
of the two goes from 0 to 0.2 and the other one stays. Of figures 6.12 to 6.15 no values are
published but those of the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sapwood.covering.xsearch import XSearchIndex
from sapwood_lab.benchmarks.documents_covering import (
    PUBLISHED_MS,
    PUBLISHED_SHARES,
    SIZES,
    WRONG,
    drawn_patterns,
    searched,
)
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Lines,
    Report,
    Row,
    falls,
    is_within,
    line,
    number,
    table,
)
from sapwood_lab.workload.documents import XNET

WORKLOAD: Final = "news"
QUERIES: Final = 1_000
DESCENDANT: Final = 0.05
WILDCARD: Final = 0.1
SHARES: Final = (0.0, 0.05, 0.1, 0.15, 0.2)
SLOWER: Final = 100.0
"""The factor by which Linear is "systematically" slower (figure 6.13)."""
REGIME: Final = 1_000
"""Entries that routing tables "rarely exceed", where searches take less than a millisecond."""

MODES: Final[Mapping[str, str]] = MappingProxyType(
    {"contained": "what a pattern covers", "containing": "what covers it"}
)
TIMED: Final = tuple(
    f"{mode}_{name}" for mode in MODES for name in ("ms", "linear_ms", "linear_times")
)
COLUMNS: Final = (
    *("patterns", "descendant", "wildcard"),
    *("contained_ms", "contained_published_ms", "contained_linear_ms", "contained_linear_times"),
    *("containing_ms", "containing_published_ms", "containing_linear_ms"),
    *("containing_linear_times", "share", "published_share", "verdict"),
)
GIVEN: Final = ("patterns", "descendant", "wildcard", "queries", "workload", "seed")


def configurations(choices: Choices) -> list[Configuration]:
    """One for each size, and one for each share of `//` and of `*` at the largest size."""
    sizes = choices.sizes or SIZES
    drawn = dict.fromkeys(
        (
            *((size, DESCENDANT, WILDCARD) for size in sizes),
            *((max(sizes), share, WILDCARD) for share in SHARES),
            *((max(sizes), DESCENDANT, share) for share in SHARES),
        )
    )
    rest = (choices.repeats or QUERIES, choices.source or WORKLOAD, choices.seed)
    return [dict(zip(GIVEN, (*one, *rest), strict=True)) for one in drawn]


def measure(configuration: Configuration) -> list[Row]:
    """Searches among `patterns` with shares of `descendant` and `wildcard` steps."""
    size, descendant, wildcard, queries, workload, seed = (configuration[one] for one in GIVEN)
    shape = replace(XNET, descendant=descendant, wildcard=wildcard)
    held = drawn_patterns(workload, shape, size, 2 * seed)
    fresh = drawn_patterns(workload, shape, queries, 2 * seed + 1)
    index = XSearchIndex()
    for key, pattern in enumerate(held):
        index.add(key, pattern)
    nodes = sum(twig.size for pattern in held for twig in pattern.twigs)
    found = searched(index, held, fresh)
    return [{**{n: found[n] for n in (*TIMED, "verdict")}, "share": index.nodes / nodes}]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """All sets, beside tables 6.7 and 6.8."""
    grown = [r for r in rows if (r["descendant"], r["wildcard"]) == (DESCENDANT, WILDCARD)]
    most = max(number(row["patterns"]) for row in rows)
    largest = [row for row in rows if row["patterns"] == most]
    swept = {
        "descendant": [row for row in largest if row["wildcard"] == WILDCARD],
        "wildcard": [row for row in largest if row["descendant"] == DESCENDANT],
    }
    for name, some in swept.items():
        some.sort(key=lambda row, name=name: number(row[name]))  # type: ignore[misc]
    shown = [{**row, **(_published(row) if row in grown else {})} for row in rows]
    return Report(
        title="Containment search (XNet, tables 6.7 and 6.8, figures 6.12 to 6.15)",
        settings={
            "workload": choices.source or WORKLOAD,
            "seed": choices.seed,
            "queries": choices.repeats or QUERIES,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "how times grow with the set, how many times slower pairs are, and how many nodes the "
            "tree saves; the work drew from NITF, on hardware of 2005 and in C++."
        ),
        charts=_charts(grown, swept),
        findings=(*_grown(grown), *_swept(swept), _agreeing(rows)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((200, 500, 1_000), repeats=100))


def _published(row: Row) -> Row:
    size = int(number(row["patterns"]))
    contained, containing = PUBLISHED_MS.get(size, (None, None))
    return {
        "contained_published_ms": contained,
        "containing_published_ms": containing,
        "published_share": PUBLISHED_SHARES.get(size),
    }


def _grown(rows: Sequence[Row]) -> list[Finding]:
    """The findings for sets of different sizes."""
    shares = {f"{size:,.0f}": share for size, share in line(rows, "patterns", "share")}
    findings = [falls("the tree's share of the patterns' nodes falls as sets grow (6.8)", shares)]
    for mode, told in MODES.items():
        times = line(rows, "patterns", f"{mode}_linear_times")
        if times:
            least = min(value for _, value in times)
            claim = f"{told}: pair by pair is more than {SLOWER:g} times slower (6.13)"
            findings.append(Finding(claim, least > SLOWER, f"{least:,.0f} times at least", FEW))
        small = [ms for size, ms in line(rows, "patterns", f"{mode}_ms") if size <= REGIME]
        if small:
            claim = f"{told}: among up to {REGIME:,} patterns less than 1 ms"
            findings.append(is_within(claim, max(small), 1.0))
    last = max(rows, key=lambda row: number(row["patterns"]))
    contained, containing = (number(last[f"{mode}_ms"]) for mode in MODES)
    findings.append(
        Finding(
            "in the largest set what covers a pattern takes longer to find than what it covers",
            containing > contained,
            f"{containing:.3g} and {contained:.3g} ms",
        )
    )
    return findings


FEW: Final = "What a search takes at least weighs more, the fewer patterns there are to compare."
"""The reason why pairs may be less slow."""


def _swept(swept: Mapping[str, Sequence[Row]]) -> list[Finding]:
    """The findings on figures 6.14 and 6.15."""

    def growth(name: str) -> list[float]:
        first, *_, last = swept[name]
        return [number(last[f"{mode}_ms"]) / number(first[f"{mode}_ms"]) for mode in MODES]

    def shown(ratios: Sequence[float]) -> str:
        pairs = zip(MODES.values(), ratios, strict=True)
        return ", ".join(f"{told}: {ratio:.2f} times" for told, ratio in pairs)

    more_below, more_wild = growth("descendant"), growth("wildcard")
    return [
        Finding(
            "more // has opposite effects on the two searches",
            min(more_below) < 1 < max(more_below),
            shown(more_below),
        ),
        Finding("fewer * make both faster", min(more_wild) > 1, shown(more_wild)),
    ]


def _agreeing(rows: Sequence[Row]) -> Finding:
    wrong = sum(row["verdict"] == WRONG for row in rows)
    return Finding("searches find what pairs do", not wrong, f"{wrong} of {len(rows)} sets differ")


def _charts(grown: Sequence[Row], swept: Mapping[str, Sequence[Row]]) -> tuple[Chart, ...]:
    def lines(rows: Sequence[Row], x: str, y: str) -> Lines:
        return {told: line(rows, x, f"{mode}_{y}") for mode, told in MODES.items()}

    published = {
        told: [(size, pair[at]) for size, pair in PUBLISHED_MS.items()]
        for at, told in enumerate(MODES.values())
    }
    nodes = [(size, share) for size, share in PUBLISHED_SHARES.items()]
    return (
        Chart(
            "search", "A search (6.12, table 6.7)", "patterns", "milliseconds",
            lines(grown, "patterns", "ms"), published=published,
        ),
        Chart(
            "linear", "Pair by pair, in times of a search (6.13)", "patterns", "times",
            lines(grown, "patterns", "linear_times"),
        ),
        Chart(
            "nodes", "Nodes of the tree (table 6.8)", "patterns", "share of the patterns' nodes",
            {"tree": line(grown, "patterns", "share")}, published={"tree": nodes},
        ),
        *(
            Chart(
                name, f"A search by the share of {step} (6.14, 6.15)", f"share of {step}",
                "milliseconds", lines(swept[name], name, "ms"), linear_x=True, linear_y=True,
            )
            for name, step in (("descendant", "//"), ("wildcard", "*"))
        ),
    )  # fmt: skip
