"""The filters that one router has placed in one version of the routing tree, node by node.

Each side has a bit. `marks[n]` are the bits of the neighbors with a filter at node n, 64 a word. Of
a tree of four nodes, where r2, with bit 0, has filters at nodes 1 and 3 and r3, with bit 1, at 3,
the marks are 0, 1, 0, 3; a publication that reaches 0 and 1 goes to r2. The clients' filters at a
node are kept by key, with whether they were placed exactly: for the others, content decides.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.limits.prefix import OWN_ASKED_MAX, STEPS_OF_ONE
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.digest import Walks
from sapwood.routing.forwarding.prefix.parts import ATTRIBUTE
from sapwood.routing.forwarding.prefix.placing import place
from sapwood.routing.forwarding.prefix.snapshot import Snapshot
from sapwood.routing.tables import CLIENTS

U64: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_WORD: Final = 64
_ONE: Final = np.uint64(1)


class Found(NamedTuple):
    """The result of walks: a row of `links` has the bits of neighbors for one publication.

    `own[i]` has the keys of clients that publication i may be for, and whether it surely is; `None`
    stands for more keys than are checked one by one.
    """

    links: U64
    own: dict[int, dict[str, bool] | None]


class _Own:
    """The keys of clients for one publication; `None` where too many of them are not sure."""

    __slots__ = ("keys", "unsure")

    def __init__(self) -> None:
        self.keys: dict[str, bool] | None = {}
        self.unsure = 0

    def take(self, some: dict[str, bool], *, is_there: bool) -> None:
        """Add the keys at a node, which the publication surely came to, or may have."""
        keys = self.keys
        if keys is None:
            return
        for key, is_exact in some.items():
            is_sure = keys.get(key, False) or (is_there and is_exact)
            self.unsure += key not in keys and not is_sure
            if self.unsure > OWN_ASKED_MAX:
                self.keys = None
                return
            keys[key] = is_sure


class Tags:
    """The filters of all sides of a router in one snapshot.

    #: a neighbor's bit is in marks[n] iff _counts[neighbor][n] > 0
    #: has_own[n] iff n in _own
    """

    __slots__ = ("_bits", "_counts", "_own", "has_own", "marks", "snapshot", "todo")

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot: Final = snapshot
        self.marks: U64 = np.zeros((len(snapshot), 1), np.uint64)
        self.has_own: Flags = np.zeros(len(snapshot), np.bool_)
        self._bits: dict[str, int] = {}
        self._counts: dict[str, Counter[int]] = {}
        self._own: dict[int, dict[str, bool]] = {}
        #: the filters that are not placed yet, by side and key
        self.todo: dict[tuple[str, str], Filter] = {}

    @property
    def is_ready(self) -> bool:
        """True if all filters are placed."""
        return not self.todo

    def add_side(self, side: str) -> None:
        """Add a neighbor."""
        taken = set(self._bits.values())
        bit = next(bit for bit in range(len(taken) + 1) if bit not in taken)
        if bit >= _WORD * self.marks.shape[1]:
            more = np.zeros((len(self.snapshot), 1), np.uint64)
            self.marks = np.hstack((self.marks, more))
        self._bits[side] = bit
        self._counts[side] = Counter()

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its filters."""
        nodes = [*self._counts.pop(side)]
        word, bit = divmod(self._bits.pop(side), _WORD)
        self.marks[nodes, word] &= ~(_ONE << np.uint64(bit))
        for known in [known for known in self.todo if known[0] == side]:
            del self.todo[known]

    def advance(self, count: int) -> int:
        """Place about `count` of the filters that are not placed yet; returns the work done."""
        done = 0
        for side, key in [*islice(self.todo, count)]:
            done += 1 + self.add(side, key, self.todo.pop((side, key))) // STEPS_OF_ONE
            if done >= count:
                break
        return done

    def add(self, side: str, key: str, wanted: Filter) -> int:
        """Place a filter of a side; returns about how many nodes were visited for it."""
        places, looked = self._places(wanted)
        if side == CLIENTS:
            for node, is_exact in places:
                own = self._own.setdefault(node, {})
                own[key] = own.get(key, False) or is_exact
                self.has_own[node] = True
            return looked
        word, bit = divmod(self._bits[side], _WORD)
        counts = self._counts[side]
        for node, _ in places:
            counts[node] += 1
            if counts[node] == 1:
                self.marks[node, word] |= _ONE << np.uint64(bit)
        return looked

    def remove(self, side: str, key: str, wanted: Filter) -> None:
        """Remove a filter of a side: it lies where it was placed, as the tree is the same."""
        if self.todo.pop((side, key), None) is not None:
            return
        places, _ = self._places(wanted)
        if side == CLIENTS:
            for node, _ in places:
                own = self._own.get(node, {})
                own.pop(key, None)
                if not own:
                    self._own.pop(node, None)
                    self.has_own[node] = False
            return
        word, bit = divmod(self._bits[side], _WORD)
        counts = self._counts[side]
        for node, _ in places:
            counts[node] -= 1
            if not counts[node]:
                del counts[node]
                self.marks[node, word] &= ~(_ONE << np.uint64(bit))

    def _places(self, wanted: Filter) -> tuple[list[tuple[int, bool]], int]:
        """The nodes of a filter; none of a part of a tree, which only content leads to.

        The second value is about how many nodes were visited.
        """
        found: list[tuple[int, bool]] = []
        looked = 0
        for box in wanted.conjunctions:
            if box.constraint(ATTRIBUTE).absent:
                placed = place(self.snapshot.root, box)
                found += [(piece.node.number, piece.is_exact) for piece in placed.pieces]
                looked += placed.looked
        return found, looked

    def found(self, walks: Walks, depth: int) -> Found:
        """The result of walks that were cut off at a depth."""
        nodes, starts = walks
        links = np.bitwise_or.reduceat(self.marks[nodes], starts[:-1], axis=0)
        own: dict[int, _Own] = {}
        for at in np.flatnonzero(self.has_own[nodes]).tolist():
            row = int(np.searchsorted(starts, at, "right")) - 1
            own.setdefault(row, _Own()).take(self._own[nodes.item(at)], is_there=True)
        lasts = self.snapshot.lasts[nodes]
        is_cut = (self.snapshot.depths[nodes] == depth) & (lasts > nodes)
        for at in np.flatnonzero(is_cut).tolist():
            row = int(np.searchsorted(starts, at, "right")) - 1
            below = slice(nodes.item(at) + 1, lasts.item(at) + 1)
            links[row] |= np.bitwise_or.reduce(self.marks[below], axis=0)
            for node in (np.flatnonzero(self.has_own[below]) + below.start).tolist():
                own.setdefault(row, _Own()).take(self._own[node], is_there=False)
        return Found(links, {row: one.keys for row, one in own.items()})

    def wanting(self, side: str, links: U64) -> list[int]:
        """The rows of `links` in which a neighbor has its bit."""
        word, bit = divmod(self._bits[side], _WORD)
        rows: list[int] = np.flatnonzero(links[:, word] >> np.uint64(bit) & _ONE).tolist()
        return rows

    def validate(self, sides: dict[str, dict[str, Filter]]) -> None:
        """Check the placed filters against those of each side; raises `InvariantError`."""
        afresh = Tags(self.snapshot)
        for side, filters in sides.items():
            if side != CLIENTS:
                afresh.add_side(side)
            for key, wanted in filters.items():
                if (side, key) not in self.todo:
                    afresh.add(side, key, wanted)
        waiting = {(side, key): sides.get(side, {}).get(key) for side, key in self.todo}
        if self.todo != waiting:
            raise InvariantError("a routing tree waits for subscriptions that are not there")
        if self._counts != afresh._counts or self._own != afresh._own:
            raise InvariantError("other subscriptions are placed in a routing tree than are known")
        for side in self._bits:
            ours = np.zeros(len(self.snapshot), np.bool_)
            ours[[*self._counts[side]]] = True
            if self.wanting(side, self.marks) != np.flatnonzero(ours).tolist():
                raise InvariantError(f"the marks of link {side} are not where its filters lie")
        if np.flatnonzero(self.has_own).tolist() != sorted(self._own):
            raise InvariantError("the marks of clients are not where their filters lie")
