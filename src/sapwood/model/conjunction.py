"""Conjunctions: one constraint for each attribute that matters, all of which must hold.

Geometrically a conjunction is a box: the product of one value set per attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from sapwood.model.constraint import ANYTHING, Constraint
from sapwood.model.printing import print_constraint
from sapwood.model.publication import Record


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A record is accepted iff each attribute's constraint accepts its value (or its absence).

    Of an attribute with several values one has to be accepted, for each attribute by itself.

    `constraints` is sorted by attribute name and holds neither an empty nor a total constraint;
    `()` accepts every record.
    """

    constraints: tuple[tuple[str, Constraint], ...] = ()
    #: the text, once printed: normal forms are sorted by it, again and again
    _text: str | None = field(default=None, init=False, compare=False, repr=False)

    def __reduce__(self) -> tuple[type[Conjunction], tuple[tuple[tuple[str, Constraint], ...]]]:
        """Copies leave the text behind."""
        return Conjunction, (self.constraints,)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The constrained attributes, sorted."""
        return tuple(attribute for attribute, _ in self.constraints)

    def constraint(self, attribute: str) -> Constraint:
        """The constraint on an attribute; every value, where there is none."""
        for name, constraint in self.constraints:
            if name == attribute:
                return constraint
        return ANYTHING

    def accepts(self, record: Record) -> bool:
        """True if the flat record satisfies all constraints."""
        # No generator: small sets of filters are tried one by one, and making one takes longer.
        for name, constraint in self.constraints:  # noqa: SIM110
            if not constraint.accepts(record.get(name)):
                return False
        return True

    def takes(self, record: Record) -> bool:
        """True if all values of all constrained attributes are accepted, not only one of each."""
        return all(constraint.takes(record.get(name)) for name, constraint in self.constraints)

    def covers(self, other: Conjunction) -> bool:
        """True if every record that `other` accepts is accepted here.

        Complete for constraints without general `like` patterns (Shen 1.3, definition 4): a
        constraint here on an attribute that `other` leaves free covers nothing.
        """
        others = iter(other.constraints)
        for name, constraint in self.constraints:
            for other_name, theirs in others:
                if other_name == name and constraint.covers(theirs):
                    break
                if other_name >= name:
                    return False
            else:
                return False
        return True

    def intersects(self, other: Conjunction) -> bool:
        """True if some record may be accepted by both with the same values; see `intersect`."""
        others = dict(other.constraints)
        return not any(
            name in others and constraint.intersect(others[name]).is_empty
            for name, constraint in self.constraints
        )

    def intersect(self, other: Conjunction) -> Conjunction | None:
        """The intersection of both, or `None` if that is surely empty."""
        merged = dict(self.constraints)
        for name, constraint in other.constraints:
            own = merged.get(name)
            both = constraint if own is None else own.intersect(constraint)
            if both.is_empty:
                return None
            merged[name] = both
        return Conjunction(tuple(sorted(merged.items(), key=_name)))

    def without(self, attribute: str) -> Conjunction:
        """The box with the attribute left free."""
        return Conjunction(tuple(item for item in self.constraints if item[0] != attribute))

    def with_constraint(self, attribute: str, constraint: Constraint) -> Conjunction:
        """The box with another constraint, which must be satisfiable, on one attribute."""
        rest = self.without(attribute)
        if constraint.is_total:
            return rest
        return Conjunction(tuple(sorted((*rest.constraints, (attribute, constraint)), key=_name)))

    @property
    def patterns(self) -> int:
        """The largest number of general patterns on one attribute."""
        return max((constraint.patterns for _, constraint in self.constraints), default=0)

    @property
    def weight(self) -> int:
        """The rough cost of an operation on this conjunction, in comparisons of two values."""
        return sum(constraint.weight for _, constraint in self.constraints)

    @property
    def extent(self) -> tuple[object, ...]:
        """A key that is no greater than that of any conjunction covered by this one.

        The number of constraints, the attribute of each, and the extent of each.
        """
        extents = (constraint.extent for _, constraint in self.constraints)
        return len(self.constraints), *self.attributes, *chain.from_iterable(extents)

    def __str__(self) -> str:
        """The text of the conjunction in the filter language."""
        text = self._text
        if text is None:
            text = " and ".join(print_constraint(*side) for side in self.constraints) or "true"
            object.__setattr__(self, "_text", text)
        return text


EVERY_RECORD: Final = Conjunction()


def conjunction(constraints: Iterable[tuple[str, Constraint]]) -> Conjunction | None:
    """The conjunction of one constraint per attribute, or `None` if it can accept nothing."""
    kept: list[tuple[str, Constraint]] = []
    for name, constraint in constraints:
        if constraint.is_empty:
            return None
        if not constraint.is_total:
            kept.append((name, constraint))
    return Conjunction(tuple(sorted(kept, key=_name)))


def _name(item: tuple[str, Constraint]) -> str:
    return item[0]
