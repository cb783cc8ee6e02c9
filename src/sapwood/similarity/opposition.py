"""The children that an element cannot have together, by its content model (8.3.1, L2968-2993).

Two names are *opposed* below an element iff no valid one has both; a name is opposed to itself iff
none has two. One recursion over the model finds the pairs that can occur together; all others are
opposed. The work calls opposition transitive (L2989), which it is not: in `((a, x) | (b, y))` a
opposes b and b opposes x, while a and x come together. So pairs are kept, and groups of elements
are cliques of them. Elements of which there are no finite documents, and all that would need one,
count as absent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations

from sapwood.xml.dtd import ChoiceParticle, ContentKind, Dtd, NameParticle, Particle
from sapwood.xml.dtd.content import is_possible

Pairs = frozenset[tuple[str, str]]
"""Pairs in both orders; a name with itself: it can repeat."""


class Opposition:
    """The oppositions of a DTD, computed element by element on demand."""

    __slots__ = ("_together", "dtd")

    def __init__(self, dtd: Dtd) -> None:
        self.dtd = dtd
        self._together: dict[str, Pairs] = {}

    def opposed(self, parent: str, one: str, other: str) -> bool:
        """True if no valid `parent` has both children (for one name: two of it).

        Never where the parent may have any content; always for what cannot be its child at all.
        """
        declared = {element.name: element for element in self.dtd.elements}.get(parent)
        if declared is None or declared.kind is ContentKind.ANY:
            return False
        pairs = self._together.get(parent)
        if pairs is None:
            model = declared.model
            known = self.dtd.heights
            pairs = frozenset() if model is None else together(model, known)[1]
            self._together[parent] = pairs
        return (one, other) not in pairs


def together(particle: Particle, known: Collection[str]) -> tuple[frozenset[str], Pairs]:
    """The names that occur in content of this model, and the pairs of them that occur together.

    Only elements of `known` can be completed.
    """
    names, pairs = _once(particle, known)
    if particle.occurs.may_repeat:
        pairs = frozenset((one, other) for one in names for other in names)
    return names, pairs


def _once(particle: Particle, known: Collection[str]) -> tuple[frozenset[str], Pairs]:
    if isinstance(particle, NameParticle):
        return frozenset({particle.name} & set(known)), frozenset()
    is_choice = isinstance(particle, ChoiceParticle)
    if not is_choice and not all(is_possible(part, known) for part in particle.parts):
        return frozenset(), frozenset()
    parts = [together(part, known) for part in particle.parts]
    names = frozenset[str]().union(*(one for one, _ in parts))
    pairs = set[tuple[str, str]]().union(*(some for _, some in parts))
    if not is_choice:
        pairs.update(_across([one for one, _ in parts]))
    return names, frozenset(pairs)


def _across(parts: list[frozenset[str]]) -> Iterator[tuple[str, str]]:
    for left, right in combinations(parts, 2):
        for one in left:
            for other in right:
                yield one, other
                yield other, one
