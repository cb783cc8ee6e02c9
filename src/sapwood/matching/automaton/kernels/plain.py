"""The plain twins of `kernels.compiled`: the same results, found the obvious way.

They go through all nodes, all entries and all elements, and leave out the marks that serve one call
only. Brokers match with them until the compiled ones are at hand, so work that grows with a
document times its conditions, or with states times nodes, is a handful of array operations.
"""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt

from sapwood.matching.automaton import conditions as table
from sapwood.matching.automaton.conditions import ALWAYS_ID, NO_TEXT
from sapwood.matching.automaton.names import ANY
from sapwood.matching.automaton.postings import FIRST_TARGET, GAP, Lists
from sapwood.matching.automaton.search import (
    Asked,
    Candidates,
    Groups,
    Marks,
    Pairs,
    Patterns,
    Reached,
)
from sapwood.matching.automaton.states import Growth, Held
from sapwood.matching.automaton.targets import NO_EQUALITY

Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_RELATIONS = (
    *((table.EQUAL, operator.eq), (table.DIFFERENT, operator.ne), (table.LESS, operator.lt)),
    *((table.AT_MOST, operator.le), (table.GREATER, operator.gt), (table.AT_LEAST, operator.ge)),
)


def join_nodes(growth: Growth, first: int, end: int) -> tuple[int, int, int]:
    """Bring `growth.states` from `first` on up to date, and write the nodes they hold behind `end`.

    Returns the number of states done, the new end, and the room that is missing for the next state:
    0 if all are done.
    """
    held = Held(growth.starts, growth.sizes, growth.nodes)
    for at, state in enumerate(growth.states.tolist()):
        if at < first or growth.seen[state] == len(growth.trie.parents):
            continue
        old = _held(held, state)
        nodes = np.array(old + _new_nodes(growth, held, state), np.int32)
        if len(nodes) > growth.rooms[state]:
            room = len(nodes) + len(nodes) // 2 if old else len(nodes)
            if end + room > len(growth.nodes):
                return at, end, room
            growth.starts[state], growth.rooms[state] = end, room
            end += room
        start = int(growth.starts[state])
        growth.nodes[start : start + len(nodes)] = nodes
        growth.sizes[state] = len(nodes)
        growth.seen[state] = len(growth.trie.parents)
    return len(growth.states), end, 0


def _new_nodes(growth: Growth, held: Held, state: int) -> list[int]:
    """The nodes that a state holds among those it has not seen, ascending."""
    trie = growth.trie
    parent = int(growth.parents[state])
    right_above = np.zeros(len(trie.parents), np.bool_)
    anywhere_above = np.zeros(len(trie.parents), np.bool_)
    right_above[_held(held, parent)] = True
    while parent >= 0:
        anywhere_above[_held(held, parent)] = True
        parent = int(growth.parents[parent])
    first = max(1, int(growth.seen[state]))
    above, tests = trie.parents[first:], trie.tests[first:]
    passed = _passing(tests, int(growth.locals[state]), int(growth.expanded[state]))
    there = np.where(trie.descendant[first:], anywhere_above[above], right_above[above])
    fresh: list[int] = (first + np.flatnonzero(passed & there)).tolist()
    return fresh


def mark_plain(reached: Reached, plain: Ints, slots: Lists, marks: Marks) -> None:
    """Mark the patterns at the nodes that states reach, if nothing is left to check of them."""
    nodes = sorted({node for state in reached.states for node in _held(reached.held, state)})
    for what in plain[nodes].tolist():
        if what >= 0:
            _set_slot(what, marks)
        elif what <= FIRST_TARGET:
            _take(FIRST_TARGET - what, slots, marks)


def group_elements(places: Ints, states: int, equal: Pairs, marks: Marks) -> Groups:  # noqa: ARG001
    """The groups of a document: `places` has the place of each element's state among `states`."""
    members: dict[tuple[int, int], list[int]] = {
        (place, NO_EQUALITY): np.flatnonzero(places == place).tolist() for place in range(states)
    }
    pairs = list(zip(*(part.tolist() for part in equal), strict=True))
    for element, equality in sorted(pairs, key=lambda pair: int(places[pair[0]])):
        members.setdefault((int(places[element]), equality), []).append(element)
    bits = np.zeros((len(members), (len(places) + 64) // 64), np.uint64)
    for row, elements in zip(bits, members.values(), strict=True):
        for element in elements:
            row[(element + 1) // 64] |= np.uint64(1 << (element + 1) % 64)
    keys = np.array(list(members), np.int32)
    return Groups(keys[:, 0].copy(), keys[:, 1].copy(), bits)


def find_candidates(
    reached: Reached, patterns: Patterns, groups: Groups, marks: Marks
) -> Candidates:
    """Targets whose path is reached and whose equality holds, each with a group of elements."""
    targets = patterns.targets
    anywhere = {node for state in reached.states.tolist() for node in _held(reached.held, state)}
    found: list[tuple[int, int, int]] = []
    for group, place in enumerate(groups.states.tolist()):
        nodes = set(_held(reached.held, int(reached.states[place])))
        if group < len(reached.states):
            there = [target for node in sorted(nodes) for target in _values(patterns.by_node, node)]
        else:
            equal = _values(patterns.by_equality, int(groups.equalities[group]))
            there = [
                target
                for target in equal
                if targets.nodes[target] in nodes and targets.reaches[target] in anywhere
            ]
        for target in there:
            if group >= len(reached.states) and targets.conditions[target] == ALWAYS_ID:
                _take(target, patterns.slots, marks)
            else:
                check = 2 * int(targets.conditions[target]) + bool(targets.at_document[target])
                found.append((target, group, check))
    return Candidates(*np.array(found, np.int32).reshape(len(found), 3).T.copy())


def check_candidates(
    candidates: Candidates, groups: Groups, patterns: Patterns, asked: Asked, marks: Marks
) -> None:
    """Mark the candidates whose condition holds, at the document or at an element."""
    holding = _Holding(asked)
    elements = len(asked.document.parents)
    members = np.unpackbits(groups.bits.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    for target, group, check in zip(*(part.tolist() for part in candidates), strict=True):
        where = holding.where(check // 2)
        if where[0] if check % 2 else (where[1:] & members[group, 1 : elements + 1]).any():
            _take(target, patterns.slots, marks)


def count(slots: Lists, marks: Marks) -> int:
    """The number of marked slots, once slots in the tail with marked targets are marked, too."""
    for key, slot in zip(slots.tail_keys.tolist(), slots.tail_values.tolist(), strict=True):
        if slot != GAP and marks.targets[key] == marks.round:
            _set_slot(slot, marks)
    return len(_marked(marks))


def collect(marks: Marks, found: Ints) -> None:
    """Write the marked slots into `found`, ascending, and clear their marks."""
    found[:] = _marked(marks)
    marks.words[:] = 0


def _marked(marks: Marks) -> list[int]:
    """The marked slots, ascending."""
    return [
        64 * word + bit
        for word, bits in enumerate(marks.words.tolist())
        for bit in range(64)
        if bits >> bit & 1
    ]


class _Holding:
    """The elements of a document at which conditions hold, each condition evaluated once.

    A mask has a place for the document, and then one for each element: in `<a><b/></a>` the
    condition `.//b` holds at the document and at `a`, which is `[True, True, False]`.
    """

    def __init__(self, asked: Asked) -> None:
        self._conditions, self._document = asked
        self._found: dict[int, Mask] = {}

    def where(self, condition: int) -> Mask:
        """The mask of a condition, which is made of conditions with lower numbers."""
        waiting = [condition]
        while waiting:
            one = waiting[-1]
            missing = [inner for inner in self._inner(one) if inner not in self._found]
            waiting += missing
            if not missing:
                self._found[waiting.pop()] = self._evaluated(one)
        return self._found[condition]

    def _inner(self, condition: int) -> list[int]:
        table_ = self._conditions
        kind, first, second = (int(a[condition]) for a in table_[:3])
        if kind in (table.ALL_OF, table.ANY_OF):
            operands: list[int] = table_.operands[first:second].tolist()
            return operands
        return [second] if kind in (table.CHILD, table.DESCENDANT) else []

    def _evaluated(self, condition: int) -> Mask:
        document = self._document
        kind, first = int(self._conditions.kinds[condition]), int(self._conditions.first[condition])
        answer = np.zeros(len(document.parents) + 1, np.bool_)
        inner = [self._found[one] for one in self._inner(condition)]
        if kind == table.ALL_OF:
            return np.logical_and.reduce(inner, axis=0) if inner else ~answer
        if kind == table.ANY_OF:
            return np.logical_or.reduce(inner, axis=0) if inner else answer
        if kind in (table.CHILD, table.DESCENDANT):
            passed = _passing(first, document.locals, document.expanded)
            above = document.parents[passed & inner[0][1:]]
            while len(above):
                answer[above + 1] = True
                if kind == table.CHILD:
                    break
                above = np.unique(document.parents[above[above >= 0]])
        elif kind == table.ATTRIBUTE:
            passed = _passing(first, document.attribute_locals, document.attribute_expanded)
            compared = self._compared(
                condition, document.attribute_texts, document.attribute_numbers
            )
            answer[document.attribute_elements[passed & compared] + 1] = True
        elif kind == table.TEXT:
            compared = self._compared(condition, document.text_texts, document.text_numbers)
            answer[document.text_elements[compared] + 1] = True
        elif kind == table.VALUE:
            compared = self._compared(condition, document.value_texts, document.value_numbers)
            answer[1 : len(compared) + 1] = compared
        else:
            answer[:] = kind == table.ALWAYS
        return answer

    def _compared(self, condition: int, texts: Ints, numbers: npt.NDArray[np.float64]) -> Mask:
        relation = int(self._conditions.relations[condition])
        if relation == table.NO_RELATION:
            return np.ones(len(texts), np.bool_)
        compare = dict(_RELATIONS)[relation]
        literal = int(self._conditions.texts[condition])
        compared: Mask = (
            compare(texts, literal)
            if literal != NO_TEXT
            else compare(numbers, self._conditions.numbers[condition])
        )
        return compared


def _passing(tests: int | Ints, locals_: int | Ints, expanded: int | Ints) -> Mask:
    """True where names, by their two numbers, pass tests: many names one test, or one name many."""
    passed = (tests == ANY) | (tests == locals_) | (tests == expanded)
    return np.asarray(passed, np.bool_)


def _held(held: Held, state: int) -> list[int]:
    if state < 0:
        return []
    start = int(held.starts[state])
    nodes: list[int] = held.nodes[start : start + int(held.sizes[state])].tolist()
    return nodes


def _values(lists: Lists, key: int) -> list[int]:
    """The values of a key, in its list and in the tail."""
    tail: list[int] = lists.tail_values[lists.tail_keys == key].tolist()
    return [*_listed(lists, key), *(value for value in tail if value != GAP)]


def _listed(lists: Lists, key: int) -> list[int]:
    """The values of a key in its list."""
    if key + 1 >= len(lists.starts):
        return []
    values: list[int] = lists.values[lists.starts[key] : lists.starts[key + 1]].tolist()
    return [value for value in values if value != GAP]


def _take(target: int, slots: Lists, marks: Marks) -> None:
    """Mark a target, and those of its slots that are not in the tail."""
    marks.targets[target] = marks.round
    for slot in _listed(slots, target):
        _set_slot(slot, marks)


def _set_slot(slot: int, marks: Marks) -> None:
    marks.words[slot // 64] |= np.uint64(1 << slot % 64)
