"""Evaluation of conditions in a document: bottom-up, each condition once for all elements.

The cost is the size of the pattern times the size of the document, whatever the two are: no
pattern makes a document expensive.
"""

from __future__ import annotations

from typing import Final, assert_never

from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    StringValue,
    Text,
)
from sapwood.xml.document import Document

DOCUMENT_NODE: Final = -1
"""The document itself: the parent of the root element, as `Document.parents` has it."""


def satisfying(condition: Condition, document: Document) -> set[int]:
    """The elements at which a condition holds, `DOCUMENT_NODE` among them if it does there."""
    elements = range(len(document))
    match condition:
        case Below():
            return _above(condition, document)
        case Attribute(test=test, comparison=comparison):
            return {
                element
                for element in elements
                if any(
                    test.accepts(name) and (comparison is None or comparison.accepts(value))
                    for name, value in document.attributes(element)
                )
            }
        case Text(comparison=comparison):
            return {
                element
                for element in elements
                if any(
                    comparison is None or comparison.accepts(text)
                    for text in document.texts(element)
                )
            }
        case StringValue(comparison=comparison):
            return {
                element
                for element in elements
                if comparison.accepts(document.string_value(element))
            }
        case AllOf(operands=operands):
            everywhere = {DOCUMENT_NODE, *elements}
            return everywhere.intersection(*(satisfying(one, document) for one in operands))
        case AnyOf(operands=operands):
            return set[int]().union(*(satisfying(one, document) for one in operands))
        case _:
            assert_never(condition)


def _above(below: Below, document: Document) -> set[int]:
    """The parents, or all ancestors, of the elements that satisfy a condition below."""
    test, names, parents = below.test, document.names, document.parents
    above: set[int] = set()
    for element in satisfying(below.condition, document):
        if element == DOCUMENT_NODE or not (test is None or test.accepts(names[element])):
            continue
        ancestor = parents[element]
        if below.axis is Axis.CHILD:
            above.add(ancestor)
            continue
        while ancestor not in above:
            above.add(ancestor)
            if ancestor == DOCUMENT_NODE:
                break
            ancestor = parents[ancestor]
    return above
