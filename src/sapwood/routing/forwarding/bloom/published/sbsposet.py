"""The sbsposet: bits of all predicates that a publication satisfies (XSiena 5.3.1, listing 5.1).

Constraints lie in a poset for each attribute, ordered by covering; conjunctions are not kept, and
equal predicates share a node. A node has its own bits and, as counts, those of all that cover it: a
value that satisfies it satisfies these. A search visits the nodes that accept a value, and takes
the bits of a node if a node below it does not accept it.

With x >= 0.7 above x > 5 above x > 15, x = 7 is accepted by the first two: the bits of x > 5 are
taken, which include those of x >= 0.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from sapwood.errors import InvariantError
from sapwood.model.constraint import Constraint
from sapwood.model.publication import Record, Value


class _Node:
    """A constraint, the number of times it was added, its bits, and those of all that cover it."""

    __slots__ = ("above", "below", "constraint", "count", "gathered", "own")

    def __init__(self, constraint: Constraint, own: tuple[int, ...]) -> None:
        self.constraint = constraint
        self.own = own
        self.count = 1
        self.gathered: Counter[int] = Counter(own)
        self.above: list[_Node] = []
        self.below: list[_Node] = []


class _Poset:
    """The constraints on one attribute: the Hasse diagram of covering."""

    __slots__ = ("nodes",)

    def __init__(self) -> None:
        self.nodes: dict[Constraint, _Node] = {}

    def add(self, constraint: Constraint, bits: tuple[int, ...]) -> None:
        """Count a constraint once more."""
        known = self.nodes.get(constraint)
        if known is not None:
            known.count += 1
            return
        node = _Node(constraint, bits)
        above = [one for one in self.nodes.values() if one.constraint.covers(constraint)]
        covering = {id(one) for one in above}
        below = [
            one
            for one in self.nodes.values()
            if id(one) not in covering and constraint.covers(one.constraint)
        ]
        covered = {id(one) for one in below}
        for one in above:
            node.gathered.update(one.own)
        for one in below:
            one.gathered.update(bits)
        node.above = [one for one in above if not any(id(it) in covering for it in one.below)]
        node.below = [one for one in below if not any(id(it) in covered for it in one.above)]
        for upper in node.above:
            upper.below = [one for one in upper.below if id(one) not in covered]
            upper.below.append(node)
        for lower in node.below:
            lower.above = [one for one in lower.above if id(one) not in covering]
            lower.above.append(node)
        self.nodes[constraint] = node

    def remove(self, constraint: Constraint) -> None:
        """Count a constraint once less."""
        node = self.nodes[constraint]
        node.count -= 1
        if node.count:
            return
        del self.nodes[constraint]
        for one in _all_below(node):
            one.gathered.subtract(node.own)
        for upper in node.above:
            upper.below.remove(node)
        for lower in node.below:
            lower.above.remove(node)
        for upper in node.above:
            for lower in node.below:
                if not any(upper.constraint.covers(one.constraint) for one in lower.above):
                    upper.below.append(lower)
                    lower.above.append(upper)

    def gather(self, value: Value | None, bits: set[int]) -> None:
        """Add the bits of all constraints that accept a value."""
        waiting = [one for one in self.nodes.values() if not one.above]
        waiting = [one for one in waiting if one.constraint.accepts(value)]
        seen = {id(one) for one in waiting}
        while waiting:
            node = waiting.pop()
            is_missing = not node.below
            for one in node.below:
                if not one.constraint.accepts(value):
                    is_missing = True
                elif id(one) not in seen:
                    seen.add(id(one))
                    waiting.append(one)
            if is_missing:
                bits.update(bit for bit, count in node.gathered.items() if count)


def _all_below(node: _Node) -> list[_Node]:
    found = {id(one): one for one in node.below}
    waiting = [*found.values()]
    while waiting:
        for one in waiting.pop().below:
            if id(one) not in found:
                found[id(one)] = one
                waiting.append(one)
    return [*found.values()]


class SbsPoset:
    """Predicates with their bits, attribute by attribute."""

    __slots__ = ("_optional", "_posets")

    def __init__(self) -> None:
        self._posets: dict[str, _Poset] = {}
        #: the attributes whose absence a predicate accepts, with the number of these predicates
        self._optional: Counter[str] = Counter()

    def add(self, attribute: str, constraint: Constraint, bits: Iterable[int]) -> None:
        """Count a predicate once more."""
        self._posets.setdefault(attribute, _Poset()).add(constraint, tuple(sorted({*bits})))
        if constraint.absent:
            self._optional[attribute] += 1

    def remove(self, attribute: str, constraint: Constraint) -> None:
        """Count a predicate once less."""
        poset = self._posets[attribute]
        poset.remove(constraint)
        if constraint.absent:
            self._optional[attribute] -= 1
            self._optional += Counter()
        if not poset.nodes:
            del self._posets[attribute]

    def match(self, record: Record) -> set[int]:
        """The bits of all predicates that a record satisfies; absence may satisfy one, too."""
        bits: set[int] = set()
        for attribute, value in record.items():
            poset = self._posets.get(attribute)
            if poset is not None:
                for one in value if isinstance(value, tuple) else (value,):
                    poset.gather(one, bits)
        for attribute in self._optional:
            if attribute not in record:
                self._posets[attribute].gather(None, bits)
        return bits

    def counts(self) -> Counter[tuple[str, Constraint]]:
        """The number of times that each predicate was added."""
        return Counter(
            {
                (attribute, node.constraint): node.count
                for attribute, poset in self._posets.items()
                for node in poset.nodes.values()
            }
        )

    def shape(self) -> Mapping[str, object]:
        """The whole poset as a value, for comparison."""
        return {
            attribute: {
                node.constraint: (
                    node.count,
                    +node.gathered,
                    frozenset(one.constraint for one in node.below),
                )
                for node in poset.nodes.values()
            }
            for attribute, poset in self._posets.items()
        }

    def validate(self) -> None:
        """Check edges and bits against covering; raises `InvariantError`."""
        for attribute, poset in self._posets.items():
            nodes = poset.nodes.values()
            for node in nodes:
                above = [one for one in nodes if one is not node and node in _all_below(one)]
                covers = [
                    o for o in nodes if o is not node and o.constraint.covers(node.constraint)
                ]
                expected = Counter(bit for one in (node, *above) for bit in one.own)
                if {id(one) for one in above} != {id(one) for one in covers}:
                    raise InvariantError(f"a constraint on {attribute} is not below what covers it")
                if +node.gathered != +expected:
                    raise InvariantError(f"a constraint on {attribute} gathered other bits")
