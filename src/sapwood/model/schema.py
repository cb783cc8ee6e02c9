"""Schemas of records of a kind: their attributes, and the values that each may have.

Records need no schema. Where one is declared, a filter can be held against it: an attribute that
no record has, or a value of another type, is a mistake that would otherwise show by silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import ABSENT, PRESENT, Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import ALL_NUMBERS, NO_NUMBERS
from sapwood.model.printing import print_constraint
from sapwood.model.strings import ALL_STRINGS, NO_STRINGS

ANY_BOOLEAN: Final = Constraint(booleans=PRESENT.booleans)
ANY_NUMBER: Final = Constraint(numbers=ALL_NUMBERS)
ANY_TEXT: Final = Constraint(strings=ALL_STRINGS)

_SHOWN_CHARS_MAX: Final = 120
"""A condition that is longer is not repeated."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The records of one kind, which has a name.

    `attributes` are flat names with the values that each may have; its constraint has `absent` if a
    record may lack it. Below the `open_names` there may be any attribute with any value: an object
    whose members are not known.
    """

    name: str
    attributes: Mapping[str, Constraint]
    open_names: frozenset[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def doubts(self, filter: Filter) -> tuple[str, ...]:
        """The doubts about a filter, each a sentence, without repetition.

        One for each attribute that no record of this kind has, and for each condition that requires
        a type, or values, that its attribute never has. No doubts does not mean that records match.
        """
        found: dict[str, None] = {}
        for one in filter.conjunctions:
            for attribute, constraint in one.constraints:
                for doubt in self._doubts(attribute, constraint):
                    found[doubt] = None
        return tuple(found)

    def misses(self, conjunction: Conjunction) -> tuple[int, int]:
        """The number of constraints of a conjunction that no record of this kind meets.

        The second number counts those of them whose attribute does not exist. With 0 a record may
        match.
        """
        misses = lacking = 0
        for attribute, constraint in conjunction.constraints:
            known = self.attributes.get(attribute)
            if known is not None:
                misses += known.intersect(constraint).is_empty
            elif not constraint.absent and not self._is_open(attribute):
                misses, lacking = misses + 1, lacking + 1
        return misses, lacking

    def objections(self, conjunction: Conjunction) -> Iterator[str]:
        """The reasons why no record of this kind meets a conjunction: a sentence for each miss."""
        for attribute, constraint in conjunction.constraints:
            known = self.attributes.get(attribute, ABSENT)
            if known.intersect(constraint).is_empty:
                yield from self._doubts(attribute, constraint)

    def _is_open(self, attribute: str) -> bool:
        if not self.open_names:
            return False
        parts = attribute.split(".")
        return any(".".join(parts[:end]) in self.open_names for end in range(len(parts) + 1))

    def _doubts(self, attribute: str, constraint: Constraint) -> Iterator[str]:
        known = self.attributes.get(attribute)
        if known is None:
            if not self._is_open(attribute):
                near = get_close_matches(attribute, self.attributes, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield f"{self.name} has no attribute {attribute!r}{hint}"
            return
        alien = _kinds(_beyond(constraint, known))
        if alien:
            yield (
                f"attribute {attribute!r} of {self.name} is {_kinds(known) or 'never there'}, "
                f"and is compared with {alien}"
            )
        elif known.intersect(constraint).is_empty:
            asked = print_constraint(attribute, constraint)
            said = asked if len(asked) <= _SHOWN_CHARS_MAX else f"the condition on {attribute!r}"
            yield f"no {self.name} meets {said}: it may have {_told(attribute, known)}"


def _beyond(constraint: Constraint, known: Constraint) -> Constraint:
    """The accepted values of types that an attribute never has.

    All values of a type are no comparison with it: `exists a` accepts all of every type.
    """
    return Constraint(
        booleans=constraint.booleans
        if not known.booleans and len(constraint.booleans) == 1
        else frozenset(),
        numbers=constraint.numbers
        if not known.numbers and constraint.numbers != ALL_NUMBERS
        else NO_NUMBERS,
        strings=constraint.strings
        if not known.strings.ranges and constraint.strings != ALL_STRINGS
        else NO_STRINGS,
    )


def _kinds(constraint: Constraint) -> str:
    """The types of the values in a constraint, in words; empty where there are none."""
    there = (
        (bool(constraint.booleans), "a boolean"),
        (bool(constraint.numbers), "a number"),
        (bool(constraint.strings.ranges), "a text"),
    )
    return " or ".join(word for is_there, word in there if is_there)


def _told(attribute: str, known: Constraint) -> str:
    if replace(known, absent=False).points():
        printed = print_constraint(attribute, known)
        if len(printed) <= _SHOWN_CHARS_MAX:
            return printed
    kinds = _kinds(known)
    return f"{kinds}, or not be there" if known.absent else f"{kinds}, and is always there"
