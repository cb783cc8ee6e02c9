"""Explanations of a filter's verdict on a record: the predicates that fail, and the values.

A filter accepts every record that one of its conjunctions accepts. So a record that it refuses
fails at least one predicate in each of them, and all of those are named. The conjunction that comes
closest is first: that with the fewest predicates that fail, and among those that with most that
hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.printing import print_attribute, print_constraint, print_value
from sapwood.model.publication import Publication, Record, Value, Values

SHOWN_CHARS_MAX: Final = 80
"""Of a longer text in a publication the beginning is shown: an explanation is read by people."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A predicate that does not hold, in the language of its filter, and the value found instead.

    `place` is the place in a document where it was evaluated; `None` for records.
    """

    predicate: str
    found: str
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a filter can be met, as text, and all that failed on it.

    Of a record filter that is a conjunction; of an XPath, the whole pattern.
    """

    text: str
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to "does the publication match, and why?".

    If it does, `ways` holds the one that was met, without failures, and `note` names the array
    elements that met it. If it does not, each way has failures; there are no ways where none was
    tried, and `note` gives the reason.
    """

    matches: bool
    ways: tuple[Way, ...] = ()
    note: str | None = None


def failing(conjunction: Conjunction, record: Record) -> tuple[tuple[str, Constraint], ...]:
    """The constraints that a flat record does not satisfy, by attribute."""
    return tuple(
        (name, constraint)
        for name, constraint in conjunction.constraints
        if not constraint.accepts(record.get(name))
    )


def explained(filter: Filter, publication: Publication) -> Explanation:
    """The reason why the filter accepts the publication's record, or refuses it.

    The verdict equals that of `Filter.matches` for every publication.
    """
    if publication.attributes is None:
        note = "the publication has no record, and the filter asks for attributes"
        return Explanation(matches=False, note=note)
    ways: list[tuple[int, int, Way]] = []
    for one in filter.conjunctions:
        failed = failing(one, publication.record)
        if not failed:
            met = _elements_met(one, publication.record)
            return Explanation(matches=True, ways=(Way(str(one), ()),), note=met)
        failures = tuple(
            Failure(print_constraint(name, constraint), _found(publication, name, constraint))
            for name, constraint in failed
        )
        ways.append((len(failed), -len(one.constraints), Way(str(one), failures)))
    closest_first = sorted(ways, key=lambda way: way[:2])
    return Explanation(matches=False, ways=tuple(way for _, _, way in closest_first))


def _elements_met(conjunction: Conjunction, record: Record) -> str | None:
    """The element of each array that meets the constraint on it, where there are several."""
    met: list[str] = []
    for name, constraint in conjunction.constraints:
        values: Value | Values | None = record.get(name)
        if isinstance(values, tuple):
            first = next(value for value in values if constraint.accepts(value))
            shown = shortened(print_value(first))
            met.append(f"{print_attribute(name)} by {shown}, one of {len(values)} elements")
    return f"met in {', in '.join(met)}" if met else None


def shortened(shown: str) -> str:
    """A text as it is shown, not too long."""
    return shown if len(shown) <= SHOWN_CHARS_MAX else f"{shown[: SHOWN_CHARS_MAX - 3]}..."


def _found(publication: Publication, name: str, constraint: Constraint) -> str:
    """The description of what the record has in place of the value that the constraint requires."""
    value: Value | Values | None = publication.record.get(name)
    if value is None:
        assert publication.attributes is not None, "only records are asked"
        return _unseen(_carried(publication.attributes, name))
    if isinstance(value, tuple):
        return _none_of(value, constraint)
    kind, asked = _kind(value), _kinds(constraint)
    shown = shortened(print_value(value))
    if not asked:
        return f"{shown}: it must be absent"
    if kind in asked:
        return shown
    return f"{shown}, {_ONE[kind]}: only {' or '.join(asked)} can satisfy this"


def _none_of(values: Values, constraint: Constraint) -> str:
    """The description of an attribute with several values, none of which is accepted."""
    asked = _kinds(constraint)
    shown = shortened(", ".join(map(print_value, values)))
    if not asked:
        return f"{shown}: it must be absent"
    if any(_kind(value) in asked for value in values):
        return f"none of {len(values)} elements: {shown}"
    return f"none of {len(values)} elements: {shown}: only {' or '.join(asked)} can satisfy this"


_ONE: Final[Mapping[str, str]] = MappingProxyType(
    {"booleans": "a boolean", "numbers": "a number", "texts": "a text"}
)


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "booleans"
    return "texts" if isinstance(value, str) else "numbers"


def _kinds(constraint: Constraint) -> tuple[str, ...]:
    """The types of which the constraint accepts a value."""
    each = (constraint.booleans, constraint.numbers, constraint.strings.ranges)
    return tuple(kind for kind, members in zip(_ONE, each, strict=True) if members)


def _unseen(carried: object) -> str:
    """The reason why filters see no value in an attribute that carries this object."""
    if isinstance(carried, list | tuple):
        return "an array without an element that filters see"
    if isinstance(carried, Mapping):
        return "an object: filters see its members, by dotted names"
    return "absent"


def _carried(attributes: Mapping[str, Any], name: str) -> object:
    """The member of a record under a dotted name, visible to filters or not; `None` for none."""
    if attributes.get(name) is not None:
        return attributes[name]
    for key, inner in attributes.items():
        if isinstance(inner, Mapping) and name.startswith(f"{key}."):
            found = _carried(inner, name[len(key) + 1 :])
            if found is not None:
                return found
    return None
