"""Siena's poset and the poset-derived forest as relation graphs (Shen 2007, 4.3.2 and 4.3.3).

Both are the structures of `sapwood.matching.published.posets`, which search covers in themselves:
this is the monolithic design that the two-layer framework is measured against.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sapwood.covering.protocol import CoveringIndex
from sapwood.matching.published.posets.engine import Poset
from sapwood.matching.published.posets.forest import PosetForest as Forest
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest


class _PosetGraph:
    """A poset as a relation graph; the index is not used."""

    __slots__ = ("_poset",)

    searches_itself = True

    def __init__(self, poset: Poset) -> None:
        self._poset = poset

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._poset)

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:  # noqa: ARG002
        """Insert a node in its place of the order."""
        assert isinstance(filter, Interest), "posets hold interests"
        self._poset.add(key, filter)
        return bool(self._poset.parents(key))

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:  # noqa: ARG002
        """Remove a node; returns the children that have become roots."""
        return self._poset.remove(key)

    def parents(self, key: int) -> Collection[int]:
        """The nodes right above."""
        return self._poset.parents(key)

    def children(self, key: int) -> Collection[int]:
        """The nodes right below."""
        return self._poset.children(key)

    def validate(self) -> None:
        """Raise `InvariantError` unless the poset is consistent."""
        self._poset.validate()


class SienaPoset(_PosetGraph):
    """The graph of all immediate predecessors and successors (section 4.3.2)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(HasseDiagram())


class PosetForest(_PosetGraph):
    """The graph of one covering parent for each node (section 4.3.3)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Forest())
