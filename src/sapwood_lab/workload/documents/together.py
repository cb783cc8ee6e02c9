"""The children that an element of a DTD can have at once, which make branches possible."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from sapwood.xml.dtd import ChoiceParticle, ContentKind, Dtd, NameParticle, Particle
from sapwood.xml.dtd.content import is_possible

Names = tuple[str, ...]
"""Names of children, sorted; a name that is there twice means two of them."""


def can_have(dtd: Dtd, element: str, children: Names) -> bool:
    """True if some valid element has all these children, each by itself, whatever else it has."""
    declared = dtd.element(element)
    if declared.kind is ContentKind.ANY:
        return True
    model = declared.model
    return not children if model is None else _holds(model, children, dtd.heights)


def _holds(particle: Particle, children: Names, known: Collection[str]) -> bool:
    """True if content of this model can have all these children."""
    if not children:
        return is_possible(particle, known)
    if particle.occurs.may_repeat:
        # Each may come from a turn of its own.
        return all(_holds_once(particle, (name,), known) for name in children)
    return _holds_once(particle, children, known)


def _holds_once(particle: Particle, children: Names, known: Collection[str]) -> bool:
    if isinstance(particle, NameParticle):
        return children == (particle.name,) and particle.name in known
    if isinstance(particle, ChoiceParticle):
        return any(_holds(part, children, known) for part in particle.parts)
    left = {children}
    for part in particle.parts:
        left = {
            rest for wanted in left for given, rest in _splits(wanted) if _holds(part, given, known)
        }
    return () in left


def _splits(children: Names) -> set[tuple[Names, Names]]:
    """All ways to give some children to one part, and leave the rest to those after it."""
    places = range(len(children))
    chosen = (set(some) for size in range(len(children) + 1) for some in combinations(places, size))
    return {
        (
            tuple(children[at] for at in places if at in some),
            tuple(children[at] for at in places if at not in some),
        )
        for some in chosen
    }
