"""Content models and attributes of elements, as values (XML 1.0, section 3).

Three properties of content models are computed here, each by one recursion over the model: whether
content may be empty (`may_be_empty`), the height of the lowest content (`least_height`), and the
children it may have in a document that ends (`occurring`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

ENDLESS: Final = float("inf")
"""The height of content that no document can have, because it would never end."""


class Occurs(Enum):
    """The number of times that a part of a content model may occur."""

    ONCE = ""
    OPTIONAL = "?"
    REPEATED = "*"
    AT_LEAST_ONCE = "+"

    @property
    def may_be_absent(self) -> bool:
        """True if the part may be absent."""
        return self in (Occurs.OPTIONAL, Occurs.REPEATED)

    @property
    def may_repeat(self) -> bool:
        """True if the part may occur more than once."""
        return self in (Occurs.REPEATED, Occurs.AT_LEAST_ONCE)


@dataclass(frozen=True, slots=True)
class NameParticle:
    """An element of this name."""

    name: str
    occurs: Occurs = Occurs.ONCE


@dataclass(frozen=True, slots=True)
class SequenceParticle:
    """All parts in this order: `(a, b)`."""

    parts: tuple[Particle, ...]
    occurs: Occurs = Occurs.ONCE


@dataclass(frozen=True, slots=True)
class ChoiceParticle:
    """One of the parts: `(a | b)`."""

    parts: tuple[Particle, ...]
    occurs: Occurs = Occurs.ONCE


Particle: TypeAlias = NameParticle | SequenceParticle | ChoiceParticle


class ContentKind(Enum):
    """The kind of content of an element."""

    EMPTY = "EMPTY"
    ANY = "ANY"
    MIXED = "mixed"
    ELEMENTS = "elements"


class Presence(Enum):
    """The rule of an attribute's presence: required, or its value if it is absent."""

    REQUIRED = "#REQUIRED"
    IMPLIED = "#IMPLIED"
    FIXED = "#FIXED"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class AttributeType:
    """A declared attribute: `kind` is its type (`cdata`, `id`, `nmtoken`, `enumeration`, ...).

    `value` is the fixed value or the default, `choices` the values of an enumeration or notation.
    """

    name: str
    kind: str
    presence: Presence
    value: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementType:
    """A declared element. `model` has the possible children: for mixed content a repeated choice.

    It is `None` for contents without a model: `EMPTY`, `ANY` and `(#PCDATA)`.
    """

    name: str
    kind: ContentKind
    model: Particle | None = None
    attributes: tuple[AttributeType, ...] = ()

    @property
    def may_end(self) -> bool:
        """True if an element may be without children, so that a path ends there."""
        return self.model is None or may_be_empty(self.model)

    @property
    def holds_text(self) -> bool:
        """True if an element may hold text."""
        return self.kind in (ContentKind.MIXED, ContentKind.ANY)


def may_be_empty(particle: Particle) -> bool:
    """True if content without any element follows the model."""
    if particle.occurs.may_be_absent:
        return True
    match particle:
        case NameParticle():
            return False
        case SequenceParticle(parts=parts):
            return all(may_be_empty(part) for part in parts)
        case ChoiceParticle(parts=parts):
            return any(may_be_empty(part) for part in parts)


def least_height(particle: Particle, heights: Mapping[str, int]) -> float:
    """Levels of elements in the lowest content that follows the model; `ENDLESS` if there is none.

    `heights` are those of the elements that can be completed: 1 for one that may end.
    """
    if particle.occurs.may_be_absent:
        return 0
    match particle:
        case NameParticle(name=name):
            return heights.get(name, ENDLESS)
        case SequenceParticle(parts=parts):
            return max(least_height(part, heights) for part in parts)
        case ChoiceParticle(parts=parts):
            return min(least_height(part, heights) for part in parts)


def least_heights(elements: Collection[ElementType]) -> dict[str, int]:
    """The levels of the lowest valid element of each type; types of endless ones are left out.

    A child that is not declared has no valid document (XML 1.0, section 3), and is endless too.
    """
    heights: dict[str, int] = {}
    level = 1
    waiting = list(elements)
    while waiting:
        # An element is as high as its lowest content and one more, so levels are found in order.
        lower = level - 1
        found = [
            one.name
            for one in waiting
            if one.model is None or least_height(one.model, heights) <= lower
        ]
        if not found:
            break
        heights.update(dict.fromkeys(found, level))
        waiting = [one for one in waiting if one.name not in heights]
        level += 1
    return heights


def occurring(particle: Particle, known: Collection[str]) -> Iterator[str]:
    """Names that occur in content that follows the model and has elements of `known` only.

    In the order of the model; a name may come several times.
    """
    match particle:
        case NameParticle(name=name):
            if name in known:
                yield name
        case ChoiceParticle(parts=parts):
            for part in parts:
                yield from occurring(part, known)
        case SequenceParticle(parts=parts):
            if all(is_possible(part, known) for part in parts):
                for part in parts:
                    yield from occurring(part, known)


def is_possible(particle: Particle, known: Collection[str]) -> bool:
    """True if some content of elements of `known` only follows the model."""
    if particle.occurs.may_be_absent:
        return True
    match particle:
        case NameParticle(name=name):
            return name in known
        case SequenceParticle(parts=parts):
            return all(is_possible(part, known) for part in parts)
        case ChoiceParticle(parts=parts):
            return any(is_possible(part, known) for part in parts)
