"""The reference engine: expressions evaluated by the letter of XPath 1.0.

It evaluates the syntax tree as it was written, step by step from sets of nodes to sets of nodes
(section 2 of the Recommendation), and takes the truth of the last set. Nothing of the normal form,
of conditions or of comparisons is used, so that it can bear witness against all of them.

Cost: every expression over every document. Use it to check other engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from sapwood.errors import InvariantError
from sapwood.language.xpath import syntax
from sapwood.language.xpath.parser import parse
from sapwood.language.xpath.syntax import And, Compares, Exists, Expression, Or, Step
from sapwood.matching.documents.protocol import Readable
from sapwood.matching.protocol import SlotBatch, batch_of
from sapwood.model.patterns.comparison import Relation
from sapwood.model.patterns.conditions import Axis, NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, DocumentBounds, read_document
from sapwood.xml.bounds import DEFAULT_BOUNDS


class Node(NamedTuple):
    """A node of the tree: `kind` is document, element, attribute or text.

    `element` is the element itself, or the one the node belongs to (-1 for the document), `name`
    the name of an element or attribute, `value` the string-value of an attribute or text, and
    `order` distinguishes two attributes or texts of one element.
    """

    kind: str
    element: int
    name: str = ""
    value: str = ""
    order: int = 0


_NUMERAL: Final = re.compile("-?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)")
_BLANKS: Final = " \t\r\n"

_PARENTS_MAX: Final = 8
"""Documents whose structure is cached: all expressions read one, and then the next."""


class ReferenceXPathEngine:
    """Brute force over syntax trees (see the module)."""

    def __init__(self, bounds: DocumentBounds = DEFAULT_BOUNDS) -> None:
        self._bounds = bounds
        #: slot -> tree; exactly the taken slots
        self._trees: dict[int, syntax.Path] = {}

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._trees)

    def add(self, slot: int, pattern: TreePattern) -> None:
        """Put `pattern`, read again from its text, into `slot`."""
        assert slot not in self._trees, f"slot {slot} is taken"
        if pattern.source is None:
            self._trees[slot] = parse(str(pattern), pattern.namespaces)
        else:
            bound = None if pattern.bindings is None else dict(pattern.bindings)
            self._trees[slot] = parse(pattern.source, bound)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        del self._trees[slot]

    def match(self, document: Readable) -> list[int]:
        """The slots whose patterns accept `document`, ascending."""
        tree = self._read(document)
        return sorted(slot for slot, path in self._trees.items() if holds(path, tree))

    def match_any(self, document: Readable) -> bool:
        """True if any pattern accepts `document`."""
        tree = self._read(document)
        return any(holds(path, tree) for path in self._trees.values())

    def match_count(self, document: Readable) -> int:
        """The number of patterns that accept `document`."""
        return len(self.match(document))

    def match_slots(self, documents: Sequence[Readable]) -> SlotBatch:
        """The matches of many documents, one after the other."""
        return batch_of([self.match(document) for document in documents])

    def fold(self) -> None:
        """Do nothing: no work is ever deferred."""

    def save(self, folder: Path) -> None:
        """Write nothing: the patterns are enough to restore the engine."""

    def load(self, folder: Path, patterns: Iterable[tuple[int, TreePattern]]) -> None:  # noqa: ARG002
        """Add all patterns again."""
        for slot, stored in patterns:
            self.add(slot, stored)

    def validate(self) -> None:
        """Check that no slot is negative."""
        if any(slot < 0 for slot in self._trees):
            raise InvariantError("a negative slot is taken")

    def _read(self, document: Readable) -> Document:
        if isinstance(document, Document):
            return document
        return read_document(document, self._bounds)


def holds(path: syntax.Path, document: Document) -> bool:
    """`boolean(expression)` at the document's root: true if the path leads to any node."""
    return bool(_follow(path, {Node("document", -1)}, document))


def _follow(path: syntax.Path, nodes: set[Node], document: Document) -> set[Node]:
    for step in path.steps:
        if step.axis is Axis.DESCENDANT:
            # `//` is short for `/descendant-or-self::node()/`.
            nodes = {inner for node in nodes for inner in _descendants_or_self(node, document)}
        nodes = {reached for node in nodes for reached in _step(step, node, document)}
    return nodes


def _step(step: Step, node: Node, document: Document) -> Iterator[Node]:
    match step:
        case syntax.AttributeStep(test=test):
            for order, (name, value) in enumerate(_attributes(node, document)):
                if _is_called(name, test):
                    yield Node("attribute", node.element, name, value, order)
        case syntax.TextStep():
            yield from (child for child in _children(node, document) if child.kind == "text")
        case syntax.ElementStep(test=test, predicates=predicates):
            for child in _children(node, document):
                if (
                    child.kind == "element"
                    and (test is None or _is_called(child.name, test))
                    and all(_is_true(one, child, document) for one in predicates)
                ):
                    yield child


def _is_true(expression: Expression, node: Node, document: Document) -> bool:
    match expression:
        case Exists(path=path):
            return bool(_follow(path, {node}, document))
        case Compares(path=path, comparison=wanted):
            return any(
                _compare(_string_value(reached, document), wanted.relation, wanted.literal)
                for reached in _follow(path, {node}, document)
            )
        case And(operands=operands):
            return all(_is_true(one, node, document) for one in operands)
        case Or(operands=operands):
            return any(_is_true(one, node, document) for one in operands)


def _children(node: Node, document: Document) -> Iterator[Node]:
    if node.kind in ("document", "element"):
        for element in _elements_below(document.parents).get(node.element, ()):
            yield Node("element", element, document.names[element])
    if node.kind == "element":
        for order, text in enumerate(document.texts(node.element)):
            yield Node("text", node.element, "", text, order)


@lru_cache(_PARENTS_MAX)
def _elements_below(parents: tuple[int, ...]) -> Mapping[int, Sequence[int]]:
    """The elements in each element, in document order."""
    below: dict[int, list[int]] = {}
    for element, parent in enumerate(parents):
        below.setdefault(parent, []).append(element)
    return below


def _descendants_or_self(node: Node, document: Document) -> Iterator[Node]:
    yield node
    for child in _children(node, document):
        yield from _descendants_or_self(child, document)


def _attributes(node: Node, document: Document) -> Iterator[tuple[str, str]]:
    return document.attributes(node.element) if node.kind == "element" else iter(())


def _string_value(node: Node, document: Document) -> str:
    if node.kind != "element":
        return node.value
    content = document.whole
    inside = (
        text
        for text, owner in zip(content.texts, content.owners, strict=True)
        if _is_within(owner, node.element, document)
    )
    return "".join(inside)


def _is_within(element: int, ancestor: int, document: Document) -> bool:
    while element != ancestor and element >= 0:
        element = document.parents[element]
    return element == ancestor


def _is_called(name: str, test: NameTest) -> bool:
    namespace, _, local = name.removeprefix("{").rpartition("}")
    return local == test.local and test.namespace in (None, namespace)


def _compare(text: str, relation: Relation, literal: str | float) -> bool:
    if isinstance(literal, str):
        return (text == literal) is (relation.value == "=")
    stripped = text.strip(_BLANKS)
    value = float(stripped) if _NUMERAL.fullmatch(stripped) else float("nan")
    return {
        "=": value == literal,
        "!=": value != literal,
        "<": value < literal,
        "<=": value <= literal,
        ">": value > literal,
        ">=": value >= literal,
    }[relation.value]
