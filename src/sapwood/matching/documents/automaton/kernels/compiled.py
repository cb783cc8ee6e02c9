"""Kernels of the path automaton, compiled by numba and cached on disk.

Everything is a free function on arrays. What a kernel keeps between documents (marks) is an array
of round numbers, so that nothing has to be cleared.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.documents.automaton.conditions import (
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
from sapwood.matching.documents.automaton.names import ANY
from sapwood.matching.documents.automaton.postings import FIRST_TARGET, GAP, Lists
from sapwood.matching.documents.automaton.search import (
    Asked,
    Candidates,
    Groups,
    Marks,
    Patterns,
    Reached,
)
from sapwood.matching.documents.automaton.states import Growth
from sapwood.matching.kernels.views import compiled

_DE_BRUIJN: Final = np.uint64(0x03F79D71B4CB0A89)
_PLACES: Final = np.argsort(
    [((1 << at) * 0x03F79D71B4CB0A89 & 2**64 - 1) >> 58 for at in range(64)]
)
"""Multiplied by a de Bruijn sequence, the 64 words of a single bit differ in their first six bits;
the table leads from those back to the place of the bit (Leiserson, Prokop and Randall 1998)."""

_PAIRS: Final = np.uint64(0x5555555555555555)
_FOURS: Final = np.uint64(0x3333333333333333)
_BYTES: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM: Final = np.uint64(0x0101010101010101)

_ONE: Final = np.uint64(1)
_WORD_BITS: Final = np.uint64(6)
_IN_WORD: Final = np.uint64(63)

Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint64]


@compiled
def new_nodes(growth: Growth) -> Ints:
    """The trie's nodes from `seen` on that a state holds, ascending."""
    trie, held, symbol, mark = growth.trie, growth.held, growth.symbol, growth.mark
    parent = growth.parents[growth.state]
    ancestor = parent
    while ancestor >= 0:
        start = held.starts[ancestor]
        for at in range(start, start + held.sizes[ancestor]):
            growth.above[held.nodes[at]] = mark
            if ancestor == parent:
                growth.beside[held.nodes[at]] = mark
        ancestor = growth.parents[ancestor]
    found = np.empty(64, np.int32)
    count = 0
    by_test = trie.by_test
    for way in range(3):
        test = ANY if way == 0 else symbol[way - 1]
        if test < 0 or test + 1 >= len(by_test.starts):
            continue
        first, last = by_test.starts[test], by_test.starts[test + 1]
        first += np.searchsorted(by_test.values[first:last], growth.seen)
        for at in range(first, last):
            node = by_test.values[at]
            if _is_reached(growth, node):
                found = _with(found, count, node)
                count += 1
    for at in range(len(by_test.tail_keys)):
        node, test = by_test.tail_values[at], by_test.tail_keys[at]
        passes = (test == ANY) | (test == symbol[0]) | (test == symbol[1])
        if node >= growth.seen and passes and _is_reached(growth, node):
            found = _with(found, count, node)
            count += 1
    return np.sort(found[:count])


@compiled
def _is_reached(growth: Growth, node: int) -> Any:
    """Whether the node before this one is held where the step begins."""
    marks = growth.above if growth.trie.descendant[node] else growth.beside
    return marks[growth.trie.parents[node]] == growth.mark


@compiled
def _with(values: Ints, count: int, value: int) -> Ints:
    """The array with a value at `count`, in a larger one if it is full."""
    if count == len(values):
        grown = np.empty(2 * count, np.int32)
        grown[:count] = values
        values = grown
    values[count] = value
    return values


@compiled
def mark_plain(reached: Reached, plain: Ints, slots: Lists, marks: Marks) -> None:
    """Mark what the states reach: the patterns of which nothing is left to check.

    `plain` and `slots` are those of `search.Patterns`; handing over all of that takes longer.
    """
    starts, sizes, nodes = reached.held
    states, words, seen, now = reached.states, marks.words, marks.targets, marks.round
    of_targets, values = slots.starts, slots.values
    for which in range(len(states)):
        start = starts[states[which]]
        for at in range(start, start + sizes[states[which]]):
            what = plain[nodes[at]]
            if what >= 0:
                _mark(np.uint64(what), words)
            elif what <= FIRST_TARGET:
                target = FIRST_TARGET - what
                if seen[target] != now:
                    seen[target] = now
                    _mark_slots(target, of_targets, values, words)


@compiled
def _mark(slot: np.uint64, words: Bits) -> None:
    """Set the bit of a slot.

    The slot is unsigned, because a signed index is first asked whether it counts from the end,
    which takes as long as the marking itself.
    """
    words[slot >> _WORD_BITS] |= _ONE << (slot & _IN_WORD)


@compiled
def _mark_slots(target: int, starts: npt.NDArray[np.int64], values: Ints, words: Bits) -> None:
    """Mark those slots of a target that are not in the tail."""
    if target + 1 < len(starts):
        for at in range(np.uint64(starts[target]), np.uint64(starts[target + 1])):
            if values[at] != GAP:
                _mark(np.uint64(values[at]), words)


@compiled
def _take(target: int, slots: Lists, marks: Marks) -> None:
    """Mark a target, and those of its slots that are not in the tail."""
    marks.targets[target] = marks.round
    _mark_slots(target, slots.starts, slots.values, marks.words)


@compiled
def find_candidates(
    reached: Reached, patterns: Patterns, groups: Groups, marks: Marks
) -> Candidates:
    """Targets whose paths are there and whose equality holds, each with the group of elements.

    Those of which nothing is left to check are marked at once. A target with an equality whose
    longest path no state reaches is passed over: nine of ten that satisfy the equality are.
    """
    starts, sizes, nodes = reached.held
    states = reached.states
    if len(groups.states) > len(states):
        for which in range(len(states)):
            start = starts[states[which]]
            for at in range(start, start + sizes[states[which]]):
                marks.reached[nodes[at]] = marks.round
    pairs = np.empty(128, np.int32)
    count = 0
    group = len(states)
    for which in range(len(states)):
        start = starts[states[which]]
        mine = nodes[start : start + sizes[states[which]]]
        mark = marks.first_node_mark + which
        marks.nodes[mine] = mark
        pairs = _with_room(pairs, count + 2 * _reached_most(mine, patterns.by_node))
        count = _reached_by_node(mine, which, patterns.by_node, marks, pairs, count)
        last = group
        while last < len(groups.states) and groups.states[last] == which:
            last += 1
        if last > group:
            pairs, count = _equal(group, last, groups, patterns, marks, pairs, count)
        group = last
    return Candidates(pairs[:count:2].copy(), pairs[1:count:2].copy())


@compiled
def _with_room(values: Ints, size: int) -> Ints:
    """The array, or a larger one that begins with it, with room for `size`."""
    if size <= len(values):
        return values
    grown = np.empty(2 * size, np.int32)
    grown[: len(values)] = values
    return grown


@compiled
def _reached_most(nodes: Ints, by_node: Lists) -> int:
    """How many targets the nodes of one state can have at most."""
    most = len(by_node.tail_keys)
    starts = by_node.starts
    for at in range(len(nodes)):
        node = nodes[at]
        if node + 1 < len(starts):
            most += starts[node + 1] - starts[node]
    return most


@compiled
def _reached_by_node(  # noqa: PLR0917 - compiled code has no keyword-only parameters
    nodes: Ints, group: int, by_node: Lists, marks: Marks, pairs: Ints, count: int
) -> int:
    """Add the pairs of the targets at the nodes of one state, which are marked."""
    starts, values, tail_keys, tail_values = by_node
    seen, now = marks.targets, marks.round
    for at in range(len(nodes)):
        node = nodes[at]
        if node + 1 >= len(starts):
            continue
        for entry in range(starts[node], starts[node + 1]):
            target = values[entry]
            if target != GAP and seen[target] != now:
                pairs[count], pairs[count + 1] = target, group
                count += 2
    for entry in range(len(tail_keys)):
        target = tail_values[entry]
        mark = marks.first_node_mark + group
        if target != GAP and marks.nodes[tail_keys[entry]] == mark and seen[target] != now:
            pairs[count], pairs[count + 1] = target, group
            count += 2
    return count


@compiled
def _equal(  # noqa: PLR0917 - likewise
    first: int,
    last: int,
    groups: Groups,
    patterns: Patterns,
    marks: Marks,
    pairs: Ints,
    count: int,
) -> tuple[Ints, int]:
    """Add the pairs of one state's groups with equalities, `first` to `last` - 1.

    A target's node must be one that the state holds. Arrays are taken out of their tuples once.
    """
    starts, values, tail_keys, tail_values = patterns.by_equality
    target_nodes, target_reaches, conditions, _ = patterns.targets
    nodes, reaches, equalities = (
        patterns.equality_nodes,
        patterns.equality_reaches,
        groups.equalities,
    )
    node_marks, reached, seen, now = marks.nodes, marks.reached, marks.targets, marks.round
    mark = marks.first_node_mark + groups.states[first]
    for group in range(first, last):
        equality = equalities[group]
        begin = end = np.int64(0)
        if equality + 1 < len(starts):
            begin, end = starts[equality], starts[equality + 1]
        pairs = _with_room(pairs, count + 2 * int(end - begin + len(tail_keys)))
        for entry in range(begin, end):
            if node_marks[nodes[entry]] != mark or reached[reaches[entry]] != now:
                continue
            target = values[entry]
            if target == GAP or seen[target] == now:
                continue
            if conditions[target] != ALWAYS_ID:
                pairs[count], pairs[count + 1] = target, group
                count += 2
            else:
                _take(target, patterns.slots, marks)
        for entry in range(len(tail_keys)):
            target = tail_values[entry]
            if tail_keys[entry] != equality or target == GAP or seen[target] == now:
                continue
            if node_marks[target_nodes[target]] != mark or reached[target_reaches[target]] != now:
                continue
            if conditions[target] != ALWAYS_ID:
                pairs[count], pairs[count + 1] = target, group
                count += 2
            else:
                _take(target, patterns.slots, marks)
    return pairs, count


@compiled
def check_candidates(
    candidates: Candidates, groups: Groups, patterns: Patterns, asked: Asked, marks: Marks
) -> None:
    """Mark the candidates of which the condition holds, at the document or at some element."""
    _, _, conditions, at_document = patterns.targets
    bits, row_of, seen, now = groups.bits, marks.rows, marks.targets, marks.round
    needed = _needed(candidates.targets, conditions, asked.conditions, marks)
    rows = np.zeros((len(needed), bits.shape[1]), np.uint64)
    _evaluate(needed, rows, asked, row_of)
    found, of_groups = candidates
    for at in range(len(found)):
        target = found[at]
        if seen[target] == now:
            continue
        row = row_of[conditions[target]]
        common = np.uint64(0)
        if at_document[target]:
            common = rows[row, 0] & np.uint64(1)
        else:
            group = of_groups[at]
            for word in range(bits.shape[1]):
                common |= rows[row, word] & bits[group, word]
        if common:
            _take(target, patterns.slots, marks)


@compiled
def _needed(found: Ints, of_targets: Ints, conditions: Conditions, marks: Marks) -> Ints:
    """The conditions of the targets and all that they are made of, ascending."""
    seen, now = marks.conditions, marks.round
    kinds, first, second, operands = (
        conditions.kinds,
        conditions.first,
        conditions.second,
        conditions.operands,
    )
    needed = np.empty(64, np.int32)
    count = 0
    for at in range(len(found)):
        condition = of_targets[found[at]]
        if seen[condition] != now:
            seen[condition] = now
            needed = _with(needed, count, condition)
            count += 1
    done = 0
    while done < count:
        condition = needed[done]
        done += 1
        kind = kinds[condition]
        if kind in (CHILD, DESCENDANT):
            inner = second[condition]
            if inner != ALWAYS_ID and seen[inner] != now:
                seen[inner] = now
                needed = _with(needed, count, inner)
                count += 1
        elif kind in (ALL_OF, ANY_OF):
            for place in range(first[condition], second[condition]):
                inner = operands[place]
                if seen[inner] != now:
                    seen[inner] = now
                    needed = _with(needed, count, inner)
                    count += 1
    return np.sort(needed[:count])


@compiled
def _evaluate(needed: Ints, rows: Bits, asked: Asked, row_of: Ints) -> None:
    """Set the bit of each element at which a condition holds, in the row of each condition.

    Bit 0 is the document's. Conditions come after what they are made of. Arrays are taken out of
    their tuples once, because handing over a tuple counts a reference of each of its arrays.
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
            inner = -1
            some = np.uint64(1)
            if second != ALWAYS_ID:
                inner = int(row_of[second])
                some = np.uint64(0)
                for word in range(words):
                    some |= rows[inner, word]
            if some and first + 1 < len(starts):
                named = elements[starts[first] : starts[first + 1]]
                _evaluate_below(kind == CHILD, named, inner, row, rows, parents)
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

    Most conditions ask for one name, which few elements have.
    """
    highest = max(int(np.max(local)), int(np.max(expanded)), ANY)
    starts = np.zeros(highest + 2, np.int32)
    for tests in (local, expanded):
        for element in range(len(tests)):
            if tests[element] > ANY:
                starts[tests[element] + 1] += 1
    starts[ANY + 1] = len(local)
    for test in range(highest + 1):
        starts[test + 1] += starts[test]
    free = starts.copy()
    elements = np.empty(starts[-1], np.int32)
    for element in range(len(local)):
        elements[element] = element
        for tests in (local, expanded):
            if tests[element] > ANY:
                elements[free[tests[element]]] = element
                free[tests[element]] += 1
    return starts, elements


@compiled
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
                _set(rows, row, elements[at] + 1)
        return
    if kind == TEXT:
        texts, numbers = document.text_texts, document.text_numbers
    else:
        texts, numbers = document.value_texts, document.value_numbers
    for at in range(len(texts)):
        if _compares(relation, literal, wanted, texts[at], numbers[at]):
            _set(rows, row, (document.text_elements[at] if kind == TEXT else at) + 1)


@compiled
def _evaluate_below(  # noqa: PLR0917 - likewise
    is_child: bool,  # noqa: FBT001 - likewise
    named: Ints,
    inner: int,
    row: int,
    rows: Bits,
    parents: Ints,
) -> None:
    """Set the bits of the parents, or of all ancestors, of the elements that are wanted.

    `named` are the elements of the name, and `inner` the row of those that are wanted if they are
    among them; -1 for all.
    """
    for element in named:
        if inner >= 0 and not _is_set(rows, inner, element + 1):
            continue
        ancestor = parents[element]
        if is_child:
            _set(rows, row, ancestor + 1)
            continue
        while not _is_set(rows, row, ancestor + 1):
            _set(rows, row, ancestor + 1)
            if ancestor < 0:
                break
            ancestor = parents[ancestor]


@compiled
def _compares(relation: int, literal: int, wanted: float, text: int, number: float) -> Any:
    """Whether a value, as the number of a text and as a number, compares."""
    if relation == NO_RELATION:
        return True
    if literal != NO_TEXT:
        return (text == literal) == (relation == EQUAL)
    if relation in (EQUAL, DIFFERENT):
        return (number == wanted) == (relation == EQUAL)
    if relation in (LESS, AT_MOST):
        return number < wanted or (relation == AT_MOST and number == wanted)
    return number > wanted or (relation == AT_LEAST and number == wanted)


@compiled
def _set(rows: Bits, row: int, at: int) -> None:
    rows[row, at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@compiled
def _is_set(rows: Bits, row: int, at: int) -> Any:
    return (rows[row, at >> 6] >> np.uint64(at & 63)) & np.uint64(1) != 0


@compiled
def count(slots: Lists, marks: Marks) -> int:
    """How many slots are marked, once those in the tail whose targets are marked are marked too."""
    words = marks.words
    for at in range(len(slots.tail_keys)):
        slot = slots.tail_values[at]
        if slot != GAP and marks.targets[slots.tail_keys[at]] == marks.round:
            _mark(np.uint64(slot), words)
    found = np.uint64(0)
    for word in range(len(words)):
        # Bits are added in pairs, fours and bytes, and the bytes by one multiplication.
        bits = words[word]
        bits -= (bits >> _ONE) & _PAIRS
        bits = (bits & _FOURS) + ((bits >> np.uint64(2)) & _FOURS)
        bits = (bits + (bits >> np.uint64(4))) & _BYTES
        found += (bits * _SUM) >> np.uint64(56)
    return int(found)


@compiled
def collect(marks: Marks, found: Ints) -> None:
    """Write the marked slots into `found`, ascending, and clear their marks."""
    at = 0
    words = marks.words
    for word in range(len(words)):
        bits = words[word]
        if bits == 0:
            continue
        words[word] = 0
        base = word << 6
        while bits:
            low = bits & (~bits + np.uint64(1))
            found[at] = base + _PLACES[(low * _DE_BRUIJN) >> np.uint64(58)]
            at += 1
            bits ^= low
