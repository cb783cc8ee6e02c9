"""From texts to candidate ranges: all literals that occur in texts, found in one pass; compiled.

The automata are those of `columnar.literals`. A literal that was found once in a text, and all
literals that end it, are not found again: so a text of a million letters, in each of which a
hundred literals end, costs a step or two for each letter.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import I64, ROOT_LABELS, U8, U32, U64
from sapwood.matching.columnar.kernels.derivations import (
    LOWERED_BYTES,
    casing_of,
    lower_character,
)
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.views import (
    as_pointer,
    bytes_at,
    compiled,
    inlined,
    keep_alive,
    length,
    new_u8,
    offset,
    signed,
    u8,
    u32,
    zeros_i64,
)

SEEN: Final = 256
"""Elements of the table of literals that were found, at first; a record may have half as many."""

_GROWTH: Final = 8
_STAMP_BITS: Final = 32
_GOLDEN: Final = np.uint64(0x9E37_79B9_7F4A_7C15)

TEXT_COUNT: Final = 1
TEXT_WORDS: Final = 3
"""Texts of a record are noted as their number, then of each its attribute, its address and its
size. The number -1 means that no automaton needs them."""


class _Automaton(NamedTuple):
    """One automaton; see `columnar.literals.Literals`. All arrays are pointers without owners."""

    first: int  # the root of the automaton
    root: U32
    child: U32  # of state s: child[s]
    label: U8
    fail: U32
    output: U32
    next: U32
    start: U32  # the begins of clusters, from the first literal's on


class _Found(NamedTuple):
    """The memory to which found literals are written."""

    ranges: I64
    seen: I64  # a table of a power of two elements
    size: int  # of the table
    stamp: int  # of the record: other elements of the table are free


@compiled
def texts_noted(buffer: U64, attributes: int) -> I64:
    """Room to note the texts of a record; marked as unused where no literals are searched."""
    if length(buffer, at_column.LITERAL_ATTRIBUTE):
        return zeros_i64(TEXT_COUNT + TEXT_WORDS * attributes)
    noted = zeros_i64(TEXT_COUNT)
    noted[0] = -1
    return noted


@compiled
def literals_seen(buffer: U64) -> I64:
    """An empty table of found literals; without room where no literals are searched."""
    return zeros_i64(SEEN if length(buffer, at_column.LITERAL_ATTRIBUTE) else 0)


@inlined
def find_all_literals(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    names: U64,
    texts: I64,
    candidate_ranges: I64,
    begin: int,
    seen: I64,
    stamp: int,
) -> tuple[int, I64, I64]:
    """The candidate ranges of all literals in a record's texts, appended to those before `begin`.

    `seen` is the table of `find_literals`, and `stamp` a number that no record had before. Returns
    the number of candidate ranges then, and both arrays, grown as needed.
    """
    found = 0
    if texts[0] > 0:
        found = -1
        while found < 0:
            candidate_ranges = grown(candidate_ranges, 2 * begin + len(seen))
            found = find_literals(
                buffer, names, as_pointer(texts), offset(candidate_ranges, 2 * begin),
                as_pointer(seen), len(seen), stamp,
            )  # fmt: skip
            if found < 0:
                seen = zeros_i64(_GROWTH * len(seen))
    return begin + found, candidate_ranges, seen


@compiled
def find_literals(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, names: U64, texts: I64, candidate_ranges: I64, seen: I64, size: int, stamp: int
) -> int:
    """Write first entry and end of the cluster of each literal that occurs in the noted texts.

    `seen` has `size` elements, a power of two, and `candidate_ranges` room for half as many ranges.
    Returns the number of ranges, or -1 if there are more.
    """
    attributes = u32(buffer, at_column.LITERAL_ATTRIBUTE)
    automata = length(buffer, at_column.LITERAL_ATTRIBUTE)
    found, count = _Found(candidate_ranges, seen, size, stamp), 0
    for number in range(texts[0]):
        at = TEXT_COUNT + TEXT_WORDS * number
        attribute = texts[at]
        low, high = 0, automata
        while low < high:
            middle = (low + high) >> 1
            is_below = signed(attributes[middle]) < attribute
            low, high = middle + 1 if is_below else low, high if is_below else middle
        while low < automata and signed(attributes[low]) == attribute:
            letters, last = bytes_at(np.uint64(texts[at + 1])), texts[at + 2]
            automaton = _automaton_of(buffer, low)
            if u8(buffer, at_column.LITERAL_IS_LOWER)[low]:
                count = _scan_lowered(automaton, casing_of(names), letters, last, found, count)
            else:
                count = _scan(automaton, letters, last, found, count)
            if count < 0:
                return -1
            low += 1
    return count


@compiled
def _automaton_of(buffer: U64, which: int) -> _Automaton:
    cluster = signed(u32(buffer, at_column.LITERAL_CLUSTER)[0])
    return _Automaton(
        signed(u32(buffer, at_column.LITERAL_START)[which]),
        offset(u32(buffer, at_column.LITERAL_ROOT), ROOT_LABELS * which),
        offset(u32(buffer, at_column.LITERAL_CHILD), which),
        u8(buffer, at_column.LITERAL_LABEL),
        u32(buffer, at_column.LITERAL_FAIL),
        u32(buffer, at_column.LITERAL_OUTPUT),
        u32(buffer, at_column.LITERAL_NEXT),
        offset(u32(buffer, at_column.CLUSTER_START), cluster),
    )


@compiled
def _scan(automaton: _Automaton, letters: U8, last: int, found: _Found, count: int) -> int:
    """Find the literals in the first `last` letters; returns the new count, or -1."""
    state = automaton.first
    for at in range(last):
        state = _step(automaton, state, signed(letters[at]))
        output = signed(automaton.output[state])
        if output:
            count = _note(automaton, output, found, count)
            if count < 0:
                return -1
    return count


@compiled
def _scan_lowered(  # noqa: PLR0917 - compiled code takes arrays apart
    automaton: _Automaton, casing: U64, letters: U8, last: int, found: _Found, count: int
) -> int:
    """`_scan` of the letters in lower case."""
    room = new_u8(LOWERED_BYTES)
    lowered = as_pointer(room)
    state, at = automaton.first, 0
    while at < last and count >= 0:
        here, size = signed(letters[at]), 1
        if here < 0x80:
            lowered[0] = here + 32 if 0x41 <= here <= 0x5A else here
            at += 1
        else:
            size, at = lower_character(casing, letters, 0, at, last, lowered)
        for place in range(size):
            state = _step(automaton, state, signed(lowered[place]))
            output = signed(automaton.output[state])
            if output and count >= 0:
                count = _note(automaton, output, found, count)
    keep_alive(room)
    return count


@compiled
def _step(automaton: _Automaton, state: int, letter: int) -> int:
    """The state after one letter more."""
    while state != automaton.first:
        low, end = signed(automaton.child[state]), signed(automaton.child[state + 1])
        high = end
        while low < high:
            middle = (low + high) >> 1
            is_below = signed(automaton.label[middle]) < letter
            low, high = middle + 1 if is_below else low, high if is_below else middle
        if low < end and signed(automaton.label[low]) == letter:
            return low
        state = signed(automaton.fail[state])
    child = signed(automaton.root[letter])
    return child if child else automaton.first


@compiled
def _note(automaton: _Automaton, output: int, found: _Found, count: int) -> int:
    """Write the clusters of a literal and of those that end it; see `_scan`."""
    mask = found.size - 1
    while output:
        key = found.stamp << _STAMP_BITS | output
        place = signed(np.uint64(output) * _GOLDEN >> np.uint64(_STAMP_BITS)) & mask
        while found.seen[place] >> _STAMP_BITS == found.stamp:
            if found.seen[place] == key:
                return count  # and so were the literals that end it
            place = (place + 1) & mask
        if 2 * count + 2 > found.size:
            return -1
        found.seen[place] = key
        first, end = signed(automaton.start[output - 1]), signed(automaton.start[output])
        found.ranges[2 * count], found.ranges[2 * count + 1] = first, end
        count += 1
        output = signed(automaton.next[output - 1])
    return count


@compiled
def find_fail_states(parent: I64, label: I64, child: I64, fail: I64) -> None:
    """`LiteralKernels.find_fail_states`; a state's parent is numbered before it."""
    for state in range(1, len(parent)):
        at, longest = parent[state], 0
        while at and not longest:
            at = fail[at]
            low, end = child[at], child[at + 1]
            high = end
            while low < high:
                middle = (low + high) >> 1
                is_below = label[middle] < label[state]
                low, high = middle + 1 if is_below else low, high if is_below else middle
            if low < end and label[low] == label[state]:
                longest = low
        fail[state] = longest
