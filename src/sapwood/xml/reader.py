"""The hardened reader: bytes to `Document`.

The parser is libxml2 through lxml. On the 500 documents of the YFilter benchmark (3.8 KB, 69
elements on average; medians on one core) it takes 42 microseconds to build the tree and 10 to list
names and children; expat with a Python function for each tag takes 84, the standard library's
ElementTree, which is expat without them, 85 for the same lists.

The refusals: size, encoding, DOCTYPE, elements and attributes before parsing (`encodings`,
`inspection`); documents that are not well-formed by the parser; depth while the tree is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from lxml import etree

from sapwood.xml.bounds import DEFAULT_BOUNDS, DocumentBounds
from sapwood.xml.document import Content, Document
from sapwood.xml.encodings import Encoded
from sapwood.xml.inspection import inspected
from sapwood.xml.parsing import parser, refusal


def read_document(
    data: bytes, bounds: DocumentBounds = DEFAULT_BOUNDS, *, content: bool = True
) -> Document:
    """The document in `data`: UTF-8, UTF-16, ISO-8859-1 or US-ASCII.

    Without `content`, attributes and text are left out, which is a third faster.

    Raises `DocumentError` with line and column for data that is not well-formed, for a DOCTYPE and
    for other encodings, `LimitError` beyond `bounds`.
    """
    encoded = inspected(data, bounds)
    root = _parsed(encoded, bounds, content=content)
    return _with_content(root, bounds) if content else _structure(root, bounds)


def _parsed(encoded: Encoded, bounds: DocumentBounds, *, content: bool) -> Any:
    """The root element as the parser returns it; without `content` only elements are kept."""
    building = parser(
        encoded.encoding,
        bounds,
        resolve_entities=False,
        remove_comments=not content,
        remove_pis=not content,
    )
    try:
        return etree.fromstring(encoded.data, building)
    except etree.XMLSyntaxError as error:
        raise refusal(error, bounds) from None


def _structure(root: Any, bounds: DocumentBounds) -> Document:
    nodes = list(root.iter())
    parents = _parents(list(map(len, nodes)), bounds)
    return Document(tuple([node.tag for node in nodes]), parents)


def _parents(children: Sequence[int], bounds: DocumentBounds) -> tuple[int, ...]:
    """The parent of each element, from the number of children of each, in document order."""
    parents: list[int] = []
    # Of elements with children; the last element has none, and stands in for the document at -1.
    depths = [0] * len(children)
    waiting = [-1]
    for element, count in enumerate(children):
        parent = waiting.pop()
        parents.append(parent)
        if count:
            depths[element] = depths[parent] + 1
            waiting.extend(repeat(element, count))
    bounds.check_depth(max(depths) + 1)
    return tuple(parents)


def _with_content(root: Any, bounds: DocumentBounds) -> Document:
    """Structure and content in one pass over all nodes, comments included, as they part texts."""
    flat = _Flattening(bounds)
    for node in root.iter():
        flat.take(node)
    return flat.document()


class _Flattening:
    """Nodes in document order, taken one by one.

    An element stays open until as many nodes have been taken as it has children; the text that
    follows it in its parent is only then in order.
    """

    def __init__(self, bounds: DocumentBounds) -> None:
        self.bounds = bounds
        self.names: list[str] = []
        self.parents: list[int] = []
        self.attribute_starts = [0]
        self.attribute_names: list[str] = []
        self.attribute_values: list[str] = []
        self.texts: list[str] = []
        self.owners: list[int] = []
        self.first_texts: list[int] = []
        self.last_texts: list[int] = []
        #: open elements, outermost first: number, and the text after the element
        self.open: list[tuple[int, str | None]] = []
        #: for each open element the number of its children still to come
        self.due: list[int] = []

    def take(self, node: Any) -> None:
        """Add the next node: an element, a comment or a processing instruction."""
        parent = self.open[-1][0] if self.open else -1
        if self.due:
            self.due[-1] -= 1
        if isinstance(node.tag, str):
            self._take_element(node, parent)
        else:
            self._add_text(node.tail, parent)
        self._close()

    def document(self) -> Document:
        """The document that was built."""
        assert not self.open, "every child that was announced has come"
        content = Content(
            tuple(self.attribute_starts),
            tuple(self.attribute_names),
            tuple(self.attribute_values),
            tuple(self.texts),
            tuple(self.owners),
            tuple(self.first_texts),
            tuple(self.last_texts),
        )
        return Document(tuple(self.names), tuple(self.parents), content)

    def _take_element(self, node: Any, parent: int) -> None:
        element = len(self.names)
        self.names.append(node.tag)
        self.parents.append(parent)
        for name, value in node.items():
            self.attribute_names.append(name)
            self.attribute_values.append(value)
        self.attribute_starts.append(len(self.attribute_names))
        self.first_texts.append(len(self.texts))
        self.last_texts.append(0)
        self._add_text(node.text, element)
        self.open.append((element, node.tail))
        self.due.append(len(node))
        if len(self.open) > self.bounds.depth:
            raise self.bounds.too_deep()

    def _close(self) -> None:
        while self.due and not self.due[-1]:
            self.due.pop()
            element, tail = self.open.pop()
            self.last_texts[element] = len(self.texts)
            if self.open:
                self._add_text(tail, self.open[-1][0])

    def _add_text(self, text: str | None, owner: int) -> None:
        if text:
            self.texts.append(text)
            self.owners.append(owner)
