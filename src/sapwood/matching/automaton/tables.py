"""The tables of an engine's patterns, apart from the ones derived from them to search fast.

Names, paths, conditions, equalities, targets, and the target of each slot: an engine can be made of
these tables, and they are saved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.automaton.access import Access
from sapwood.matching.automaton.conditions import ALWAYS_ID, ConditionTable
from sapwood.matching.automaton.encoding import Encoder
from sapwood.matching.automaton.equalities import Equalities
from sapwood.matching.automaton.names import ANY, Names
from sapwood.matching.automaton.paths import PathTrie
from sapwood.matching.automaton.postings import FIRST_TARGET, GAP
from sapwood.matching.automaton.targets import NO_EQUALITY, TargetTable

Ints = npt.NDArray[np.int32]


class Tables(NamedTuple):
    """The tables; `of_slots` is the target of each slot, `GAP` for a free one.

    `encoder` has a cache of numbers and is not saved.
    """

    names: Names
    paths: PathTrie
    conditions: ConditionTable
    encoder: Encoder
    equalities: Equalities
    targets: TargetTable
    of_slots: Ints

    @classmethod
    def empty(cls) -> Tables:
        """The tables of no patterns."""
        names = Names()
        conditions = ConditionTable(names)
        encoder = Encoder(names, conditions)
        equalities, no_slots = Equalities(names, encoder), np.zeros(0, np.int32)
        return cls(names, PathTrie(), conditions, encoder, equalities, TargetTable(), no_slots)

    def access(self, target: int) -> Access:
        """The access that a target was made of."""
        fields, tests = self.targets[target], self.names.tests
        path, reach = (
            tuple(
                (axis, None if test == ANY else tests[test - 1])
                for axis, test in self.paths.path(node)
            )
            for node in (fields.node, fields.reach)
        )
        equality = None
        if fields.equality != NO_EQUALITY:
            equality = self.equalities.equality(fields.equality)
        rest = self.conditions.condition(fields.condition)
        return Access(path, reach, equality, rest, at_document=fields.at_document)

    def by_node(self) -> Ints:
        """The node of each target that has something to check and is not found by an equality."""
        nodes, _, equalities, conditions, _, _ = self.targets.columns()
        is_listed = (equalities == NO_EQUALITY) & (conditions != ALWAYS_ID) & self._is_used()
        return np.where(is_listed, nodes, GAP).astype(np.int32)

    def by_equality(self) -> Ints:
        """The equality of each target that is found by one."""
        _, _, equalities, _, _, _ = self.targets.columns()
        is_listed = (equalities != NO_EQUALITY) & self._is_used()
        return np.where(is_listed, equalities, GAP).astype(np.int32)

    def plain(self) -> Ints:
        """The slot or target at each node with nothing to check: `search.Patterns.plain`."""
        nodes, _, equalities, conditions, _, _ = self.targets.columns()
        plain = (equalities == NO_EQUALITY) & (conditions == ALWAYS_ID) & self._is_used()
        found = np.full(len(self.paths), GAP, np.int32)
        several = np.flatnonzero(plain & (self.targets.users.view > 1))
        found[nodes[several]] = FIRST_TARGET - several
        slots = np.flatnonzero(self.of_slots != GAP)
        alone = plain & (self.targets.users.view == 1)
        slots = slots[alone[self.of_slots[slots]]]
        found[nodes[self.of_slots[slots]]] = slots
        return found

    def _is_used(self) -> npt.NDArray[np.bool_]:
        used: npt.NDArray[np.bool_] = self.targets.users.view > 0
        return used
