"""The subscription tree (XPE dissemination, figure 1.11 and section 1.5.1).

XPEs come one by one into a tree, with the printed shortcuts, with those that are used here, and
with none; with super pointers added at once, or put off ("lazy"), as the work would have it. Then
publications go down the tree, each a root-to-leaf path of a document: what refuses a path passes
over all that it covers. `comparisons` are pairs of XPEs that an insertion compares in the mean,
`asked_pct` the share of the XPEs that are evaluated on a path, `withdrawn` how often an XPE that
nothing covered was covered by a newcomer, which routing unsubscribes. A tree that searches by the
work's procedures (`procedures`) misses some covers.

The work prints no figures of it, but that an insertion takes O(n) at worst and O(log n) at best,
and that the shortcuts and the pointers that are put off reduce the search. XPEs are those over a
DTD that name two elements; over NITF as well where the folder that `SAPWOOD_DATA` names has it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from sapwood.covering.published.procedure_index import PROCEDURES
from sapwood.matching.published.subscription_tree import (
    EXACT,
    NONE,
    OWN,
    PRINTED,
    Relation,
    Shortcuts,
    SubscriptionTree,
)
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.document import Document
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.particular import particular_patterns
from sapwood_lab.experiments.paths import dtd_named, nitf_missing, path_publications, with_nitf
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    falls,
    line,
    number,
    table,
)
from sapwood_lab.workload.documents import documents

SIZES: Final = (500, 1_000, 2_000)
WORKLOADS: Final = ("news", "proteins")
PATHS: Final = 100
"""Publications that go down a tree."""

LAZY: Final = "lazy"
EAGER: Final = "eager"

HOLDS: Final = "holds"
WRONG: Final = "WRONG"
"""The verdict where a tree finds other XPEs for a path than evaluating every one does."""

TIMED: Final = frozenset({"add_us", "path_ms", "path_pct"})
COLUMNS: Final = (
    *("workload", "xpes", "relation", "shortcuts", "pointers", "comparisons", "add_us"),
    *("top", "withdrawn", "asked_pct", "path_ms", "path_pct", "verdict"),
)


_Sets: TypeAlias = dict[tuple[str, int], dict[tuple[str, ...], Row]]
"""Rows by workload and number of XPEs, and by relation, shortcuts and pointers."""


class Variant(NamedTuple):
    """A variant of the tree."""

    relation: Relation
    shortcuts: Shortcuts
    is_lazy: bool


VARIANTS: Final[Mapping[tuple[str, str, str], Variant]] = MappingProxyType(
    {
        **{
            ("exact", name, pointers): Variant(EXACT, shortcuts, pointers == LAZY)
            for name, shortcuts in (("none", NONE), ("printed", PRINTED), ("own", OWN))
            for pointers in (EAGER, LAZY)
        },
        ("procedures", "printed", LAZY): Variant(PROCEDURES, PRINTED, is_lazy=True),
    }
)
"""The trees, by relation, shortcuts and pointers."""


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each DTD and number of XPEs."""
    sources = (choices.source,) if choices.source else with_nitf(WORKLOADS)
    return [
        {"workload": name, "xpes": size, "seed": choices.seed}
        for name in sources
        for size in choices.sizes or SIZES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Trees of `xpes` over a `workload` drawn with a `seed`; a row a tree."""
    dtd, seed = dtd_named(configuration["workload"]), configuration["seed"]
    xpes = particular_patterns(dtd, configuration["xpes"], seed)
    published = path_publications(documents(dtd).publications(PATHS, seed))
    read = (one.read_document() for one in islice(published, PATHS))
    return measure_trees(xpes, [one for one in read if one is not None])


def measure_trees(xpes: Sequence[TreePattern], paths: Sequence[Document]) -> list[Row]:
    """Each tree of XPEs, and what happens to paths in it."""
    begin = time.process_time()
    wanted = [{key for key, one in enumerate(xpes) if one.accepts(path)} for path in paths]
    all_ms = 1000 * (time.process_time() - begin) / len(paths)
    return [
        {
            "relation": relation,
            "shortcuts": shortcuts,
            "pointers": pointers,
            **_measured(variant, xpes, paths, wanted, all_ms),
        }
        for (relation, shortcuts, pointers), variant in VARIANTS.items()
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The costs of trees, beside the work's statements on them."""
    settings: dict[str, str | int | float | None] = {"seed": choices.seed, "paths": PATHS}
    missing = nitf_missing()
    if choices.source is None and missing is not None:
        settings["nitf"] = f"left out: {missing}"
    return Report(
        title="The subscription tree (XPE dissemination, figure 1.11 and section 1.5.1)",
        settings=settings,
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that shortcuts and pointers that are put off spare comparisons, that the same is "
            "unsubscribed either way, and that an insertion looks at a part of the tree; the work "
            "has no figures of its own here."
        ),
        charts=_charts(rows),
        findings=_findings(rows),
        timed=TIMED,
    )


DESIGN: Final = Design(configurations, measure, report, Choices((200, 400)))


def _measured(
    variant: Variant,
    xpes: Sequence[TreePattern],
    paths: Sequence[Document],
    wanted: Sequence[set[int]],
    all_ms: float,
) -> Row:
    tree = SubscriptionTree(variant.relation, variant.shortcuts, is_lazy=variant.is_lazy)
    withdrawn = 0
    begin = time.process_time()
    for key, pattern in enumerate(xpes):
        if not tree.add(key, pattern):
            withdrawn += len(tree.supplant(key, pattern))
    middle = time.process_time()
    found = [tree.match(path) for path in paths]
    path_ms = 1000 * (time.process_time() - middle) / len(paths)
    return {
        "comparisons": round(tree.comparisons / len(xpes), 1),
        "add_us": round(1e6 * (middle - begin) / len(xpes), 1),
        "top": len(tree.maximal()),
        "withdrawn": withdrawn,
        "asked_pct": round(100 * tree.asked / (len(paths) * len(xpes)), 1),
        "path_ms": round(path_ms, 3),
        "path_pct": round(100 * path_ms / all_ms, 1),
        "verdict": HOLDS if found == list(wanted) else WRONG,
    }


def _sets(rows: Sequence[Row]) -> _Sets:
    """The rows of each set."""
    found: _Sets = {}
    for row in rows:
        named = tuple(str(row[name]) for name in ("relation", "shortcuts", "pointers"))
        chosen = str(row["workload"]), int(number(row["xpes"]))
        found.setdefault(chosen, {})[named] = row
    return found


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    sets = _sets(rows)
    for (workload, xpes), found in sets.items():
        about = f"{workload}, {xpes:,} XPEs"
        exact = {names[1:]: row for names, row in found.items() if names[0] == "exact"}
        compared = {names: number(row["comparisons"]) for names, row in exact.items()}
        findings.append(
            falls(
                f"{about}: the printed shortcuts spare comparisons, pointers put off more",
                {
                    "none": compared["none", EAGER],
                    "printed": compared["printed", EAGER],
                    "put off": compared["printed", LAZY],
                },
            )
        )
        withdrawn = {int(number(row["withdrawn"])) for row in exact.values()}
        findings.append(
            Finding(
                f"{about}: the same is unsubscribed however pointers are kept",
                len(withdrawn) == 1,
                " or ".join(f"{one:,}" for one in sorted(withdrawn)),
            )
        )
        wrong = [", ".join(names) for names, row in found.items() if row["verdict"] != HOLDS]
        shown = "; ".join(wrong) or f"{len(found)} trees"
        findings.append(
            Finding(f"{about}: paths find what asking every XPE finds", not wrong, shown)
        )
    return (*findings, *(_growth(name, sets) for name in dict.fromkeys(n for n, _ in sets)))


def _growth(workload: str, sets: _Sets) -> Finding:
    """The finding whether comparisons grow less than the set, from smallest to largest."""
    sizes = sorted(size for name, size in sets if name == workload)
    first, last = (
        number(sets[workload, size]["exact", "printed", LAZY]["comparisons"])
        for size in (sizes[0], sizes[-1])
    )
    times = sizes[-1] / sizes[0]
    return Finding(
        f"{workload}: comparisons of an insertion grow less than the set",
        times == 1 or last / first < times,
        f"{first:,.4g} to {last:,.4g} while the set grows {times:,.4g} times",
        "The top of the tree, whose nodes are siblings, grows with the set.",
    )


def _charts(rows: Sequence[Row]) -> tuple[Chart, ...]:
    compared: dict[str, list[tuple[float, float]]] = {}
    asked: dict[str, list[tuple[float, float]]] = {}
    first = str(rows[0]["workload"])
    for (workload, _), found in _sets(rows).items():
        for (relation, shortcuts, pointers), row in found.items():
            if workload == first and relation == "exact":
                name = f"shortcuts: {shortcuts}, {pointers}"
                compared.setdefault(name, []).extend(line([row], "xpes", "comparisons"))
            if (relation, shortcuts) == ("exact", "own"):
                name = f"{workload}, {pointers}"
                asked.setdefault(name, []).extend(line([row], "xpes", "asked_pct"))
    return (
        Chart("comparisons", f"Insertion ({first})", "XPEs", "pairs compared", compared),
        Chart(
            "asked",
            "Publications in the tree",
            "XPEs",
            "percent asked",
            asked,
            linear_x=True,
            linear_y=True,
        ),
    )
