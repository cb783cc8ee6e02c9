"""The candidates that satisfy their conditions: each condition once, for all elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.matching.automaton.conditions import (
    ALL_OF,
    ALWAYS_ID,
    ANY_OF,
    AT_LEAST,
    AT_MOST,
    ATTRIBUTE,
    CHILD,
    DESCENDANT,
    DIFFERENT,
    EQUAL,
    LESS,
    NO_RELATION,
    NO_TEXT,
    TEXT,
    Conditions,
)
from sapwood.matching.automaton.kernels.compiled.bits import (
    ONE,
    Bits,
    Ints,
    is_marked,
    is_set,
    lowest,
    mark,
    no_bits,
    set_bit,
    with_value,
)
from sapwood.matching.automaton.kernels.compiled.finding import mark_slots
from sapwood.matching.automaton.names import ANY
from sapwood.matching.automaton.search import Asked, Candidates, Groups, Marks, Patterns
from sapwood.matching.columnar.kernels.views import borrowing, compiled, new_i32, zeros_i32


@compiled
def check_candidates(
    candidates: Candidates, groups: Groups, patterns: Patterns, asked: Asked, marks: Marks
) -> None:
    """Mark the candidates whose condition holds, at the document or at an element."""
    bits, row_of, seen, now = groups.bits, marks.rows, marks.targets, marks.round
    of_targets, slots, words = patterns.slots.starts, patterns.slots.values, marks.words
    targets, of_groups, checks = candidates
    needed = _needed(checks, asked.conditions, marks.conditions)
    rows = no_bits(len(needed), bits.shape[1])
    _evaluate(needed, rows, asked, row_of)
    for at in range(len(targets)):
        row = row_of[checks[at] >> 1]
        common = np.uint64(0)
        if checks[at] & 1:
            common = rows[row, 0] & ONE
        else:
            group = of_groups[at]
            for word in range(bits.shape[1]):
                common |= rows[row, word] & bits[group, word]
        if common and seen[targets[at]] != now:
            seen[targets[at]] = now
            mark_slots(targets[at], of_targets, slots, words)


@compiled
def _needed(checks: Ints, conditions: Conditions, words: Bits) -> Ints:
    """The conditions of candidates and all conditions that they are made of, ascending.

    `words` is an empty set of conditions, and is empty again afterwards: reading a set in order is
    faster than sorting a list.
    """
    kinds, first, second, operands = (
        conditions.kinds,
        conditions.first,
        conditions.second,
        conditions.operands,
    )
    needed = new_i32(64)
    count = 0
    for at in range(len(checks)):
        condition = checks[at] >> 1
        if not is_marked(np.uint64(condition), words):
            mark(np.uint64(condition), words)
            needed = with_value(needed, count, condition)
            count += 1
    done = 0
    while done < count:
        condition = needed[done]
        done += 1
        kind = kinds[condition]
        if kind in (CHILD, DESCENDANT):
            inner = second[condition]
            if inner != ALWAYS_ID and not is_marked(np.uint64(inner), words):
                mark(np.uint64(inner), words)
                needed = with_value(needed, count, inner)
                count += 1
        elif kind in (ALL_OF, ANY_OF):
            for place in range(first[condition], second[condition]):
                inner = operands[place]
                if not is_marked(np.uint64(inner), words):
                    mark(np.uint64(inner), words)
                    needed = with_value(needed, count, inner)
                    count += 1
    count = 0
    for word in range(len(words)):
        bits = words[word]
        words[word] = 0
        while bits:
            needed[count] = (word << 6) + lowest(bits)
            count += 1
            bits &= bits - ONE
    return needed[:count]


@compiled
def _evaluate(needed: Ints, rows: Bits, asked: Asked, row_of: Ints) -> None:
    """Set the bit of each element at which a condition holds, in the row of each condition.

    Bit 0 is the document's. Conditions come after the ones that they are made of. Arrays are taken
    out of their tuples once, because passing a tuple counts a reference of each of its arrays.
    """
    kinds, firsts, seconds = asked.conditions.kinds, asked.conditions.first, asked.conditions.second
    operands, words = asked.conditions.operands, rows.shape[1]
    document = asked.document
    parents = document.parents
    starts, elements = _elements_by_test(document.locals, document.expanded)
    for row in range(len(needed)):
        condition = needed[row]
        row_of[condition] = row
        kind, first, second = kinds[condition], firsts[condition], seconds[condition]
        if kind in (CHILD, DESCENDANT):
            inner = -1 if second == ALWAYS_ID else int(row_of[second])
            if first == ANY and inner >= 0:
                _evaluate_below_any(kind == CHILD, inner, row, rows, parents)
            elif first + 1 < len(starts):
                for at in range(starts[first], starts[first + 1]):
                    element = elements[at]
                    if inner < 0 or is_set(rows, inner, element + 1):
                        _set_above(kind == CHILD, element, row, rows, parents)
        elif kind in (ALL_OF, ANY_OF):
            for place in range(first, second):
                operand = row_of[operands[place]]
                for word in range(words):
                    if kind == ANY_OF or place == first:
                        rows[row, word] |= rows[operand, word]
                    else:
                        rows[row, word] &= rows[operand, word]
        else:
            _evaluate_content(condition, row, rows, asked)


@compiled
def _elements_by_test(local: Ints, expanded: Ints) -> tuple[Ints, Ints]:
    """The elements that pass each test: those of test `t` are from `starts[t]` to `starts[t + 1]`.

    Most conditions test one name, which few elements have.
    """
    highest = ANY
    for tests in (local, expanded):
        for element in range(len(tests)):
            highest = max(highest, tests[element])
    starts = zeros_i32(highest + 2)
    for tests in (local, expanded):
        for element in range(len(tests)):
            if tests[element] > ANY:
                starts[tests[element] + 1] += 1
    starts[ANY + 1] = len(local)
    for test in range(highest + 1):
        starts[test + 1] += starts[test]
    free = starts.copy()
    elements = new_i32(starts[-1])
    for element in range(len(local)):
        elements[element] = element
        for tests in (local, expanded):
            if tests[element] > ANY:
                elements[free[tests[element]]] = element
                free[tests[element]] += 1
    return starts, elements


@borrowing
def _evaluate_below_any(
    is_child: bool,  # noqa: FBT001 - compiled code has no keyword-only parameters
    inner: int,
    row: int,
    rows: Bits,
    parents: Ints,
) -> None:
    """Set the bits of the parents, or of all ancestors, of the elements in the row `inner`."""
    for word in range(rows.shape[1]):
        bits = rows[inner, word]
        if word == 0:
            bits &= ~ONE
        while bits:
            _set_above(is_child, (word << 6) + lowest(bits) - 1, row, rows, parents)
            bits &= bits - ONE


@borrowing
def _set_above(
    is_child: bool,  # noqa: FBT001 - likewise
    element: int,
    row: int,
    rows: Bits,
    parents: Ints,
) -> None:
    """Set the bit of an element's parent, or of all ancestors up to one that is set."""
    ancestor = parents[element]
    if is_child:
        set_bit(rows, row, ancestor + 1)
        return
    while not is_set(rows, row, ancestor + 1):
        set_bit(rows, row, ancestor + 1)
        if ancestor < 0:
            break
        ancestor = parents[ancestor]


@borrowing
def _evaluate_content(condition: int, row: int, rows: Bits, asked: Asked) -> None:
    """Set the bit of each element with such an attribute, text node or string-value."""
    conditions, document = asked.conditions, asked.document
    kind, test = conditions.kinds[condition], conditions.first[condition]
    relation, literal = conditions.relations[condition], conditions.texts[condition]
    wanted = conditions.numbers[condition]
    if kind == ATTRIBUTE:
        local, expanded = document.attribute_locals, document.attribute_expanded
        elements = document.attribute_elements
        texts, numbers = document.attribute_texts, document.attribute_numbers
        for at in range(len(elements)):
            if (test == local[at]) | (test == expanded[at]) and _compares(
                relation, literal, wanted, texts[at], numbers[at]
            ):
                set_bit(rows, row, elements[at] + 1)
        return
    if kind == TEXT:
        texts, numbers = document.text_texts, document.text_numbers
    else:
        texts, numbers = document.value_texts, document.value_numbers
    for at in range(len(texts)):
        if _compares(relation, literal, wanted, texts[at], numbers[at]):
            set_bit(rows, row, (document.text_elements[at] if kind == TEXT else at) + 1)


@borrowing
def _compares(relation: int, literal: int, wanted: float, text: int, number: float) -> Any:
    """True if a comparison holds for a value, given as the number of its text and as a number."""
    if relation == NO_RELATION:
        return True
    if literal != NO_TEXT:
        return (text == literal) == (relation == EQUAL)
    if relation in (EQUAL, DIFFERENT):
        return (number == wanted) == (relation == EQUAL)
    if relation in (LESS, AT_MOST):
        return number < wanted or (relation == AT_MOST and number == wanted)
    return number > wanted or (relation == AT_LEAST and number == wanted)
