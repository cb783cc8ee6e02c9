"""`strategies.py` as an experiment of configurations, with the published orders checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sapwood_lab.experiments import strategies
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Finding, Report, Row, falls, number, table
from sapwood_lab.experiments.strategies import PUBLISHED, STRATEGIES

DELAYED: Final = ("no-Adv-no-Cov", "no-Adv-with-Cov", "with-Adv-with-CovPM", "with-Adv-with-CovIPM")
"""In the order of their delays; the other two are published within a percent of the first two."""

TIMED: Final = frozenset({"match_ms"})

CLOSE: Final = (
    "Strategies that merge, perfectly or not, are within a few percent of each other here: which "
    "is first there turns with the seed and the number of XPEs."
)
"""The reason why an order may not be the published one."""


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each number of XPEs: strategies are compared with each other."""
    source = choices.source or strategies.WORKLOAD
    sizes = choices.sizes or strategies.SIZES
    return [{"xpes": size, "workload": source, "seed": choices.seed} for size in sizes]


def measure(configuration: Configuration) -> list[Row]:
    """All strategies on all trees with `xpes` over a `workload` drawn with a `seed`."""
    found = strategies.run(
        (configuration["xpes"],), seed=configuration["seed"], source=configuration["workload"]
    )
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return [{name: cell for name, cell in row.items() if name != "xpes"} for row in rows]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Tables 1.2 and 1.3, beside the published ones."""
    source = choices.source or strategies.WORKLOAD
    whole = strategies.report_of(table(strategies.COLUMNS, rows), choices.seed, source)
    return replace(whole, findings=_findings(rows), timed=TIMED)


DESIGN: Final = Design(configurations, measure, report, Choices((100,)))


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """Of each tree and number of XPEs, whether messages and delays are in the published order."""
    trees: dict[tuple[int, str], dict[str, Row]] = {}
    for row in rows:
        routers = row["routers"]
        assert isinstance(routers, int)
        trees.setdefault((routers, f"{row['xpes']:,} XPEs"), {})[str(row["strategy"])] = row
    findings: list[Finding] = []
    for (routers, size), found in trees.items():
        about = f"{routers} routers, {size}"
        published = {name: PUBLISHED[routers, name] for name in STRATEGIES if _is_published(name)}
        by_messages = sorted(published, key=lambda name: -published[name][0])
        messages = {name: number(found[name]["messages"]) for name in by_messages}
        delays = {name: number(found[name]["delay_xpes"]) for name in DELAYED}
        findings.append(falls(f"{about}: messages in the published order", messages, CLOSE))
        findings.append(falls(f"{about}: delays in the published order", delays, CLOSE))
    return tuple(findings)


def _is_published(strategy: str) -> bool:
    return any(name == strategy for _, name in PUBLISHED)
