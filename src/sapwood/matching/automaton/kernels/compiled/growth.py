"""States brought up to date with the trie's nodes.

Of the nodes that pass a state's symbol, a state holds those whose parent is held above. Nodes that
are held above are marked first, or searched by bisection where few nodes are new.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sapwood.matching.automaton.kernels.compiled.bits import Ints, with_value
from sapwood.matching.automaton.names import ANY
from sapwood.matching.automaton.states import Growth
from sapwood.matching.columnar.kernels.views import borrowing, compiled, new_i32, signed

_MARKS_A_NODE: Final = 8
"""Marks that can be set in the time that one new node costs without any, roughly."""


@compiled
def join_nodes(growth: Growth, first: int, end: int) -> tuple[int, int, int]:
    """Bring `growth.states` from `first` on up to date, and write the nodes they hold behind `end`.

    Returns the number of states done, the new end, and the room that is missing for the next state:
    0 if all are done.
    """
    known = len(growth.trie.parents)
    starts, sizes, rooms, nodes = growth.starts, growth.sizes, growth.rooms, growth.nodes
    states, seen = growth.states, growth.seen
    found = new_i32(64)
    for at in range(first, len(states)):
        state = states[at]
        if seen[state] == known:
            continue
        found, count = _new_nodes(growth, state, growth.mark + at, found)
        size = sizes[state]
        if size + count > rooms[state]:
            # A new state gets the room that it needs, and one that has grown half as much again.
            room = size + count
            if size:
                room += room // 2
            if end + room > len(nodes):
                return at, end, room
            old = starts[state]
            for place in range(size):
                nodes[end + place] = nodes[old + place]
            starts[state], rooms[state] = end, room
            end += room
        place = starts[state] + size
        for entry in range(count):
            nodes[place + entry] = found[entry]
        sizes[state] = size + count
        seen[state] = known
    return len(states), end, 0


@compiled
def _new_nodes(growth: Growth, state: int, mark: int, found: Ints) -> tuple[Ints, int]:
    """The nodes that a state holds among those it has not seen, ascending, and their number.

    They are written into `found`, or into a larger array. Arrays are taken out of their tuples
    once, because passing a tuple counts a reference of each of its arrays.
    """
    before, descendant = growth.trie.parents, growth.trie.descendant
    previous, newest = growth.trie.previous, growth.trie.newest
    parents, starts, sizes, nodes = growth.parents, growth.starts, growth.sizes, growth.nodes
    above, beside = growth.above, growth.beside
    parent, seen = parents[state], growth.seen[state]
    ancestor, held = parent, np.int64(0)
    while ancestor >= 0:
        held += sizes[ancestor]
        ancestor = parents[ancestor]
    marks = (len(before) - seen) * _MARKS_A_NODE > held
    if marks:
        _mark_above(growth, parent, mark)
    # Three chains, each from its newest node on: the newest of the three is always the next one.
    by_any, by_local = _newest(newest, ANY), _newest(newest, growth.locals[state])
    by_expanded = _newest(newest, growth.expanded[state])
    count = 0
    while True:
        node = max(by_any, by_local, by_expanded)
        if node < seen or node <= 0:
            break
        if node == by_any:
            by_any = previous[node]
        elif node == by_local:
            by_local = previous[node]
        else:
            by_expanded = previous[node]
        if marks:
            reached = (above if descendant[node] else beside)[before[node]] == mark
        else:
            reached, ancestor = False, parent
            while ancestor >= 0 and not reached:
                start = starts[ancestor]
                reached = _is_among(nodes, start, start + sizes[ancestor], before[node])
                ancestor = parents[ancestor] if descendant[node] else -1
        if reached:
            found = with_value(found, count, node)
            count += 1
    for at in range(count // 2):
        found[at], found[count - 1 - at] = found[count - 1 - at], found[at]
    return found, count


@borrowing
def _newest(newest: Ints, test: int) -> int:
    """The newest node of a test, or 0; the test -1 has none."""
    return signed(newest[test]) if 0 <= test < len(newest) else 0


@borrowing
def _is_among(nodes: Ints, low: int, end: int, node: int) -> Any:
    """True if a node is among the ascending ones from `low` to `end`."""
    high = end
    while low < high:
        middle = (low + high) >> 1
        if nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low < end and nodes[low] == node


@borrowing
def _mark_above(growth: Growth, parent: int, mark: int) -> None:
    """Mark the nodes that the parent holds, and those that any state above holds."""
    parents, starts, sizes, nodes = growth.parents, growth.starts, growth.sizes, growth.nodes
    above, beside = growth.above, growth.beside
    ancestor = parent
    while ancestor >= 0:
        start = starts[ancestor]
        for at in range(start, start + sizes[ancestor]):
            above[nodes[at]] = mark
            if ancestor == parent:
                beside[nodes[at]] = mark
        ancestor = parents[ancestor]
