"""The paths that documents may have, and the share of them that a merger accepts needlessly.

The degree of imperfection of a merger s of s1 ... sn is `|P(s) - (P(s1) + ... + P(sn))| / |P(s)|`
(L418), P being the distinct root-to-leaf paths of the DTD that an XPE accepts, of at most `levels`
elements. They are counted without listing them: a table of the numbers of walks through the DTD's
graph that lead to an element with the same states of all XPEs, level by level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from sapwood.covering.xpe import XPE
from sapwood.model.patterns.conditions import Axis
from sapwood.xml.dtd import Paths

LEVELS: Final = 10
"""The levels of the documents in the work's experiments (L430)."""


class _Automaton:
    """An XPE that reads a path name by name.

    A state is a set of step numbers, as bits: those that may come next, right below the element
    if the step is a child's, else there or further down. From the empty state nothing is accepted.
    """

    __slots__ = ("_children", "_descendants", "_matches", "_xpe")

    def __init__(self, xpe: XPE) -> None:
        self._xpe = xpe
        self._children = sum(1 << at for at, step in enumerate(xpe) if step.axis is Axis.CHILD)
        self._descendants = ((1 << len(xpe)) - 1) & ~self._children
        #: name -> the steps that accept it; depends on the XPE alone
        self._matches: dict[str, int] = {}

    def read(self, state: int, name: str) -> int:
        """The state below an element `name`; `ACCEPTED` if the last step is satisfied there."""
        matches = self._matches.get(name)
        if matches is None:
            matches = self._matches[name] = sum(
                1 << at
                for at, step in enumerate(self._xpe)
                if step.test is None or step.test.accepts(name)
            )
        met = (state & matches) << 1
        if met >> len(self._xpe) & 1:
            return _ACCEPTED
        return (met & self._children) | ((met | state) & self._descendants)


_BEGIN: Final = 1
_ACCEPTED: Final = -1
_States: TypeAlias = tuple[int, ...]


class PathUniverse:
    """The root-to-leaf paths of a DTD of at most `levels` elements, each as likely as any other."""

    def __init__(self, paths: Paths, levels: int = LEVELS) -> None:
        self._paths = paths
        self._levels = levels
        #: (name, levels) -> the number of walks from there to an end, of at most `levels` elements;
        #: never changes
        self._walks: dict[tuple[str, int], int] = {}
        self._automata: dict[XPE, _Automaton] = {}
        #: XPEs -> the number of paths that any of them accepts; never changes
        self._counted: dict[frozenset[XPE], int] = {}

    def degree(self, merger: XPE, members: Sequence[XPE]) -> float:
        """The degree of imperfection, from 0 (perfect) to 1; 0 where the merger accepts no path.

        The merger must accept every path that a member accepts.
        """
        accepted = self.count((merger,))
        return 0.0 if not accepted else 1.0 - self.count(members) / accepted

    def is_within(self, budget: float, merger: XPE, members: Sequence[XPE]) -> bool:
        """True if the degree is at most `budget`; decides early where it is far from it."""
        needed = (1.0 - budget) * self.count((merger,))
        at_most = 0
        for member in dict.fromkeys(members):
            at_most += self.count((member,))
            if at_most >= needed:
                return self.degree(merger, members) <= budget
        return at_most >= needed

    def count(self, xpes: Sequence[XPE]) -> int:
        """The number of paths that any of the XPEs accepts."""
        distinct = frozenset(xpes)
        known = self._counted.get(distinct)
        if known is None:
            known = self._counted[distinct] = self._count(tuple(dict.fromkeys(xpes)))
        return known

    def _count(self, xpes: tuple[XPE, ...]) -> int:
        automata = [self._automaton(xpe) for xpe in xpes]
        total = 0
        arriving: dict[tuple[str, _States], int] = {(self._paths.root, (_BEGIN,) * len(xpes)): 1}
        for levels in range(self._levels, 0, -1):
            below: dict[tuple[str, _States], int] = {}
            for (name, states), walks in arriving.items():
                after = tuple(
                    automaton.read(state, name)
                    for automaton, state in zip(automata, states, strict=True)
                )
                if _ACCEPTED in after:
                    total += walks * self._walks_from(name, levels)
                elif any(after):
                    for child in self._paths.children(name):
                        place = (child, after)
                        below[place] = below.get(place, 0) + walks
            arriving = below
        return total

    def _automaton(self, xpe: XPE) -> _Automaton:
        known = self._automata.get(xpe)
        if known is None:
            known = self._automata[xpe] = _Automaton(xpe)
        return known

    def _walks_from(self, name: str, levels: int) -> int:
        """The number of walks from an element to an end, of at most `levels` elements."""
        if not levels:
            return 0
        known = self._walks.get((name, levels))
        if known is None:
            below = sum(self._walks_from(child, levels - 1) for child in self._paths.children(name))
            known = self._walks[name, levels] = below + (name in self._paths.ends)
        return known
