"""Workloads of observed records: they are published, and subscribed to by their own values.

A publication is one of the records, drawn uniformly, so that a few hundred show all kinds of them.
A subscription is made around one record, drawn likewise: some of its attributes, each constrained
to what the record has there and something more. So every subscription has a match, and what is
frequent among the values is frequent among the subscriptions.

=======  ===========================================================================================
value    constraint
=======  ===========================================================================================
text     equality (6 of 10); a list of up to three texts of the attribute (2); what begins like the
         text, up to its last character (2)
number   a range (7 of 10) that holds up to a tenth of the records to each side; an end at the value
         itself, above or below (2); equality (1)
boolean  equality
=======  ===========================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.model.constraint import Constraint, above, below, equal_to, one_of
from sapwood.model.filter import Filter
from sapwood.model.publication import Value
from sapwood.model.strings import between, prefix_end
from sapwood_lab.workload.records.draws import Floats
from sapwood_lab.workload.records.neutral import box, interval
from sapwood_lab.workload.records.source import Workload

PREDICATES_MIN: Final = 3
PREDICATES_MAX: Final = 5
"""Constraints of a subscription, uniform; fewer where the record has fewer attributes."""

REACH: Final = 0.1
"""The share of an attribute's numbers that a range may hold on each side of the record's."""

_TEXT_SHARES: Final = (0.6, 0.8)
_NUMBER_SHARES: Final = (0.7, 0.9)
_LISTED: Final = 3

_Draw: TypeAlias = Sequence[float]
"""Three numbers in [0, 1): the kind of a constraint, and two for how wide it is."""

Values: TypeAlias = Floats | tuple[str, ...]
"""The numbers of one attribute ascending, each as often as it occurs; or its different texts."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Flat records, and by attribute what numbers and what texts they have there."""

    records: tuple[dict[str, Value], ...]
    numbers: Mapping[str, Floats]
    texts: Mapping[str, tuple[str, ...]]


def observed(name: str, summary: str, records: Sequence[dict[str, Value]]) -> Workload:
    """The workload of some flat records.

    Raises `InvalidValueError` if there is none, or one without attributes: no subscription could
    be made around it.
    """
    if not all(records) or not records:
        raise InvalidValueError("records", f"{name} needs records, each with an attribute")
    numbers: dict[str, list[float]] = {}
    texts: dict[str, dict[str, None]] = {}
    for record in records:
        for attribute, value in record.items():
            if isinstance(value, str):
                texts.setdefault(attribute, {})[value] = None
            elif not isinstance(value, bool):
                numbers.setdefault(attribute, []).append(value)
    seen = Observed(
        tuple(records),
        {attribute: np.sort(np.array(found, np.float64)) for attribute, found in numbers.items()},
        {attribute: tuple(sorted(found)) for attribute, found in texts.items()},
    )
    return Workload(name, summary, partial(_filters, seen), partial(_records, seen))


def _records(seen: Observed, random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    return [seen.records[place] for place in random.integers(len(seen.records), size=count)]


def _filters(seen: Observed, random: np.random.Generator, count: int) -> Sequence[Filter]:
    places = random.integers(len(seen.records), size=count).tolist()
    sizes = random.integers(PREDICATES_MIN, PREDICATES_MAX, size=count, endpoint=True).tolist()
    draws = random.random((count, PREDICATES_MAX, 4)).tolist()
    return [
        _filter(seen, seen.records[place], own[:size])
        for place, size, own in zip(places, sizes, draws, strict=True)
    ]


def _filter(seen: Observed, record: Mapping[str, Value], draws: Sequence[_Draw]) -> Filter:
    """A conjunction of as many constraints as there are draws; the first number of each chooses."""
    left = list(record)
    constraints: dict[str, Constraint] = {}
    for choice, *draw in draws[: len(left)]:
        attribute = left.pop(int(choice * len(left)))
        constraints[attribute] = _constraint(seen, attribute, record[attribute], draw)
    return Filter((box(constraints),))


def _constraint(seen: Observed, attribute: str, value: Value, draw: _Draw) -> Constraint:
    if isinstance(value, bool):
        return equal_to(value)
    if isinstance(value, str):
        return _text(seen.texts[attribute], value, draw)
    return _number(seen.numbers[attribute], value, draw)


def _text(texts: Sequence[str], value: str, draw: _Draw) -> Constraint:
    kind, *others = draw
    equal, listed = _TEXT_SHARES
    if kind < equal:
        return equal_to(value)
    if kind < listed:
        return one_of((value, *(texts[int(other * len(texts))] for other in others)))
    prefix = value[:-1]
    if not prefix:
        return equal_to(value)
    return Constraint(strings=between(prefix, prefix_end(prefix)))


def _number(numbers: Floats, value: float, draw: _Draw) -> Constraint:
    kind, first, second = draw
    ranged, ended = _NUMBER_SHARES
    if kind < ranged:
        place, reach = int(np.searchsorted(numbers, value)), REACH * len(numbers)
        low = numbers[max(0, place - int(first * reach))]
        high = numbers[min(len(numbers) - 1, place + int(second * reach))]
        # The value itself may be a whole number that no float holds.
        return interval(min(value, float(low)), max(value, float(high)))
    if kind < ended:
        end = above if first < 0.5 else below
        return end(value, inclusive=True)
    return equal_to(value)
