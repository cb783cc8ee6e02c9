"""Explanations of a tree pattern's verdict on a document: the step or comparison that fails.

A pattern that is not met is followed from the document down. A path goes as far as its steps find
elements; where it finds some, the condition on them fails at every one, and is explained there.
Where each part of a conjunction holds somewhere, but all of them nowhere, the first element at
which most of them hold is explained. A condition that is named with elements holds at none of them.

Worked example: `//b[@x > 5]/c` in `<a><b x="1"><c/></b><b x="9"/></a>`, elements a 0, b 1, c 2,
b 3. There are elements `b`, 1 and 3; `@x > 5` holds at 3, a child `c` is at 1, both are at none.
At each one part holds, so the first is looked at: `@x > 5` fails at 1.

Cost: that of matching, twice at most for each level of the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from sapwood.model.explanation import Explanation, Failure, Way, shortened
from sapwood.model.patterns.conditions import (
    ALWAYS,
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    StringValue,
    Text,
    of_within,
)
from sapwood.model.patterns.evaluation import DOCUMENT_NODE, satisfying
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.printing import print_condition, print_path
from sapwood.model.publication import Publication
from sapwood.xml.document import Document

_SHOWN_MAX: Final = 3
"""Elements, names or values of a document that are shown; the rest is given as a count."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A condition that holds at none of some elements, which are in document order.

    The condition is a step without a condition behind it, or a comparison.
    """

    condition: Condition
    elements: tuple[int, ...]


def failing(pattern: TreePattern, document: Document) -> tuple[Failed, ...]:
    """The conditions that fail; none if the document, which must have its content, is accepted."""
    return tuple(_failing(pattern.root, (DOCUMENT_NODE,), document))


def explained(pattern: TreePattern, publication: Publication) -> Explanation:
    """The reason why the pattern accepts the publication's document, or refuses it.

    The verdict equals that of `TreePattern.matches` for every publication, and so do the errors.
    """
    document = publication.read_document()
    if document is None:
        note = "the publication has no document, and the filter is an XPath"
        return Explanation(matches=False, note=note)
    bound = pattern.namespaces or {}
    prefixes = {namespace: prefix for prefix, namespace in bound.items()}
    failures = []
    for one in failing(pattern, document):
        place = _few([_place(document, e) for e in one.elements[:_SHOWN_MAX]], len(one.elements))
        if one.elements == (DOCUMENT_NODE,):
            assert isinstance(one.condition, Below), "the document itself is asked for elements"
            shown = print_path(one.condition, prefixes)
        else:
            shown = print_condition(one.condition, prefixes)
        failures.append(Failure(shown, _found(one, document), place))
    return Explanation(matches=not failures, ways=(Way(str(pattern), tuple(failures)),))


def _failing(
    condition: Condition, elements: tuple[int, ...], document: Document
) -> Iterator[Failed]:
    """The parts of a condition that fail at all elements; none if it holds at one of them."""
    if not satisfying(condition, document).isdisjoint(elements):
        return
    match condition:
        case Below(axis=axis, test=test, condition=inner):
            reached = _reached(condition, elements, document)
            if reached:
                yield from _failing(inner, reached, document)
            else:
                yield Failed(Below(axis, test, ALWAYS), elements)
        case AllOf(operands=operands):
            yield from _failing_together(operands, elements, document)
        case AnyOf(operands=operands) if of_within(condition) is None:
            for operand in operands:
                yield from _failing(operand, elements, document)
        case _:
            yield Failed(condition, elements)


def _failing_together(
    operands: tuple[Condition, ...], elements: tuple[int, ...], document: Document
) -> Iterator[Failed]:
    """The failed parts of a conjunction."""
    holding = [satisfying(operand, document) for operand in operands]
    nowhere = [
        operand
        for operand, where in zip(operands, holding, strict=True)
        if where.isdisjoint(elements)
    ]
    if not nowhere:  # each holds somewhere
        closest = max(elements, key=lambda element: sum(element in where for where in holding))
        elements = (closest,)
    for operand in nowhere or operands:
        yield from _failing(operand, elements, document)


def _reached(step: Below, elements: tuple[int, ...], document: Document) -> tuple[int, ...]:
    """The elements that a step from some elements finds."""
    start, parents, within = set(elements), document.parents, set[int]()
    found = []
    for element, name in enumerate(document.names):  # a parent comes before its children
        parent = parents[element]
        is_below = parent in start
        if step.axis is Axis.DESCENDANT and (is_below or parent in within):
            within.add(element)
            is_below = True
        if is_below and (step.test is None or step.test.accepts(name)):
            found.append(element)
    return tuple(found)


def _found(failed: Failed, document: Document) -> str:
    """The description of what the document has in place of the failed condition."""
    elements = failed.elements
    match failed.condition:
        case Below(axis=axis):
            there = _reached(Below(axis, None, ALWAYS), elements, document)
            return _listed("elements", dict.fromkeys(document.names[one] for one in there))
        case StringValue():
            return _listed("texts", (repr(document.string_value(e)) for e in elements))
        case AnyOf() as either:  # here or at any element below
            below = _reached(Below(Axis.DESCENDANT, None, ALWAYS), elements, document)
            leaf, elements = of_within(either), tuple(sorted({*elements, *below}))
        case Attribute() | Text() as one:
            leaf = one
        case AllOf():
            raise AssertionError("a conjunction fails by its operands")
    if isinstance(leaf, Text):
        return _listed("texts", (repr(text) for e in elements for text in document.texts(e)))
    assert isinstance(leaf, Attribute), "what fails is a step, a text or an attribute"
    pairs = [pair for element in elements for pair in document.attributes(element)]
    values = [repr(value) for name, value in pairs if leaf.test.accepts(name)]
    if values:
        return _listed("values", values)
    return _listed("attributes", dict.fromkeys(name for name, _ in pairs))


def _listed(what: str, shown: Iterable[str]) -> str:
    """The first few of the values found."""
    there = [shortened(one) for one in shown]
    return f"{what} there: {_few(there[:_SHOWN_MAX], len(there))}" if there else f"no {what} there"


def _few(shown: list[str], count: int) -> str:
    """The items that are shown, and the number of the rest."""
    more = count - len(shown)
    return ", ".join(shown) + (f", and {more:,} more" if more else "")


def _place(document: Document, element: int) -> str:
    """The way to an element, with its number where siblings before or after it have its name."""
    if element == DOCUMENT_NODE:
        return "the document"
    steps = []
    while element != DOCUMENT_NODE:
        name, parent = document.names[element], document.parents[element]
        alike = [
            other
            for other, above in enumerate(document.parents)
            if above == parent and document.names[other] == name
        ]
        number = f"[{alike.index(element) + 1}]" if len(alike) > 1 else ""
        steps.append(f"/{name}{number}")
        element = parent
    return "".join(reversed(steps))
