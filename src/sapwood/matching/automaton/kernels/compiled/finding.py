"""Targets that a document's paths and equalities lead to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sapwood.matching.automaton.conditions import ALWAYS_ID
from sapwood.matching.automaton.kernels.compiled.bits import (
    Bits,
    Ints,
    is_marked,
    mark,
    no_bits,
    set_bit,
    with_room,
)
from sapwood.matching.automaton.postings import FIRST_TARGET, GAP, Lists
from sapwood.matching.automaton.search import (
    Candidates,
    Groups,
    Marks,
    Pairs,
    Patterns,
    Reached,
)
from sapwood.matching.automaton.targets import NO_EQUALITY
from sapwood.matching.columnar.kernels.views import borrowing, compiled, new_i32, zeros_i32


@borrowing
def mark_plain(reached: Reached, plain: Ints, slots: Lists, marks: Marks) -> None:
    """Mark the patterns at the nodes that states reach, if nothing is left to check of them.

    `plain` and `slots` are those of `search.Patterns`; passing the whole tuple takes longer.
    """
    starts, sizes, nodes = reached.held
    states, words, seen, now = reached.states, marks.words, marks.targets, marks.round
    of_targets, values = slots.starts, slots.values
    for which in range(len(states)):
        start = starts[states[which]]
        for at in range(start, start + sizes[states[which]]):
            what = plain[nodes[at]]
            if what >= 0:
                mark(np.uint64(what), words)
            elif what <= FIRST_TARGET:
                target = FIRST_TARGET - what
                if seen[target] != now:
                    seen[target] = now
                    mark_slots(target, of_targets, values, words)


@borrowing
def mark_slots(target: int, starts: npt.NDArray[np.int64], values: Ints, words: Bits) -> None:
    """Mark those slots of a target that are not in the tail."""
    if target + 1 < len(starts):
        for at in range(np.uint64(starts[target]), np.uint64(starts[target + 1])):
            if values[at] != GAP:
                mark(np.uint64(values[at]), words)


@compiled
def group_elements(places: Ints, states: int, equal: Pairs, marks: Marks) -> Groups:
    """The groups of a document: `places` has the place of each element's state among `states`."""
    elements, equalities = equal
    # The pairs in the order of their states, otherwise in their given order.
    free = zeros_i32(states + 1)
    for pair in range(len(elements)):
        free[places[elements[pair]] + 1] += 1
    for place in range(states):
        free[place + 1] += free[place]
    order = new_i32(len(elements))
    for pair in range(len(elements)):
        place = places[elements[pair]]
        order[free[place]] = pair
        free[place] += 1
    of_states = new_i32(states + len(elements))
    of_equalities = new_i32(states + len(elements))
    of_equalities[:] = NO_EQUALITY
    for place in range(states):
        of_states[place] = place
    group_of = new_i32(len(elements))
    count = states
    for at in range(len(order)):
        pair = order[at]
        place, equality = places[elements[pair]], equalities[pair]
        if marks.equalities[equality] != marks.first_mark + place:
            marks.equalities[equality] = marks.first_mark + place
            marks.groups[equality] = count
            of_states[count], of_equalities[count] = place, equality
            count += 1
        group_of[pair] = marks.groups[equality]
    bits = no_bits(count, (len(places) + 64) >> 6)
    for element in range(len(places)):
        set_bit(bits, places[element], element + 1)
    for pair in range(len(elements)):
        set_bit(bits, group_of[pair], elements[pair] + 1)
    return Groups(of_states[:count].copy(), of_equalities[:count].copy(), bits)


@compiled
def find_candidates(
    reached: Reached, patterns: Patterns, groups: Groups, marks: Marks
) -> Candidates:
    """Targets whose paths are reached and whose equality holds, each with a group of elements.

    Targets of which nothing is left to check are marked at once. A target with an equality whose
    longest path no state reaches is skipped: nine of ten that satisfy the equality are.
    """
    starts, sizes, nodes = reached.held
    states, by_node, node_marks = reached.states, patterns.by_node, marks.nodes
    if len(groups.states) > len(states):
        _mark_reached(reached, marks.reached)
    found = new_i32(192)
    count = 0
    group = len(states)
    for which in range(len(states)):
        start = starts[states[which]]
        mine = nodes[start : start + sizes[states[which]]]
        last = group
        while last < len(groups.states) and groups.states[last] == which:
            last += 1
        if last > group or len(by_node.tail_keys):
            for at in range(len(mine)):
                node_marks[mine[at]] = marks.first_mark + which
        if len(by_node.values) or len(by_node.tail_keys):
            found = with_room(found, count + 3 * _reached_most(mine, by_node))
            count = _reached_by_node(mine, which, patterns, marks, found, count)
        if last > group:
            found, count = _equal(group, last, groups, patterns, marks, found, count)
        group = last
    return Candidates(found[:count:3].copy(), found[1:count:3].copy(), found[2:count:3].copy())


@borrowing
def _mark_reached(reached: Reached, words: Bits) -> None:
    """Make `words` the set of the nodes that any state reaches."""
    starts, sizes, nodes = reached.held
    words[:] = 0
    for which in range(len(reached.states)):
        start = starts[reached.states[which]]
        for at in range(start, start + sizes[reached.states[which]]):
            mark(np.uint64(nodes[at]), words)


@borrowing
def _reached_most(nodes: Ints, by_node: Lists) -> int:
    """The greatest number of targets that the nodes of one state can have."""
    most = len(by_node.tail_keys)
    starts = by_node.starts
    for at in range(len(nodes)):
        node = nodes[at]
        if node + 1 < len(starts):
            most += starts[node + 1] - starts[node]
    return most


@borrowing
def _reached_by_node(  # noqa: PLR0917 - compiled code has no keyword-only parameters
    nodes: Ints, group: int, patterns: Patterns, marks: Marks, found: Ints, count: int
) -> int:
    """Add the candidates that are targets at the nodes of one state, which are marked."""
    starts, values, tail_keys, tail_values = patterns.by_node
    _, _, conditions, at_document = patterns.targets
    node_marks, held = marks.nodes, marks.first_mark + group
    for at in range(len(nodes)):
        node = nodes[at]
        if node + 1 >= len(starts):
            continue
        for entry in range(starts[node], starts[node + 1]):
            target = values[entry]
            if target != GAP:
                check = 2 * conditions[target] + at_document[target]
                found[count], found[count + 1], found[count + 2] = target, group, check
                count += 3
    for entry in range(len(tail_keys)):
        target = tail_values[entry]
        if target != GAP and node_marks[tail_keys[entry]] == held:
            check = 2 * conditions[target] + at_document[target]
            found[count], found[count + 1], found[count + 2] = target, group, check
            count += 3
    return count


@compiled
def _equal(  # noqa: PLR0917 - likewise
    first: int,
    last: int,
    groups: Groups,
    patterns: Patterns,
    marks: Marks,
    found: Ints,
    count: int,
) -> tuple[Ints, int]:
    """Add the candidates of one state's groups with equalities, `first` to `last` - 1.

    A target's node must be one that the state holds. It is tested first that any state reaches its
    longest path: few are reached, and the set of these stays in the processor's nearest cache.
    Arrays are taken out of their tuples once.
    """
    starts, values, tail_keys, tail_values = patterns.by_equality
    target_nodes, target_reaches, conditions, at_document = patterns.targets
    nodes, reaches, checks, equalities = (
        patterns.equality_nodes,
        patterns.equality_reaches,
        patterns.equality_checks,
        groups.equalities,
    )
    node_marks, reached, seen, now = marks.nodes, marks.reached, marks.targets, marks.round
    of_targets, slots, words = patterns.slots.starts, patterns.slots.values, marks.words
    held = marks.first_mark + groups.states[first]
    for group in range(first, last):
        equality = equalities[group]
        begin = end = np.uint64(0)
        if equality + 1 < len(starts):
            begin, end = np.uint64(starts[equality]), np.uint64(starts[equality + 1])
        found = with_room(found, count + 3 * int(end - begin + np.uint64(len(tail_keys))))
        for entry in range(begin, end):
            if not is_marked(np.uint64(reaches[entry]), reached):
                continue
            target = values[entry]
            if node_marks[nodes[entry]] != held or target == GAP:
                continue
            check = checks[entry]
            if check >> 1 != ALWAYS_ID:
                found[count], found[count + 1], found[count + 2] = target, group, check
                count += 3
            elif seen[target] != now:
                seen[target] = now
                mark_slots(target, of_targets, slots, words)
        for entry in range(len(tail_keys)):
            target = tail_values[entry]
            if tail_keys[entry] != equality or target == GAP:
                continue
            if node_marks[target_nodes[target]] != held:
                continue
            if not is_marked(np.uint64(target_reaches[target]), reached):
                continue
            check = 2 * conditions[target] + at_document[target]
            if check >> 1 != ALWAYS_ID:
                found[count], found[count + 1], found[count + 2] = target, group, check
                count += 3
            elif seen[target] != now:
                seen[target] = now
                mark_slots(target, of_targets, slots, words)
    return found, count
