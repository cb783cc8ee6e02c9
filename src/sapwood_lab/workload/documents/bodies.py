"""Valid documents from a DTD (XNet, table 6.2, which took IBM's XML generator for it).

Content is drawn from the content models, and only what can still be completed within the levels
that are left; where the tags have run out, no more than the model demands. So every document is
valid, whatever the DTD and the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final
from xml.sax.saxutils import quoteattr

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.xml.dtd import (
    AttributeType,
    ChoiceParticle,
    ContentKind,
    Dtd,
    ElementType,
    NameParticle,
    Occurs,
    Particle,
    Presence,
    SequenceParticle,
)
from sapwood.xml.dtd.content import least_height
from sapwood_lab.workload.documents.draws import Skew, check_chances, scalar_random, value_of

_UNMAKABLE: Final = frozenset({"idref", "idrefs", "entity", "entities"})
"""Attributes that point to something; left out where they may be."""

_TEXT: Final = 0.5
"""The chance of a text at each place of mixed content."""


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """The shape of documents.

    At most `levels` (L) of elements; about `tags` (T) elements, more only where the content models
    demand it; up to `repeats` (r) of what may repeat; `optional` the chance of what may be absent,
    elements and attributes; `skew` (theta_D) the Zipf exponent of choices and repetitions.

    Raises `InvalidValueError` for anything else.
    """

    levels: int = 10
    tags: int = 58
    repeats: int = 3
    optional: float = 0.5
    skew: float = 0.0

    def __post_init__(self) -> None:
        check_chances(self, "optional")
        for name in ("levels", "tags", "repeats"):
            if getattr(self, name) < 1:
                raise InvalidValueError(name, "must be at least 1")
        Skew(self.skew)


def draw_documents(
    dtd: Dtd, shape: DocumentShape, random: np.random.Generator, count: int
) -> Sequence[bytes]:
    """A draw of `count` documents, in UTF-8.

    Raises `InvalidValueError` if no valid document has as few levels, and for a required attribute
    that would have to point to something (`IDREF`, `ENTITY`) or has an undeclared prefix.
    """
    if dtd.heights[dtd.root] > shape.levels:
        least = dtd.heights[dtd.root]
        raise InvalidValueError("levels", f"a valid document has {least} at least")
    for element in dtd.elements:
        for attribute in element.attributes:
            if attribute.presence is Presence.REQUIRED and not _can_be_made(attribute):
                raise InvalidValueError(
                    attribute.name, f"{element.name} requires it, and its values cannot be made up"
                )
    body = _Body(dtd, shape, scalar_random(random))
    return [body.document() for _ in range(count)]


def _can_be_made(attribute: AttributeType) -> bool:
    prefix, _, local = attribute.name.rpartition(":")
    return attribute.kind not in _UNMAKABLE and prefix in ("", "xml") and local != "xmlns"


@dataclass(frozen=True, slots=True)
class _Part:
    """A particle, with the height of its lowest content as if it had to be there once."""

    particle: Particle
    height: float
    parts: tuple[_Part, ...] = ()

    @property
    def least(self) -> float:
        """The height of its lowest content."""
        return 0 if self.particle.occurs.may_be_absent else self.height


def _part(particle: Particle, heights: Mapping[str, int]) -> _Part:
    once = least_height(replace(particle, occurs=Occurs.ONCE), heights)
    parts = () if isinstance(particle, NameParticle) else particle.parts
    return _Part(particle, once, tuple(_part(one, heights) for one in parts))


@dataclass(slots=True)
class _Body:
    """Draws one document after the other."""

    dtd: Dtd
    shape: DocumentShape
    random: Random
    skew: Skew = field(init=False)
    values: Skew = field(init=False)
    #: content models with heights, for exactly the elements with children
    models: Mapping[str, _Part] = field(init=False)
    #: elements begun in all documents
    made: int = field(init=False, default=0)
    #: IDs given out in the present document
    ids: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.skew = Skew(self.shape.skew)
        self.values = Skew(1.0)
        heights = self.dtd.heights
        anything = ChoiceParticle(tuple(map(NameParticle, heights)), Occurs.REPEATED)
        models = {
            one.name: anything if one.kind is ContentKind.ANY else one.model
            for one in self.dtd.elements
        }
        self.models = {
            name: _part(model, heights) for name, model in models.items() if model is not None
        }

    def document(self) -> bytes:
        self.ids = 0
        return "".join(self.element(self.dtd.root, self.shape.levels, self.shape.tags)).encode()

    def element(self, name: str, levels: int, tags: int) -> Iterator[str]:
        """An element with its content, within `levels` levels and, if it can be, `tags` tags."""
        self.made += 1
        element = self.dtd.element(name)
        start = f"<{name}{''.join(self.attributes(element))}"
        inside = [*self.content(element, levels - 1, tags - 1)]
        yield f"{start}/>" if not inside else f"{start}>"
        yield from inside
        if inside:
            yield f"</{name}>"

    def content(self, element: ElementType, levels: int, tags: int) -> Iterator[str]:
        """Children and texts; the tags are shared out evenly among the children."""
        model = self.models.get(element.name)
        names = [] if model is None else list(self.fill(model, levels, tags))
        for at, name in enumerate(names):
            if element.holds_text:
                yield from self.text()
            before = self.made
            yield from self.element(name, levels, tags // (len(names) - at))
            tags -= self.made - before
        if element.holds_text:
            yield from self.text()

    def text(self) -> Iterator[str]:
        if self.random.random() < _TEXT:
            yield value_of(self.random, self.values)

    def fill(self, part: _Part, levels: int, room: int) -> Iterator[str]:
        """Names that follow the model; those that may be absent only while there is room."""
        for _ in range(self.repetitions(part, levels, room)):
            names: Iterator[str] = iter(())
            match part.particle:
                case NameParticle(name=name):
                    names = iter((name,))
                case SequenceParticle():
                    names = self.sequence(part.parts, levels, room)
                case ChoiceParticle():
                    fitting = [one for one in part.parts if one.least <= levels]
                    names = self.fill(self.chosen(fitting, room), levels, room)
            for name in names:
                room -= 1
                yield name

    def sequence(self, parts: Sequence[_Part], levels: int, room: int) -> Iterator[str]:
        for part in parts:
            for name in self.fill(part, levels, room):
                room -= 1
                yield name

    def chosen(self, parts: Sequence[_Part], room: int) -> _Part:
        """One of the alternatives; without room the lowest."""
        if room <= 0:
            return min(parts, key=lambda part: part.least)
        return self.skew.choose(self.random, parts)

    def repetitions(self, part: _Part, levels: int, room: int) -> int:
        occurs = part.particle.occurs
        if occurs.may_be_absent:
            absent = self.random.random() >= self.shape.optional
            if absent or part.height > levels or room <= 0:
                return 0
        if not occurs.may_repeat or room <= 0:
            return 1
        return 1 + self.skew.rank(self.random, min(self.shape.repeats, room))

    def attributes(self, element: ElementType) -> Iterator[str]:
        for one in element.attributes:
            if not _can_be_made(one):
                continue
            is_there = self.random.random() < self.shape.optional
            if one.presence is Presence.REQUIRED or is_there:
                yield f" {one.name}={quoteattr(self.attribute_value(one))}"

    def attribute_value(self, attribute: AttributeType) -> str:
        if attribute.kind == "id":
            self.ids += 1
            return f"i{self.ids}"
        return value_of(self.random, self.values, attribute)
