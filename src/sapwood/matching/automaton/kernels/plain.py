"""The plain twins of `kernels.compiled`: the same results, found the obvious way.

They go through all nodes, all entries and all elements, and know of marks only what outlives them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sapwood.matching.automaton import conditions as table
from sapwood.matching.automaton.conditions import ALWAYS_ID, NO_TEXT, Conditions
from sapwood.matching.automaton.encoding import Encoded
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

_RELATIONS = (
    *((table.EQUAL, operator.eq), (table.DIFFERENT, operator.ne), (table.LESS, operator.lt)),
    *((table.AT_MOST, operator.le), (table.GREATER, operator.gt), (table.AT_LEAST, operator.ge)),
)


def join_nodes(growth: Growth, first: int, end: int) -> tuple[int, int, int]:
    """Bring `growth.states` from the `first` on up to date, and write what they hold behind `end`.

    Returns how many states are done, the new end, and the room that is missing for the next state:
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
    right_above = set(_held(held, parent))
    anywhere_above: set[int] = set()
    while parent >= 0:
        anywhere_above.update(_held(held, parent))
        parent = int(growth.parents[parent])
    passed = {ANY, int(growth.locals[state]), int(growth.expanded[state])}
    return [
        node
        for node in range(max(1, int(growth.seen[state])), len(trie.parents))
        if trie.tests[node] in passed
        and trie.parents[node] in (anywhere_above if trie.descendant[node] else right_above)
    ]


def mark_plain(reached: Reached, plain: Ints, slots: Lists, marks: Marks) -> None:
    """Mark what the states reach: the patterns of which nothing is left to check."""
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
    """Targets whose path is there and whose equality holds, each with the group of elements."""
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
    """Mark the candidates of which the condition holds, at the document or at some element."""
    for target, group, check in zip(*(part.tolist() for part in candidates), strict=True):
        row = groups.bits[group]
        elements = [
            element
            for element in range(len(asked.document.parents))
            if int(row[(element + 1) // 64]) >> (element + 1) % 64 & 1
        ]
        places = [-1] if check % 2 else elements
        if any(_holds(check // 2, place, *asked) for place in places):
            _take(target, patterns.slots, marks)


def count(slots: Lists, marks: Marks) -> int:
    """How many slots are marked, once those in the tail whose targets are marked are marked too."""
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


def _holds(condition: int, element: int, conditions: Conditions, document: Encoded) -> bool:
    """Whether a condition holds at an element, or at the document (-1)."""
    kind = conditions.kinds[condition]
    first, second = int(conditions.first[condition]), int(conditions.second[condition])
    if kind in (table.ALL_OF, table.ANY_OF):
        inner = conditions.operands[first:second].tolist()
        answers = (_holds(one, element, conditions, document) for one in inner)
        return all(answers) if kind == table.ALL_OF else any(answers)
    if kind in (table.CHILD, table.DESCENDANT):
        return any(
            _passes(first, document.locals[below], document.expanded[below])
            and _holds(second, below, conditions, document)
            for below in _below(element, document, deep=kind == table.DESCENDANT)
        )
    if kind == table.ATTRIBUTE:
        values = [
            (document.attribute_texts[at], document.attribute_numbers[at])
            for at in np.flatnonzero(document.attribute_elements == element)
            if _passes(first, document.attribute_locals[at], document.attribute_expanded[at])
        ]
    elif kind == table.TEXT:
        own = np.flatnonzero(document.text_elements == element)
        values = [(document.text_texts[at], document.text_numbers[at]) for at in own]
    elif kind == table.VALUE and element >= 0:
        values = [(document.value_texts[element], document.value_numbers[element])]
    else:
        return bool(kind == table.ALWAYS)
    return any(_compares(conditions, condition, text, number) for text, number in values)


def _compares(conditions: Conditions, condition: int, text: int, number: float) -> bool:
    relation = int(conditions.relations[condition])
    if relation == table.NO_RELATION:
        return True
    compare = dict(_RELATIONS)[relation]
    literal = int(conditions.texts[condition])
    if literal != NO_TEXT:
        return bool(compare(text, literal))
    return bool(compare(number, conditions.numbers[condition]))


def _passes(test: int, local: int, expanded: int) -> bool:
    return test in (ANY, local, expanded)


def _below(element: int, document: Encoded, *, deep: bool) -> Iterator[int]:
    for child in np.flatnonzero(document.parents == element).tolist():
        yield child
        if deep:
            yield from _below(child, document, deep=True)


def _held(held: Held, state: int) -> list[int]:
    if state < 0:
        return []
    start = int(held.starts[state])
    nodes: list[int] = held.nodes[start : start + int(held.sizes[state])].tolist()
    return nodes


def _values(lists: Lists, key: int) -> list[int]:
    """What a key holds, in its list and in the tail."""
    tail: list[int] = lists.tail_values[lists.tail_keys == key].tolist()
    return [*_listed(lists, key), *(value for value in tail if value != GAP)]


def _listed(lists: Lists, key: int) -> list[int]:
    """What a key holds in its list."""
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
