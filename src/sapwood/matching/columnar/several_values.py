"""Comparisons of records whose attributes have several values that are made in Python.

The filters are those of the memtable, and conjunctions with pattern checks whose ranks a kernel has
compared (`kernels.several`). Either way one value of an attribute has to satisfy all constraints on
it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import numpy as np

from sapwood.matching.columnar import restoring
from sapwood.matching.columnar.columns import I32
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.like_checks import Flags
from sapwood.matching.columnar.literals import LikePredicate
from sapwood.matching.columnar.rows import DECIDED, FORBIDDEN
from sapwood.matching.columnar.segment import Segment
from sapwood.model import packing
from sapwood.model.like import Pattern
from sapwood.model.publication import ManyValued, Value


class SortedValues:
    """The values of one attribute, by type and sorted: a range is searched for in a few steps."""

    def __init__(self, values: Sequence[Value]) -> None:
        self.flags = 0
        numbers: list[int | float] = []
        texts: list[str] = []
        for value in values:
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, bool):
                self.flags |= packing.TRUE if value else packing.FALSE
            else:
                numbers.append(value)
        self.numbers, self.texts = sorted(numbers), sorted(texts)

    def meet(self, constraint: packing.PackedConstraint) -> bool:
        """True if one of the values satisfies a packed constraint."""
        _, flags, intervals, ranges = constraint
        if flags & self.flags:
            return True
        numbers, texts = self.numbers, self.texts
        for low, high, ends in intervals if numbers else ():
            begin = (bisect_right if ends & packing.LOW_OPEN else bisect_left)(numbers, low)
            end = (bisect_left if ends & packing.HIGH_OPEN else bisect_right)(numbers, high)
            if begin < end:
                return True
        for first, beyond in ranges if texts else ():
            begin = bisect_left(texts, first)
            if begin < len(texts) and (beyond is None or texts[begin] < beyond):
                return True
        return False


class SortedRecord:
    """A record, and the sorted values of those of its attributes that were compared before."""

    def __init__(self, record: ManyValued) -> None:
        self.record = record
        self._sorted: dict[str, SortedValues] = {}

    def meets(self, constraint: packing.PackedConstraint) -> bool:
        """True if one value of the attribute, or its absence, satisfies a packed constraint."""
        name = constraint[0]
        values = self._sorted.get(name)
        if values is None:
            given = self.record.get(name)
            if given is None:
                return constraint[1] & packing.ABSENT != 0
            values = SortedValues(given if type(given) is tuple else (given,))
            self._sorted[name] = values
        return values.meet(constraint)


def verify_several(
    conjunctions: I32,
    segment: Segment,
    names: Sequence[Attribute],
    predicates: Sequence[LikePredicate],
    record: ManyValued,
) -> Flags:
    """For each conjunction whose ranks hold, true if the record satisfies its pattern checks too.

    `names` are those of the attributes by number. Checks are tried first, each predicate once on
    each value. Where one value passes those of each attribute, the conjunction is made again from
    its ranks, and compared with the record: the same value has to lie within the ranks.
    """
    annex = segment.annex
    first = np.searchsorted(annex.check_owner, conjunctions).tolist()
    last = np.searchsorted(annex.check_owner, conjunctions, side="right").tolist()
    tried = _Tried(predicates, record)
    passes = np.zeros(len(conjunctions), np.bool_)
    for at, conjunction in enumerate(conjunctions.tolist()):
        own = slice(first[at], last[at])
        checks = zip(annex.check_probe[own].tolist(), annex.check_flags[own].tolist(), strict=True)
        if tried.may_pass(checks):
            one = restoring.conjunction_of(segment, conjunction, names, predicates.__getitem__)
            passes[at] = one.accepts(record)
    return passes


class _Tried:
    """Like predicates as they were tried on the values of a record."""

    def __init__(self, predicates: Sequence[LikePredicate], record: ManyValued) -> None:
        self._predicates, self._record = predicates, record
        #: attribute -> the places of its values that are texts with these, and of all others
        self._values: dict[str, tuple[list[tuple[int, str]], frozenset[int]]] = {}
        #: predicate -> the places of the texts that pass
        self._passing: dict[int, frozenset[int]] = {}

    def may_pass(self, checks: Iterable[tuple[int, int]]) -> bool:
        """True if one value of each attribute passes all checks of it, with their flags."""
        left: dict[str, frozenset[int]] = {}
        for number, flags in checks:
            if flags & DECIDED:
                continue
            name = self._predicates[number][0]
            texts, others = self._values_of(name)
            passing = self._places(number)
            if flags & FORBIDDEN:
                passing = frozenset([at for at, _ in texts]) - passing
            passing |= others
            left[name] = passing & left[name] if name in left else passing
            if not left[name]:
                return False
        return True

    def _values_of(self, name: str) -> tuple[list[tuple[int, str]], frozenset[int]]:
        found = self._values.get(name)
        if found is None:
            given = self._record.get(name)
            values = [*enumerate(given if type(given) is tuple else (given,))]
            texts = [(at, value) for at, value in values if isinstance(value, str)]
            others = frozenset(at for at, value in values if not isinstance(value, str))
            found = self._values[name] = texts, others
        return found

    def _places(self, number: int) -> frozenset[int]:
        """The places of the texts that pass; a pattern is tried where its longest literal is."""
        found = self._passing.get(number)
        if found is None:
            name, test = self._predicates[number]
            texts, _ = self._values_of(name)
            runs = test.literals if isinstance(test, Pattern) else ()
            if runs:
                literal = max(runs, key=len)
                texts = [one for one in texts if literal in one[1]]
            found = frozenset([at for at, text in texts if test.matches(text)])
            self._passing[number] = found
        return found
