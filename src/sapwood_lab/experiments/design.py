"""The design of an experiment: its configurations, the measurement of one, the report of all.

What is measured of one configuration depends on nothing else, so configurations can be measured
one after the other here, or each in a task of its own elsewhere (`on_spark.py`): the report is the
same, but for what is `timed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sapwood_lab.experiments.report import Report, Row

Configuration: TypeAlias = Mapping[str, Any]
"""Parameters by name: texts and numbers, which have a JSON form."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of an experiment; `None` stands for the value of the work.

    `sizes` are numbers of subscriptions (of operations or routers, where an experiment has those);
    `source` names a workload. `repeats` is the number of measurements, where the work states one.
    """

    sizes: tuple[int, ...] | None = None
    seed: int = 1
    source: str | None = None
    repeats: int | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """An experiment as three functions.

    `measure` gives one row or more for a configuration; no name is in both. It stands at the top
    of its module, so that others find it by name (`task`). `report` makes the report of all rows,
    each with the names of its configuration; it is given at least one. `quick` is chosen where all
    experiments have twenty minutes together.
    """

    configurations: Callable[[Choices], Sequence[Configuration]]
    measure: Callable[[Configuration], Sequence[Row]]
    report: Callable[[Choices, Sequence[Row]], Report]
    quick: Choices = Choices()

    @property
    def task(self) -> str:
        """The name of `measure`, `module:function`."""
        return f"{self.measure.__module__}:{self.measure.__qualname__}"

    def assemble(self, choices: Choices, found: Sequence[Sequence[Row]]) -> Report:
        """The report of what was measured of each of the configurations, in their order."""
        each = zip(self.configurations(choices), found, strict=True)
        rows = [{**given, **row} for given, measured in each for row in measured]
        return self.report(choices, rows)


def run(
    design: Design, choices: Choices, advance: Callable[[int], None] = lambda _: None
) -> Report:
    """Carry out an experiment in this process; `advance` is called for every configuration.

    Raises `UnknownNameError` for a workload that does not exist.
    """
    found: list[Sequence[Row]] = []
    for configuration in design.configurations(choices):
        found.append(design.measure(configuration))
        advance(1)
    return design.assemble(choices, found)
