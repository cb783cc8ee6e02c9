"""The tree optimizer: a client that alone determines the routing tree (XSiena 4.3.1).

It receives all filters, in an order that is then the one in which all routers have them, keeps the
tree of them, and publishes it anew where it differs from the last one by more than a threshold. It
does so by subscriptions (`parts.py`), so it needs nothing of routers that other clients do not. It
never receives the owners of filters. It is given all present filters each time: one that is missing
has gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sapwood.errors import InputError, LimitError
from sapwood.limits.prefix import TREE_BYTES_MAX, TREE_NODES_MAX, TREES_KEPT
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.forwarding.prefix.difference import difference
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE, parts_of
from sapwood.routing.forwarding.prefix.reading import read
from sapwood.routing.forwarding.prefix.snapshot import Snapshot, written
from sapwood.routing.forwarding.prefix.tree import RoutingTree

THRESHOLD_DEFAULT: Final = 0.3
"""The lower one of the thresholds that XSiena tries (9.1): 30 %, and 80 %."""

_IDENTITY: Final = "tree"


class Update(NamedTuple):
    """The optimizer's subscriptions, and the ids that it withdraws once these are in force."""

    subscriptions: Sequence[tuple[str, Filter]]
    withdrawn: Sequence[str]
    clock: int


class Optimizer:
    """The tree of all filters, and the last published one.

    #: _tree has all filters that were given last, except for `left_out`
    #: _stated has the ids of the newest versions, `limits.TREES_KEPT` at most, the oldest first
    """

    __slots__ = ("_last", "_stated", "_threshold", "_tree", "clock", "left_out", "updates")

    def __init__(self, threshold: float = THRESHOLD_DEFAULT, clock: int = 0) -> None:
        """`clock` is higher than that of any earlier optimizer. Raises `InputError`."""
        if not 0 <= threshold <= 1:
            raise InputError(f"a tree difference is from 0 to 1, so no threshold is {threshold}")
        self.clock = clock
        self.left_out = 0
        self.updates = 0
        self._threshold: Final = threshold
        self._tree = RoutingTree()
        self._last: Snapshot | None = None
        self._stated: deque[list[str]] = deque()

    @property
    def nodes(self) -> int:
        """The nodes of the tree as it is, the root included."""
        return self._tree.size

    @property
    def difference(self) -> float:
        """The difference of the tree and the one published last; 1 where there was none."""
        if self._last is None:
            return 1.0
        return difference(self._tree.root, self._last.root)

    def hear(self, filters: Iterable[Interest]) -> None:
        """Take in all present filters, those of the optimizer and of documents among them."""
        wanted = {one: None for one in filters if isinstance(one, Filter)}
        for gone in [one for one in self._tree.filters if one not in wanted]:
            self._tree.remove(gone)
        self.left_out = 0
        for one in wanted:
            if one not in self._tree and not _speaks_of_trees(one):
                self._tree.insert(one)
                if self._tree.size > TREE_NODES_MAX:
                    self._tree.remove(one)
                    self.left_out += 1

    def update(self) -> Update | None:
        """The next version, if the tree differs enough; `None` otherwise.

        Raises `LimitError` for a tree that takes more than `limits.TREE_BYTES_MAX`.
        """
        if not self.difference > self._threshold:
            return None
        data = written(self._tree)
        if len(data) > TREE_BYTES_MAX:
            raise LimitError("TREE_BYTES_MAX", TREE_BYTES_MAX, len(data), "the routing tree")
        self._last = read(data)
        self.clock += 1
        self.updates += 1
        parts = [
            (f"{_IDENTITY}-{self.clock}-{place}", part)
            for place, part in enumerate(parts_of(self.clock, data))
        ]
        self._stated.append([id_ for id_, _ in parts])
        withdrawn: list[str] = []
        while len(self._stated) > TREES_KEPT:
            withdrawn += self._stated.popleft()
        return Update(parts, withdrawn, self.clock)


def _speaks_of_trees(wanted: Filter) -> bool:
    return any(not box.constraint(ATTRIBUTE).absent for box in wanted.conjunctions)
