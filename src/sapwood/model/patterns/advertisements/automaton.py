"""The automaton of a path expression: one state for each step (Glushkov 1961).

A state is the step last read, and sets of states are the bits of an integer. Every state leads to
an end, since no part of an expression is empty or impossible; so a set that is not empty is a path
that can be completed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import or_
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.model.patterns.advertisements.expressions import (
    Chain,
    Choice,
    Expression,
    Repeat,
    Step,
)

START: Final = 0
"""The set before anything was read. No other set is empty as long as a path can go on."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """State `s` reads `names[s]` (`None`: any name); `first`, `last` and `follow` are sets.

    Paths begin in `first`, may end in `last`, and go on from `s` in `follow[s]`.
    """

    names: tuple[str | None, ...]
    first: int
    last: int
    follow: tuple[int, ...]
    #: name -> the states that read it, those that read any name among them
    _readers: Mapping[str, int] = field(init=False, compare=False, repr=False)
    #: the states that read any name
    _readers_of_any: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        readers: dict[str | None, int] = {None: 0}
        for state, name in enumerate(self.names):
            readers[name] = readers.get(name, 0) | 1 << state
        any_name = readers.pop(None)
        named = {name: states | any_name for name, states in readers.items() if name is not None}
        object.__setattr__(self, "_readers", MappingProxyType(named))
        object.__setattr__(self, "_readers_of_any", any_name)

    def readers(self, name: str) -> int:
        """The states that read this name."""
        return self._readers.get(name, self._readers_of_any)

    def next(self, states: int) -> int:
        """The states that can come after these."""
        if states == START:
            return self.first
        found = 0
        for state in bits(states):
            found |= self.follow[state]
        return found

    def by_letter(self, states: int) -> Iterator[int]:
        """The subset of `states` that reads a name, for each name that one of them reads.

        For all other names there is one more subset, of the states that read any name.
        """
        rest = states & ~self._readers_of_any
        while rest:
            name = self.names[(rest & -rest).bit_length() - 1]
            assert name is not None, "states that read any name were taken away"
            reading = states & self._readers[name]
            yield reading
            rest &= ~reading
        if states & self._readers_of_any:
            yield states & self._readers_of_any


def bits(states: int) -> Iterator[int]:
    """The states of a set."""
    while states:
        low = states & -states
        yield low.bit_length() - 1
        states ^= low


def automaton_of(expression: Expression) -> Automaton:
    """The automaton that accepts the words of the expression."""
    names: list[str | None] = []
    follow: list[int] = []
    ends = _add(expression, names, follow)
    return Automaton(tuple(names), ends.first, ends.last, tuple(follow))


class _Ends(NamedTuple):
    first: int
    last: int


def _add(expression: Expression, names: list[str | None], follow: list[int]) -> _Ends:
    """Add the states of a part; returns where it begins and where it may end."""
    match expression:
        case Step(name=name):
            names.append(name)
            follow.append(0)
            only = 1 << len(names) - 1
            return _Ends(only, only)
        case Choice(alternatives=alternatives):
            ends = [_add(one, names, follow) for one in alternatives]
            return _Ends(_union(one.first for one in ends), _union(one.last for one in ends))
        case Chain(parts=parts):
            ends = [_add(one, names, follow) for one in parts]
            for above, below in pairwise(ends):
                _link(follow, above.last, below.first)
            return _Ends(ends[0].first, ends[-1].last)
        case Repeat(inner=inner):
            whole = _add(inner, names, follow)
            _link(follow, whole.last, whole.first)
            return whole


def _link(follow: list[int], above: int, below: int) -> None:
    for state in bits(above):
        follow[state] |= below


def _union(sets: Iterator[int]) -> int:
    return reduce(or_, sets)
