"""A document as what a streaming parser reports, in its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.xml import Document


@dataclass(frozen=True, slots=True)
class Start:
    """An element begins."""

    element: int
    name: str
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Characters:
    """A text node of the innermost open element."""

    text: str


@dataclass(frozen=True, slots=True)
class End:
    """The innermost open element ends."""

    element: int


Event: TypeAlias = Start | Characters | End


def events(document: Document) -> Iterator[Event]:
    """What a streaming parser reports of a document; of its structure, if that is all there is."""
    content = document.content
    texts = () if content is None else content.texts
    reported = 0
    open_elements: list[int] = []

    def texts_up_to(end: int) -> Iterator[Characters]:
        nonlocal reported
        for at in range(reported, end):
            yield Characters(texts[at])
        reported = max(reported, end)

    def ended() -> Iterator[Event]:
        element = open_elements.pop()
        if content is not None:
            yield from texts_up_to(content.last_texts[element])
        yield End(element)

    for element, (name, parent) in enumerate(zip(document.names, document.parents, strict=True)):
        while open_elements and open_elements[-1] != parent:
            yield from ended()
        if content is not None:
            yield from texts_up_to(content.first_texts[element])
        attributes = () if content is None else tuple(document.attributes(element))
        yield Start(element, name, attributes)
        open_elements.append(element)
    while open_elements:
        yield from ended()
