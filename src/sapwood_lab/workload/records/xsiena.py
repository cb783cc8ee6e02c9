"""XSiena's generator of filters and events (Jerzak, *XSiena*, section 9.1, table 9.1).

Every quantity of the table has its own range and law. The numbers of filters and of events are
drawn as well (`XSiena.counts`). As in the work, no filter contradicts itself and there are neither
ranges nor `!=`: a filter has at most one predicate an attribute. Names come from numbered words
instead of an English word list. How the work maps a normal or Pareto draw to a name or a value is
not printed; `Spread` defines it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.model.constraint import Constraint, above, below, equal_to
from sapwood.model.filter import Filter
from sapwood.model.publication import Value
from sapwood_lab.workload.records.draws import Spread, distinct_of
from sapwood_lab.workload.records.neutral import box
from sapwood_lab.workload.records.source import Workload

OPERATORS: Final[Mapping[str, Callable[[int], Constraint]]] = MappingProxyType(
    {
        "=": equal_to,
        "<": partial(below, inclusive=False),
        "<=": partial(below, inclusive=True),
        ">": partial(above, inclusive=False),
        ">=": partial(above, inclusive=True),
    }
)

_FILTERS: Final = Spread(10_000, 10_000)
_EVENTS: Final = Spread(1_000, 1_000)
_TWO_TO_FIVE: Final = Spread(2, 5)
_NAMES: Final = Spread(0, 19_999, "pareto")
_VALUES: Final = Spread(0, 200_000, "normal")


@dataclass(frozen=True, slots=True)
class XSiena:
    """The parameters of table 9.1; the defaults are those of figures 9.14 and 9.15.

    Raises `InvalidValueError` for an operator that is not in `OPERATORS`, and for more predicates
    or pairs than there are names.
    """

    filters: Spread = _FILTERS
    events: Spread = _EVENTS
    predicates: Spread = _TWO_TO_FIVE
    pairs: Spread = _TWO_TO_FIVE
    names: Spread = _NAMES
    filter_values: Spread = _VALUES
    event_values: Spread = _VALUES
    operators: tuple[str, ...] = tuple(OPERATORS)
    operator_law: Spread | None = None
    """Places in `operators` under a law; uniform where `None`."""

    def __post_init__(self) -> None:
        unknown = [operator for operator in self.operators if operator not in OPERATORS]
        if unknown or not self.operators:
            raise InvalidValueError("operators", f"{unknown} are not among {list(OPERATORS)}")
        if max(self.predicates.high, self.pairs.high) > self.names.count:
            raise InvalidValueError("names", f"there are only {self.names.count} names")

    def counts(self, seed: int) -> tuple[int, int]:
        """The numbers of filters and of events."""
        random = np.random.default_rng((seed, 0))
        return int(self.filters.draw(random, 1)[0]), int(self.events.draw(random, 1)[0])

    def workload(self, name: str = "xsiena") -> Workload:
        """The filters and events as a workload."""
        summary = (
            f"{self.predicates.low} to {self.predicates.high} comparisons out of "
            f"{self.names.count:,} attributes ({self.names.law}; Jerzak, table 9.1)"
        )
        return Workload(name, summary, partial(_filters, self), partial(_records, self))


def _filters(parameters: XSiena, random: np.random.Generator, count: int) -> Sequence[Filter]:
    sizes = parameters.predicates.draw(random, count).tolist()
    names = distinct_of(parameters.names, random, sizes)
    total = sum(sizes)
    law = parameters.operator_law or Spread(0, len(parameters.operators) - 1)
    operators = iter(law.draw(random, total).tolist())
    values = iter(parameters.filter_values.draw(random, total).tolist())
    return [
        Filter(
            (
                box(
                    {
                        _name(name): OPERATORS[parameters.operators[next(operators)]](next(values))
                        for name in chosen.tolist()
                    }
                ),
            )
        )
        for chosen in names
    ]


def _records(
    parameters: XSiena, random: np.random.Generator, count: int
) -> Sequence[dict[str, Value]]:
    sizes = parameters.pairs.draw(random, count).tolist()
    names = distinct_of(parameters.names, random, sizes)
    values = iter(parameters.event_values.draw(random, sum(sizes)).tolist())
    return [{_name(name): next(values) for name in chosen.tolist()} for chosen in names]


def _name(number: int) -> str:
    return f"w{number:06d}"
