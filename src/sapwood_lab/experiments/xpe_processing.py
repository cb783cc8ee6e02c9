"""The time of a router to process an XPE (XPE dissemination, figure 1.18).

Without covering, each XPE is matched with all advertisements, to see to which neighbors it goes.
With covering, it is first put into the subscription tree, which searches once for a cover of it; it
is matched with the advertisements only if there is none. The tree puts its super pointers off, as
the work has it; `eager` is one that adds them at once. 5,000 distinct XPEs come one by one; a point
is the mean processor time of 500. Those that name fewer than two elements are left out
(`particular.py`), and then nearly as many are covered in the end as in the work.

`news` has the part of NITF, with its many advertisements, `proteins` that of PSD.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Final

from sapwood.matching.published.subscription_tree import SubscriptionTree
from sapwood.model.patterns.advertisements import advertisement_of, advertisements_of
from sapwood.xml.dtd import Dtd
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.particular import particular_patterns
from sapwood_lab.experiments.paths import dtd_named
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, table

SIZES: Final = (5_000,)
WORKLOADS: Final = ("news", "proteins")
SEARCHED: Final = (
    "A few dozen advertisements are matched faster than a tree of some thousand XPEs is searched."
)
"""The reason why covering may save no time over a small DTD."""

LINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "without covering": "without_ms",
        "with covering": "with_ms",
        "with covering, pointers at once": "eager_ms",
    }
)
"""The curves of each workload, and their columns."""

POINT: Final = 500
"""XPEs whose mean makes a point."""

PUBLISHED_ADVERTISEMENTS: Final = 35
"""The advertisements of NITF as a multiple of those of PSD (L440)."""

PUBLISHED_SAVED_PCT: Final[Mapping[str, float]] = MappingProxyType({"news": 49.2})
"""The most that covering saves on NITF, in percent."""
PUBLISHED_COVERED_PCT: Final[Mapping[str, float]] = MappingProxyType({"proteins": 90.0})
"""The share of the XPEs over PSD that are covered."""

TIMED: Final = ("without_ms", "with_ms", "saved_pct", "eager_ms", "eager_saved_pct")
COLUMNS: Final = (
    *("workload", "advertisements", "xpes", "until", "covered_pct", *TIMED),
    *("published_covered_pct", "published_saved_pct"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each DTD and number of XPEs."""
    return [
        {"workload": name, "xpes": size, "seed": choices.seed}
        for name in ((choices.source,) if choices.source else WORKLOADS)
        for size in choices.sizes or SIZES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Times of `xpes` over a `workload` drawn with a `seed`; a row a point."""
    dtd, size = dtd_named(configuration["workload"]), configuration["xpes"]
    advertisements = advertisements_of(dtd.paths)
    tree, eager = SubscriptionTree(is_lazy=True), SubscriptionTree()
    covered: list[bool] = []
    matched_s: list[float] = []
    searched_s: list[float] = []
    eagerly_s: list[float] = []
    for key, pattern in enumerate(particular_patterns(dtd, size, configuration["seed"])):
        begin = time.process_time()
        covered.append(tree.add(key, pattern))
        middle = time.process_time()
        for one in advertisements:
            one.intersects(pattern)
        end = time.process_time()
        eager.add(key, pattern)
        searched_s.append(middle - begin)
        matched_s.append(end - middle)
        eagerly_s.append(time.process_time() - end)
    rows: list[Row] = []
    for start in range(0, size, POINT):
        until = min(start + POINT, size)
        without = fmean(matched_s[start:until])
        needed = (0.0 if covered[at] else matched_s[at] for at in range(start, until))
        to_match = sum(needed) / (until - start)
        with_covering = fmean(searched_s[start:until]) + to_match
        at_once = fmean(eagerly_s[start:until]) + to_match
        rows.append(
            {
                "advertisements": len(advertisements),
                "until": until,
                "covered_pct": round(100 * sum(covered[:until]) / until, 1),
                "without_ms": round(1000 * without, 3),
                "with_ms": round(1000 * with_covering, 3),
                "saved_pct": round(100 * (1 - with_covering / without), 1),
                "eager_ms": round(1000 * at_once, 3),
                "eager_saved_pct": round(100 * (1 - at_once / without), 1),
            }
        )
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The points of the figure, beside the statements of the text."""
    rows = [{**row, **_published(row)} for row in rows]
    lines = {
        f"{name}, {told}": line(chosen, "until", column)
        for name, chosen in _by_workload(rows).items()
        for told, column in LINES.items()
    }
    return Report(
        title="Processing time of an XPE (XPE dissemination, figure 1.18)",
        settings={"seed": choices.seed, "point": POINT},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that looking for a cover costs less than it saves, the more so the more XPEs are "
            "covered and the more advertisements there are; milliseconds are of other machines."
        ),
        charts=(
            Chart(
                "times",
                "Processing of an XPE",
                "XPEs so far",
                "milliseconds",
                lines,
                linear_x=True,
            ),
        ),
        findings=_findings(rows),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((500,)))


def advertised(dtd: Dtd) -> dict[str, str | int | float]:
    """The advertisements of a DTD's publisher, beside those of a DTD without recursion."""
    small, many = dtd_named("proteins"), len(advertisements_of(dtd.paths))
    return {
        "dtd": dtd.root,
        "advertisements": many,
        "times_proteins": many / len(advertisements_of(small.paths)),
        "published_times": PUBLISHED_ADVERTISEMENTS,
        "steps": len(advertisement_of(dtd.paths).automaton.names),
    }


def _published(row: Row) -> Row:
    name = str(row["workload"])
    return {
        "published_covered_pct": PUBLISHED_COVERED_PCT.get(name),
        "published_saved_pct": PUBLISHED_SAVED_PCT.get(name),
    }


def _by_workload(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(str(row["workload"]), []).append(row)
    return found


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    most: dict[str, float] = {}
    findings: list[Finding] = []
    for name, chosen in _by_workload(rows).items():
        saved = [value for _, value in line(chosen, "until", "saved_pct")]
        most[name] = max(saved)
        shown = f"{min(saved):,.4g} to {max(saved):,.4g} % saved"
        findings.append(
            Finding(f"{name}: covering saves time at every point", min(saved) > 0, shown, SEARCHED)
        )
    if set(WORKLOADS) <= most.keys():
        shown = ", ".join(f"{name} {value:,.4g} %" for name, value in most.items())
        more = most["news"] > most["proteins"]
        findings.append(Finding("it saves more where there are more advertisements", more, shown))
    return tuple(findings)
