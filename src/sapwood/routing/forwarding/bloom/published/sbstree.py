"""The sbstree: a trie over the ascending bits of filters (XSiena 5.3.2, listing 5.2).

Filters f2 with the bits 2787 and 12518 and f4 with 5037 and 8516, of the interfaces I2 and I4:

    root - 2787 - 12518: I2
         - 5037 -  8516: I4

The bits 2787, 5037, 8516, 12518 of a publication lead to both. The work holds that no counters are
needed at the leaves; two filters of one interface may have the same bits, so there are (P31).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class _Node:
    """A bit of some filters, and the holders of those that end here."""

    __slots__ = ("children", "holders")

    def __init__(self) -> None:
        self.children: dict[int, _Node] = {}
        self.holders: Counter[str] = Counter()


class SbsTree:
    """Filters as sets of bits, with the holders of each."""

    __slots__ = ("_root", "steps")

    def __init__(self) -> None:
        self._root = _Node()
        #: nodes that searches have visited
        self.steps = 0

    def add(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once more."""
        node = self._root
        for bit in sorted({*bits}):
            node = node.children.setdefault(bit, _Node())
        node.holders[holder] += 1

    def remove(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once less."""
        way = [(self._root, -1)]
        for bit in sorted({*bits}):
            way.append((way[-1][0].children[bit], bit))
        holders = way[-1][0].holders
        holders[holder] -= 1
        if not holders[holder]:
            del holders[holder]
        while len(way) > 1:
            node, bit = way.pop()
            if node.children or node.holders:
                break
            del way[-1][0].children[bit]

    def match(self, bits: Iterable[int]) -> set[str]:
        """The holders of filters all of whose bits are among the given ones."""
        ordered, found = sorted({*bits}), set[str]()
        waiting = [(self._root, 0)]
        while waiting:
            node, first = waiting.pop()
            self.steps += 1
            found.update(node.holders)
            if node.children:
                for at in range(first, len(ordered)):
                    child = node.children.get(ordered[at])
                    if child is not None:
                        waiting.append((child, at + 1))
        return found

    def shape(self) -> object:
        """The whole trie as a value, for comparison."""

        def of(node: _Node) -> object:
            below = tuple((bit, of(child)) for bit, child in sorted(node.children.items()))
            return tuple(sorted(node.holders.items())), below

        return of(self._root)
