"""Routing tables of XPEs (XPE dissemination: figures 1.16, 1.17 and 1.19, table 1.1).

Sets A and B: distinct XPEs of up to 10 steps of which 90 and 50 % are covered by others. A table
holds the whole set; what covering leaves of it; and that merged within a degree D of imperfection,
from 0 (perfect) upwards. A publication is, as in the work, one root-to-leaf path of a document; its
cost is the processor time to evaluate every XPE of the table. A *false positive* is a path that the
table accepts and the set does not: it crosses a link, but no client gets it, since delivery goes by
the clients' own XPEs.

Of figures 1.16 and 1.17 only shares are published; the text has 87 and 67 % for merging and does
not name the set. Both sets of the work have 100,000 XPEs. To make set B (`with_covering_rate`)
takes time that grows with the square of its size, so sets are smaller here, unless sizes are given.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final

from sapwood.covering.merging import PathUniverse, PatternMerger
from sapwood.covering.merging.records import Candidate
from sapwood.covering.xsearch import XSearchIndex
from sapwood.matching.index import Index
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood.xml.dtd import Dtd
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.paths import dtd_named, path_publications
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    falls,
    is_within,
    line,
    number,
    table,
)
from sapwood_lab.workload.documents import PatternShape, documents, with_covering_rate

RATES: Final = (0.9, 0.5)
"""The covering rates of sets A and B."""
SIZES: Final = (3_000, 10_000)

WORKLOAD: Final = "news"
SEED: Final = 2008
SHAPE: Final = PatternShape(descendant=0.2, wildcard=0.2)
DEGREES: Final = (0.0, 0.05, 0.1, 0.15, 0.2)
IMPERFECT: Final = 0.1
"""The degree of "imperfect merging" in the work."""

DOCUMENTS: Final = 50
"""Documents whose paths are published; the work had 500, with 23,098 paths."""
FEW: Final = (
    "Of so few XPEs hardly any siblings are left for the next way of merging, which then changes "
    "nothing that could be told from noise."
)
"""The reason why a step of the order may be missing."""
PUBLISHED_XPES: Final = 100_000
NEEDED: Final = f"{PUBLISHED_XPES:,} XPEs"

TIMED_PATHS: Final = 100
"""Of these paths, with how many a publication's cost is measured."""

FALSE_POSITIVES_MAX_PCT: Final = 2.0
"""The bound that holds for a degree below 0.1 (L484)."""

ALL: Final = "all"
COVERING: Final = "covering"
PERFECT: Final = "perfect"

PUBLISHED_SHARES: Final[Mapping[str, float]] = MappingProxyType(
    {PERFECT: 0.87, f"D = {IMPERFECT:g}": 0.67}
)
"""The share that merging leaves of the table that covering has left (L432)."""

PUBLISHED_MS: Final[Mapping[tuple[float, str], float]] = MappingProxyType(
    {
        (0.9, ALL): 13.96,
        (0.9, COVERING): 2.15,
        (0.9, PERFECT): 1.87,
        (0.9, f"D = {IMPERFECT:g}"): 1.27,
        (0.5, ALL): 14.23,
        (0.5, COVERING): 7.47,
        (0.5, PERFECT): 6.88,
        (0.5, f"D = {IMPERFECT:g}"): 6.38,
    }
)
"""Table 1.1: milliseconds a publication, by covering rate and table."""

HOLDS: Final = "holds"
LOST: Final = "LOST"
"""The verdict where a table refuses a path that the set accepts."""

COLUMNS: Final = (
    *("covering_rate", "xpes", "table", "size", "share", "published_share"),
    *("path_ms", "path_pct", "published_path_pct", "published_ms"),
    *("false_positives_pct", "verdict"),
)
TIMED: Final = frozenset({"path_ms", "path_pct"})


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each set."""
    return [
        {
            "covering_rate": rate,
            "xpes": size,
            "workload": choices.source or WORKLOAD,
            "seed": choices.seed,
        }
        for rate in RATES
        for size in choices.sizes or SIZES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The tables of a set of `xpes` with a `covering_rate`; a row a table."""
    return measure_tables(
        dtd_named(configuration["workload"]),
        configuration["xpes"],
        configuration["covering_rate"],
        SEED + configuration["seed"],
    )


def measure_tables(dtd: Dtd, size: int, rate: float, seed: int = SEED) -> list[Row]:
    """As `measure`, of any DTD. Raises `InvalidValueError` where it has too few XPEs for that."""
    drawn = with_covering_rate(documents(dtd, SHAPE), size, rate, seed)
    xpes = [one.filter for one in drawn if isinstance(one.filter, TreePattern)]
    paths = list(path_publications(documents(dtd).publications(DOCUMENTS, seed)))
    wanted = _accepted(xpes, paths)
    first_ms = 0.0
    rows: list[Row] = []
    for name, held in tables(PathUniverse(dtd.paths), xpes).items():
        accepted = _accepted(held, paths)
        path_ms = _path_ms(held, paths[:TIMED_PATHS])
        first_ms = first_ms or path_ms
        rows.append(
            {
                "table": name,
                "size": len(held),
                "share": round(len(held) / size, 4),
                "path_ms": round(path_ms, 3),
                "path_pct": round(100 * path_ms / first_ms, 1),
                "false_positives_pct": round(
                    100 * len(accepted - wanted) / max(1, len(accepted)), 2
                ),
                "verdict": HOLDS if wanted <= accepted else LOST,
            }
        )
    return rows


def tables(universe: PathUniverse, xpes: list[TreePattern]) -> Mapping[str, list[TreePattern]]:
    """The set, what covering leaves of it, and that merged by each degree."""
    kept = maximal(xpes)
    merged = {
        f"D = {degree:g}" if degree else PERFECT: maximal(_merged(kept, universe, degree))
        for degree in DEGREES
    }
    return {ALL: xpes, COVERING: kept, **merged}


def maximal(xpes: Sequence[TreePattern]) -> list[TreePattern]:
    """The XPEs that no other covers; of several that cover each other the last."""
    index = XSearchIndex()
    for key, pattern in enumerate(xpes):
        index.add(key, pattern)
    for key, pattern in enumerate(xpes):
        index.remove(key)
        if not index.cov(pattern, 1):
            index.add(key, pattern)
    return [pattern for pattern in xpes if not index.cov(pattern, 1)]


def with_published(rows: Sequence[Row]) -> list[Row]:
    """The rows with the published figures beside the measured ones."""
    found: list[Row] = []
    for row in rows:
        rate, name = row["covering_rate"], row["table"]
        assert isinstance(rate, float)
        assert isinstance(name, str)
        ms, whole = PUBLISHED_MS.get((rate, name)), PUBLISHED_MS.get((rate, ALL))
        left = {ALL: 1.0, COVERING: 1 - rate}.get(name)
        if name in PUBLISHED_SHARES:
            left = (1 - rate) * PUBLISHED_SHARES[name]
        found.append(
            {
                **row,
                "published_share": None if left is None else round(left, 4),
                "published_ms": ms,
                "published_path_pct": round(100 * ms / whole, 1) if ms and whole else None,
            }
        )
    return found


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The tables of all sets, beside table 1.1 and the shares of the text."""
    rows = with_published(rows)
    return Report(
        title="Routing tables by covering and merging (XPE, figures 1.16, 1.17, 1.19, table 1.1)",
        settings={
            "workload": choices.source or WORKLOAD,
            "seed": choices.seed,
            "documents": DOCUMENTS,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that covering leaves of set A a tenth and of set B half, that merging leaves less and "
            "imperfect merging still less, and that a publication's cost falls in the same order; "
            "false positives grow with D and stay within 2 % up to 0.1. The DTD is another; "
            "milliseconds are of other machines."
        ),
        charts=_charts(rows),
        findings=tuple(one for chosen in _sets(rows) for one in _findings(chosen)),
        timed=TIMED,
    )


DESIGN: Final = Design(configurations, measure, report, Choices((500,)))


def _merged(
    xpes: Sequence[TreePattern], universe: PathUniverse, degree: float
) -> list[TreePattern]:
    told = {str(key): Candidate(pattern, (pattern,)) for key, pattern in enumerate(xpes)}
    groups = PatternMerger(universe, degree).groups(told)
    gone = {key for group in groups for key in group.keys}
    mergers = [one.interest for one in groups if isinstance(one.interest, TreePattern)]
    return [*mergers, *(pattern for key, pattern in enumerate(xpes) if str(key) not in gone)]


def _accepted(held: Sequence[TreePattern], paths: Sequence[Publication]) -> frozenset[str]:
    """The ids of the paths that some XPE accepts."""
    index = Index()
    for at, pattern in enumerate(held):
        index.add(str(at), pattern)
    return frozenset(one.id for one in paths if index.match_any(one))


def _path_ms(held: Sequence[TreePattern], paths: Sequence[Publication]) -> float:
    """The mean milliseconds to evaluate every XPE on a path."""
    read = [one for one in (path.read_document() for path in paths) if one is not None]
    begin = time.process_time()
    for document in read:
        for pattern in held:
            pattern.accepts(document)
    return 1000 * (time.process_time() - begin) / len(read)


def _sets(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each set."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault((row["covering_rate"], row["xpes"]), []).append(row)
    return list(found.values())


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    named = {str(row["table"]): row for row in rows}
    about = f"{named[ALL]['xpes']:,} XPEs, {named[ALL]['covering_rate']:.0%} covered"
    compared = (ALL, COVERING, PERFECT, f"D = {IMPERFECT:g}")

    def values(column: str) -> dict[str, float]:
        return {name: number(named[name][column]) for name in compared}

    lost = [name for name, row in named.items() if row["verdict"] != HOLDS]
    needs = NEEDED if number(named[ALL]["xpes"]) < PUBLISHED_XPES else ""
    return (
        falls(f"{about}: tables in the published order", values("size"), FEW, needs),
        falls(
            f"{about}: costs of a publication in the published order",
            values("path_ms"),
            FEW,
            needs,
        ),
        is_within(
            f"{about}: false positives with D = {IMPERFECT:g}, in percent",
            number(named[f"D = {IMPERFECT:g}"]["false_positives_pct"]),
            FALSE_POSITIVES_MAX_PCT,
        ),
        Finding(
            f"{about}: no table loses a publication",
            not lost,
            ", ".join(lost) or f"{len(named)} tables",
        ),
    )


def _charts(rows: Sequence[Row]) -> tuple[Chart, ...]:
    sizes: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        name = f"{row['table']}, {row['covering_rate']:.0%}"
        sizes.setdefault(name, []).extend(line([row], "xpes", "size"))
    chosen = [name for name in sizes if name.split(",")[0] in (ALL, COVERING, PERFECT, "D = 0.1")]
    by_degree = {
        f"{one[0]['xpes']:,} XPEs, {one[0]['covering_rate']:.0%} covered": [
            (degree, number(row["false_positives_pct"]))
            for degree, row in zip(DEGREES, islice(one, 2, None), strict=True)
        ]
        for one in _sets(rows)
    }
    return (
        Chart("sizes", "Routing tables", "XPEs", "entries", {name: sizes[name] for name in chosen}),
        Chart(
            "false-positives",
            "False positives of mergers",
            "degree of imperfection",
            "percent of what the table accepts",
            by_degree,
            linear_x=True,
            linear_y=True,
        ),
    )
