"""Literals: texts that a pattern requires, all found at once in a text.

A text that fits `%err_r%` has `err` in it. So a conjunction may be found by a *literal*, the
longest run of characters of a pattern that it requires: it lies in the cluster of that literal, and
an automaton finds all literals that occur in a text, in one pass over it (Aho and Corasick 1975).

The automaton of an attribute is a trie of the literals' bytes. Its states are numbered level by
level, those of one level in the order of their paths, so the children of a state have consecutive
numbers. The *fail* state of a state is the longest proper end of its path that is a state as well;
its *output* is the longest literal that ends there. Of `he`, `her`, `she`::

    state    0    1   2   3    4    5    6
    path          h   s   he   sh   her  she
    child    1    3   4   5    6    7    7    7 (where the last children end)
    label    -    h   s   e    h    r    e
    fail     0    0   0   0    1    0    3
    output   0    0   0   1    0    2    3    counted from 1: he, her, she
    next     0  0  1      of each literal the longest other one that ends it: she ends in he
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np

from sapwood.matching.columnar.access import Choice, Flags, Floats, Kind, LiteralClusters, Shape
from sapwood.matching.columnar.columns import ROOT_LABELS, U8, U32
from sapwood.matching.columnar.derived import Attribute, Function
from sapwood.matching.columnar.rows import ALONE, DECIDED, FORBIDDEN, Checks, Ints
from sapwood.matching.keys import text_bytes
from sapwood.model.like import Pattern
from sapwood.model.publication import Record
from sapwood.model.readings import Reading
from sapwood.model.strings import TextTest

BYTES_MAX: Final = 64
"""The length of a literal in bytes, at most; of a longer run of characters the last ones count."""

_FIRST_CHANCE: Final = 64.0
_BYTE_CHANCE: Final = 1 / 16
_CHANCE_MAX: Final = 0.9
_CHANCE_MIN: Final = 1e-6
"""The chance that a text has a literal, by the length of that, where nothing else is known."""

_WHOLE_GAIN: Final = 4.0
"""The factor by which a candidate is cheaper whose literal is equivalent to the pattern: any other
candidate has to be searched for the pattern."""

_SAMPLED_BYTES: Final = 1 << 15
"""Bytes of sampled texts that literals are searched for."""

LikePredicate: TypeAlias = tuple[str, TextTest]
"""An attribute, and a pattern or a reading that its text is tried against."""


class LiteralKernels(Protocol):
    """The module that finds fail states."""

    def find_fail_states(self, parent: Ints, label: Ints, child: Ints, fail: Ints) -> None:
        """Write the fail state of each state of an automaton to `fail`, which is all 0.

        The state `s` is reached from `parent[s]` by `label[s]`, and has the children `child[s]` up
        to `child[s + 1]`, their labels ascending; the root is 0.
        """


class Literal(NamedTuple):
    """A text that a pattern requires within an attribute's text, in lower case or as it is."""

    attribute: str
    is_lower: bool
    text: bytes
    is_whole: bool  # the literal is equivalent to the pattern


class Patterns(NamedTuple):
    """The like predicates by number, and the numbers of attributes."""

    predicates: Sequence[LikePredicate]
    attributes: Mapping[Attribute, int]


NO_PATTERNS: Final = Patterns((), {})


class Literals(NamedTuple):
    """The literals that conjunctions are found by: automata, and the conjunctions of each cluster.

    Automaton `k` is of `attribute[k]`, ascending, and has the states `start[k]` up to `start[k +
    1]`. The children of state `s` there are `child[s + k]` up to `child[s + k + 1]`, as an
    automaton has one element more than states. Literals are numbered by their states.
    """

    attribute: Ints  # [m]
    is_lower: U8  # [m]
    start: Ints  # [m + 1]
    root: U32  # [256 m] the state that a byte leads to, or 0
    child: U32  # [states + m]
    label: U8  # [states]
    fail: U32  # [states]
    output: U32  # [states] 1 + the number of a literal, or 0
    next: U32  # [l] likewise
    conjunction: Ints  # ascending
    literal: Ints  # the literal of each conjunction
    chance: Floats  # estimated share of records that have the literal
    check: Ints  # the check that the literal comes from
    is_whole: Flags  # true if the literal is equivalent to the check

    @property
    def implied(self) -> Ints:
        """The places of checks that need not be made after the lookup."""
        return self.check[self.is_whole]

    @property
    def clusters(self) -> LiteralClusters:
        """The conjunctions of each literal's cluster."""
        return LiteralClusters(self.conjunction, self.literal, len(self.next))


_NONE: Final[Ints] = np.zeros(0, np.int64)
_NO_BYTES: Final[U8] = np.zeros(0, np.uint8)
_NO_STATES: Final[U32] = np.zeros(0, np.uint32)
_NO_LITERALS: Final = Literals(
    attribute=_NONE,
    is_lower=_NO_BYTES,
    start=np.zeros(1, np.int64),
    root=_NO_STATES,
    child=_NO_STATES,
    label=_NO_BYTES,
    fail=_NO_STATES,
    output=_NO_STATES,
    next=_NO_STATES,
    conjunction=_NONE,
    literal=_NONE,
    chance=np.zeros(0),
    check=_NONE,
    is_whole=np.zeros(0, np.bool_),
)


def literal_of(predicate: LikePredicate) -> Literal | None:
    """The longest literal in every text that passes a predicate; `None` if there is none."""
    attribute, test = predicate
    if isinstance(test, Pattern):
        return _longest(attribute, test, is_lower=False, is_all=True)
    assert isinstance(test, Reading), "what is no pattern is a reading"
    if isinstance(test.values, tuple) or test.function != Function.LOWER.name.lower():
        return None
    within = test.values
    is_all = within.ranges == (("", None),) and len(within.required) == 1 and not within.forbidden
    found = (
        _longest(attribute, one, is_lower=True, is_all=is_all)
        for one in within.required
        if isinstance(one, Pattern)
    )
    return max(
        (one for one in found if one is not None), key=lambda one: len(one.text), default=None
    )


def guessed_chance(literal: Literal) -> float:
    """The share of texts that have a literal, as far as its length says."""
    guess = _FIRST_CHANCE * _BYTE_CHANCE ** len(literal.text)
    return float(min(max(guess, _CHANCE_MIN), _CHANCE_MAX))


def gain_of(literal: Literal) -> float:
    """The factor by which its candidates may outnumber those of another access predicate."""
    return _WHOLE_GAIN if literal.is_whole else 1.0


def _longest(attribute: str, test: Pattern, *, is_lower: bool, is_all: bool) -> Literal | None:
    runs = [text_bytes(run) for run in test.literals]
    if not runs:
        return None
    longest = max(runs, key=len)
    cut = longest[-BYTES_MAX:]
    return Literal(attribute, is_lower, cut, is_all and test.is_infix and cut == longest)


def found_by_literals(  # noqa: PLR0917 - all results for the segment so far
    checks: Checks,
    shapes: Shape,
    choice: Choice,
    patterns: Patterns,
    kernels: LiteralKernels,
    sample: Sequence[Record] = (),
) -> Literals:
    """The conjunctions for which a literal is a better lookup than the chosen constraint."""
    conjunctions = len(choice.kind)
    is_usable = (checks.flags & (ALONE | FORBIDDEN | DECIDED)) == ALONE
    places = np.flatnonzero(is_usable)
    if not len(places):
        return _NO_LITERALS
    numbers, which = np.unique(checks.predicate[places], return_inverse=True)
    options = [literal_of(patterns.predicates[number]) for number in numbers.tolist()]
    size = np.array([0 if one is None else len(one.text) for one in options], np.int64)[which]
    order = np.lexsort((-size, checks.owner[places]))
    order = order[np.diff(checks.owner[places][order], prepend=-1) > 0]
    order = order[size[order] > 0]
    places, which = places[order], which[order]
    owner = checks.owner[places]
    is_whole = np.array([one is not None and one.is_whole for one in options], np.bool_)[which]
    alone = np.ones(conjunctions)
    has_one = choice.constraint >= 0
    alone[has_one] = shapes.chance[choice.constraint[has_one]]
    guesses = np.array([0.0 if one is None else guessed_chance(one) for one in options])
    chance = guesses[which]
    # To search sampled texts takes some microseconds, so it is done only where another lookup
    # competes.
    contested = np.flatnonzero(alone[owner] < _CHANCE_MAX / 2)
    if len(contested) and sample:
        asked, back = np.unique(which[contested], return_inverse=True)
        wanted = [one for one in (options[at] for at in asked.tolist()) if one is not None]
        seen, records = _seen(wanted, sample)
        chance[contested] = (chance[contested] * 16 + seen[back]) / (16 + records)
    gain = np.where(is_whole, _WHOLE_GAIN, 1.0)
    is_better = chance <= alone[owner] * gain
    places, which, owner = places[is_better], which[is_better], owner[is_better]
    chance = chance[is_better]
    if not len(owner):
        return _NO_LITERALS
    used, literal = np.unique(which, return_inverse=True)
    chosen = [one for one in (options[at] for at in used.tolist()) if one is not None]
    users = _Users(owner, literal, chance, places, is_whole[is_better])
    return _automata(chosen, users, patterns.attributes, kernels)


def with_literals(choice: Choice, found: Literals) -> Choice:
    """`choice` with the conjunctions that have a better literal looked up by that."""
    if not len(found.conjunction):
        return choice
    kind, constraint, is_exact = (
        choice.kind.copy(),
        choice.constraint.copy(),
        choice.is_exact.copy(),
    )
    kind[found.conjunction] = Kind.LITERAL
    constraint[found.conjunction], is_exact[found.conjunction] = -1, False
    return Choice(kind, constraint, choice.second, is_exact)


def _seen(wanted: Sequence[Literal], sample: Sequence[Record]) -> tuple[Floats, int]:
    """The number of sampled records with each literal, and the number of records searched."""
    texts: dict[tuple[str, bool], list[bytes]] = {}
    counts = np.zeros(len(wanted))
    left, records = _SAMPLED_BYTES * max(1, len({one[:2] for one in wanted})), 0
    kinds = {one[:2] for one in wanted}
    for record in sample:
        if left <= 0:
            break
        records += 1
        for attribute, is_lower in kinds:
            value = record.get(attribute)
            if isinstance(value, str):
                text = text_bytes(value[:_SAMPLED_BYTES].lower() if is_lower else value)
                texts.setdefault((attribute, is_lower), []).append(text[:_SAMPLED_BYTES])
                left -= len(text)
    joined = {key: b"\xff".join(own) for key, own in texts.items()}
    for at, one in enumerate(wanted):
        if one.text in joined.get(one[:2], b""):
            counts[at] = sum(one.text in text for text in texts[one[:2]])
    return counts, records


class _Users(NamedTuple):
    """Conjunctions and the literal by which each is found; see `Literals`."""

    conjunction: Ints
    literal: Ints
    chance: Floats
    check: Ints
    is_whole: Flags


def _automata(
    chosen: Sequence[Literal],
    users: _Users,
    attributes: Mapping[Attribute, int],
    kernels: LiteralKernels,
) -> Literals:
    """The automata of the chosen literals."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for at, one in enumerate(chosen):
        groups.setdefault((attributes[one.attribute], one.is_lower), []).append(at)
    keys, number = sorted(groups), np.zeros(len(chosen), np.int64)
    parts: list[_Automaton] = []
    states = literals = 0
    for key in keys:
        texts: dict[bytes, list[int]] = {}
        for at in groups[key]:
            texts.setdefault(chosen[at].text, []).append(at)
        ordered = sorted(texts)
        part = _automaton(ordered, kernels)
        for text, place in zip(ordered, part.number.tolist(), strict=True):
            number[texts[text]] = literals + place
        parts.append(_moved(part, states, literals))
        states, literals = states + len(part.fail), literals + len(ordered)
    starts = np.cumsum([0, *(len(part.fail) for part in parts)])
    columns = zip(*(part[:6] for part in parts), strict=True)
    root, child, label, fail, output, following = (np.concatenate(column) for column in columns)
    return Literals(
        np.array([attribute for attribute, _ in keys], np.int64),
        np.array([is_lower for _, is_lower in keys], np.uint8),
        starts,
        root.astype(np.uint32),
        child.astype(np.uint32),
        label.astype(np.uint8),
        fail.astype(np.uint32),
        output.astype(np.uint32),
        following.astype(np.uint32),
        users.conjunction,
        number[users.literal],
        users.chance,
        users.check,
        users.is_whole,
    )


class _Automaton(NamedTuple):
    """One automaton by itself, whose root is state 0."""

    root: Ints
    child: Ints
    label: Ints
    fail: Ints
    output: Ints
    next: Ints
    number: Ints  # the number of each text in its order


def _moved(part: _Automaton, states: int, literals: int) -> _Automaton:
    """An automaton placed behind others, which have `states` and `literals` in all."""

    def moved(numbers: Ints, by: int) -> Ints:
        return np.where(numbers > 0, numbers + by, 0)

    return part._replace(
        root=moved(part.root, states),
        child=part.child + states,
        fail=part.fail + states,
        output=moved(part.output, literals),
        next=moved(part.next, literals),
    )


def _automaton(texts: Sequence[bytes], kernels: LiteralKernels) -> _Automaton:
    """The automaton of sorted texts without repetitions, none of them empty."""
    joined = np.frombuffer(b"".join(texts), np.uint8).astype(np.int64)
    sizes = np.array([len(text) for text in texts], np.int64)
    first = np.cumsum(sizes) - sizes
    node = np.zeros(len(texts), np.int64)
    keys: list[Ints] = []  # parent << 8 | label of all states but the root, ascending
    levels = [0, 1]
    active = np.arange(len(texts))
    for depth in range(int(sizes.max(initial=0))):
        active = active[sizes[active] > depth]
        key = node[active] << 8 | joined[first[active] + depth]
        is_new = np.ones(len(key), np.bool_)
        is_new[1:] = key[1:] != key[:-1]
        node[active] = levels[-1] - 1 + np.cumsum(is_new)
        keys.append(key[is_new])
        levels.append(levels[-1] + len(keys[-1]))
    states = levels[-1]
    steps = np.concatenate([np.zeros(0, np.int64), *keys])
    parent, label = np.append(0, steps >> 8), np.append(0, steps & 0xFF)
    child = np.ones(states + 1, np.int64)
    np.cumsum(np.bincount(parent[1:], minlength=states), out=child[1:])
    child[1:] += 1
    fail = np.zeros(states, np.int64)
    kernels.find_fail_states(parent, label, child, fail)
    terminal = np.sort(node)
    output = np.zeros(states, np.int64)
    output[terminal] = np.arange(1, len(texts) + 1)
    following = np.zeros(len(texts), np.int64)
    for begin, end in pairwise(levels[1:]):
        level = np.arange(begin, end)
        own, inherited = output[level], output[fail[level]]
        following[own[own > 0] - 1] = inherited[own > 0]
        output[level] = np.where(own > 0, own, inherited)
    root = np.zeros(ROOT_LABELS, np.int64)
    of_root = np.arange(1, child[1])
    root[label[of_root]] = of_root
    return _Automaton(root, child, label, fail, output, following, np.searchsorted(terminal, node))


def find_fail_states(parent: Ints, label: Ints, child: Ints, fail: Ints) -> None:
    """`LiteralKernels.find_fail_states` in plain Python: for small sets, without a compiler."""
    children = {
        (parent_of, by): state
        for state, (parent_of, by) in enumerate(zip(parent.tolist(), label.tolist(), strict=True))
        if state
    }
    assert len(children) == child[-1] - 1, "each state but the root is a child"
    found = [0] * len(parent)
    for (parent_of, by), state in children.items():
        at = parent_of
        while at:
            at = found[at]
            longest = children.get((at, by))
            if longest is not None:
                found[state] = longest
                break
    fail[:] = found
