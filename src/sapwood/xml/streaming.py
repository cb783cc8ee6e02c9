"""A document as a stream: reported to a listener while it is read, and never kept.

The memory holds the part of the bytes that is being read, the open elements and one text node; so a
document may be any number of times larger than the memory for reading it. It is refused for the
same reasons as by `read_document`, some of them only after the listener has been called for the
content before the error.

`replay` calls a listener for a document that was read before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from lxml import etree

from sapwood.errors import DocumentError
from sapwood.xml.bounds import DEFAULT_BOUNDS, DocumentBounds
from sapwood.xml.document import Document
from sapwood.xml.inspection import inspected
from sapwood.xml.parsing import parser, reason, refusal

PART_BYTES: Final = 32_768
"""Bytes that the parser gets at a time. It keeps them, and one call for each part costs a
microsecond."""


class Listener(Protocol):
    """The receiver of a document's content, in document order."""

    def start(self, name: str, attributes: Iterable[tuple[str, str]]) -> None:
        """Handle the begin of an element: name, `local` or `{namespace}local`, and attributes."""

    def text(self, text: str) -> None:
        """Handle a whole text node of the innermost open element; never empty."""

    def end(self) -> None:
        """Handle the end of the innermost open element."""


def stream_document(
    data: bytes,
    listener: Listener,
    bounds: DocumentBounds = DEFAULT_BOUNDS,
    *,
    content: bool = True,
) -> None:
    """Call a listener for the document in `data`; without `content`, for its elements alone.

    Raises what `read_document` raises, possibly in the middle of the document: the listener's state
    is then to be thrown away. Errors of the listener are raised unchanged.
    """
    encoded = inspected(data, bounds)
    target = (_Telling if content else _TellingOfElements)(listener, bounds)
    # Without resolving, libxml2 reports `&` in an attribute as the reference that it was.
    # References that are not predefined it refuses either way, since none was declared.
    reading = parser(encoded.encoding, bounds, resolve_entities="internal", target=target)
    try:
        for start in range(0, max(1, len(encoded.data)), PART_BYTES):
            reading.feed(encoded.data[start : start + PART_BYTES])
            # When the parser builds no tree, it only logs prefixes that are not bound.
            for noted in reading.feed_error_log.filter_from_errors():
                raise DocumentError(noted.line, noted.column, reason(noted.message))
        reading.close()
    except etree.XMLSyntaxError as error:
        raise refusal(error, bounds) from None


class _TellingOfElements:
    """The target that lxml calls; lxml leaves out events for which it has no method."""

    def __init__(self, listener: Listener, bounds: DocumentBounds) -> None:
        self.listener = listener
        self.bounds = bounds
        self.depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:  # noqa: ARG002 - lxml calls so
        self.deeper()
        self.listener.start(name, ())

    def end(self, name: str) -> None:  # noqa: ARG002 - lxml calls so
        self.depth -= 1
        self.listener.end()

    def close(self) -> None:
        """Return nothing to lxml."""

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > self.bounds.depth:
            raise self.bounds.too_deep()


class _Telling(_TellingOfElements):
    """The target that also reports text, which comes in pieces between references and sections.

    A text node ends where an element begins or ends, and at comments and processing instructions.
    """

    def __init__(self, listener: Listener, bounds: DocumentBounds) -> None:
        super().__init__(listener, bounds)
        self.pieces: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.deeper()
        if self.pieces:
            self.told()
        self.listener.start(name, attributes.items())

    def end(self, name: str) -> None:
        if self.pieces:
            self.told()
        super().end(name)

    def data(self, piece: str) -> None:
        self.pieces.append(piece)

    def comment(self, text: str) -> None:  # noqa: ARG002 - lxml calls so
        if self.pieces:
            self.told()

    def pi(self, target: str, data: str | None = None) -> None:  # noqa: ARG002 - lxml calls so
        if self.pieces:
            self.told()

    def told(self) -> None:
        text = "".join(self.pieces)
        self.pieces.clear()
        if text:
            self.listener.text(text)


def replay(document: Document, listener: Listener) -> None:
    """Call a listener for a document that was read, as `stream_document` does for its bytes.

    Without text and attributes, if only the structure was read.
    """
    content = document.content
    texts = () if content is None else content.texts
    told = 0
    open_elements: list[int] = []

    def tell_texts_up_to(last: int) -> None:
        nonlocal told
        while told < last:
            listener.text(texts[told])
            told += 1

    def end() -> None:
        element = open_elements.pop()
        if content is not None:
            tell_texts_up_to(content.last_texts[element])
        listener.end()

    for element, (name, parent) in enumerate(zip(document.names, document.parents, strict=True)):
        while open_elements and open_elements[-1] != parent:
            end()
        if content is not None:
            tell_texts_up_to(content.first_texts[element])
        listener.start(name, () if content is None else document.attributes(element))
        open_elements.append(element)
    while open_elements:
        end()
