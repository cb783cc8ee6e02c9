"""The tree of a containment hierarchy, compact enough for many peers in one process.

Each peer has ten numbers and a flag, in columns: 41 bytes, whatever the shape of the tree.
Children are lists through the columns: a parent knows its first and last child, a child those
beside it. The lists of equivalent and of other children are apart and share the links between
siblings, since a peer is in one list only.

Worked example: the virtual root is 0; peer 1 (`price > 1`) is top-level, 2 (`price > 5`) and
3 (`price > 7`) are below 1 and 4, equivalent to 2, is below 2::

    peer        0    1    2    3    4
    parent     -1    0    1    1    2
    grand      -1   -1    0    0    1
    interest   -1    0    1    2    1
    tagged      0    0    0    0    1     the parent is equivalent
    first       1    2   -1   -1   -1     other children: 0 -> 1, 1 -> 2, 3
    last        1    3   -1   -1   -1
    first_equal -1  -1    4   -1   -1     equivalent children: 2 -> 4
    next       -1   -1    3   -1   -1
    previous   -1   -1   -1    2   -1
    count       1    2    0    0    0
    equal_count 0    0    1    0    0

5 peers are 5 * (10 * 4 + 1) = 205 bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InvariantError, LimitError, UnknownIdError
from sapwood.limits.semantic import PEERS_MAX
from sapwood.overlay.semantic.hierarchy.options import HierarchyOptions
from sapwood.overlay.semantic.interests import Coverable, Interests, Relation

ROOT = 0
"""The virtual root: it has no interest, forwards everything and counts as no peer (L2684)."""

NOBODY = -1

F = TypeVar("F", bound=Coverable)


def _column() -> array[int]:
    return array("i", [NOBODY])


class HierarchyState(Generic[F]):
    """The columns, and the few operations that keep them in step; numbers of peers begin at 1.

    A number whose peer has left is not given again.
    """

    __slots__ = (
        "count",
        "equal_count",
        "first",
        "first_equal",
        "grand",
        "interest",
        "interests",
        "last",
        "next",
        "options",
        "parent",
        "peers",
        "previous",
        "tagged",
    )

    def __init__(self, options: HierarchyOptions, index: CoveringIndex[Any] | None = None) -> None:
        self.options = options
        self.interests: Interests[F] = Interests(index)
        #: the one above; -1 for the root, for a peer that left, and between two places
        self.parent = _column()
        #: the parent's parent (L2816); -1 for the root, top-level peers and those without a parent
        self.grand = _column()
        #: the number of the filter; -1 for the root and for a peer that left
        self.interest = _column()
        #: 1 exactly where the parent is equivalent
        self.tagged = bytearray(1)
        #: ends of the list of children that are not equivalent
        self.first = _column()
        self.last = _column()
        #: the beginning of the list of equivalent children
        self.first_equal = _column()
        #: the siblings in the one list that a peer is in
        self.next = _column()
        self.previous = _column()
        #: lengths of the two lists
        self.count = array("i", [0])
        self.equal_count = array("i", [0])
        #: peers that are there
        self.peers = 0

    def copy(self) -> HierarchyState[F]:
        """A copy of the tree; interests are shared, as their numbers stay."""
        other: HierarchyState[F] = HierarchyState(self.options)
        other.interests = self.interests
        for name in self.columns():
            setattr(other, name, getattr(self, name)[:])
        other.peers = self.peers
        return other

    @staticmethod
    def columns() -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(
            name
            for name in HierarchyState.__slots__
            if name not in ("interests", "options", "peers")
        )

    @property
    def bytes(self) -> int:
        """The bytes of the columns: 41 a peer, the root and peers that left among them."""
        return sum(memoryview(getattr(self, name)).nbytes for name in self.columns())

    # Reading -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of peers, without the virtual root."""
        return self.peers

    def __contains__(self, peer: int) -> bool:
        """True if a peer is there."""
        return 0 < peer < len(self.parent) and self.interest[peer] != NOBODY

    def __iter__(self) -> Iterator[int]:
        """All peers that are there, in the order in which they came."""
        return (peer for peer, interest in enumerate(self.interest) if interest != NOBODY)

    def children(self, peer: int) -> Iterator[int]:
        """The children that are not equivalent, in the order in which they came below the peer."""
        return self._along(self.first[peer])

    def equal_children(self, peer: int) -> Iterator[int]:
        """The equivalent children, the newest first."""
        return self._along(self.first_equal[peer])

    def neighbors(self, peer: int) -> Iterator[int]:
        """The parent, and all children; the root among them."""
        if self.parent[peer] != NOBODY:
            yield self.parent[peer]
        yield from self.equal_children(peer)
        yield from self.children(peer)

    def load(self, peer: int) -> int:
        """The number of all children, to which the peer sends a publication."""
        return self.count[peer] + self.equal_count[peer]

    def depth(self, peer: int) -> int:
        """The depth of a peer below the root; within an equivalence tree, that of the tree's root.

        No peer stores its depth: it is learned from messages, one a level (L2782).
        """
        depth = 0
        while peer != ROOT:
            depth += not self.tagged[peer]
            peer = self.parent[peer]
        return depth

    def class_root(self, peer: int) -> int:
        """The root of the equivalence tree that the peer is in."""
        while self.tagged[peer]:
            peer = self.parent[peer]
        return peer

    def check(self, peer: int) -> None:
        """Raise `UnknownIdError` unless the peer is there."""
        if peer not in self:
            raise UnknownIdError("peer", str(peer))

    def _along(self, peer: int) -> Iterator[int]:
        while peer != NOBODY:
            # Read first: the caller may move the peer elsewhere.
            after = self.next[peer]
            yield peer
            peer = after

    # Changing ------------------------------------------------------------------------------------

    def new(self, interest: int) -> int:
        """A peer with an interest, without a place; returns its number."""
        if len(self.parent) > PEERS_MAX:
            raise LimitError("PEERS_MAX", PEERS_MAX, len(self.parent), "the number of peers")
        for column in self._numbers():
            column.append(NOBODY)
        self.count.append(0)
        self.equal_count.append(0)
        self.tagged.append(0)
        self.peers += 1
        peer = len(self.parent) - 1
        self.interest[peer] = interest
        return peer

    def _numbers(self) -> tuple[array[int], ...]:
        return (
            *(self.parent, self.grand, self.interest, self.first, self.last),
            *(self.first_equal, self.next, self.previous),
        )

    def attach(self, peer: int, parent: int, *, tagged: bool = False) -> None:
        """Put a peer without a place, and all below it, below a parent."""
        assert self.parent[peer] == NOBODY
        self.parent[peer] = parent
        self.grand[peer] = self.parent[parent]
        self.tagged[peer] = tagged
        for child in (*self.equal_children(peer), *self.children(peer)):
            self.grand[child] = parent
        if tagged:
            self._prepend_equal(peer, parent)
            return
        last = self.last[parent]
        self.previous[peer], self.next[peer] = last, NOBODY
        if last == NOBODY:
            self.first[parent] = peer
        else:
            self.next[last] = peer
        self.last[parent] = peer
        self.count[parent] += 1

    def _prepend_equal(self, peer: int, parent: int) -> None:
        before = self.first_equal[parent]
        self.previous[peer], self.next[peer] = NOBODY, before
        if before != NOBODY:
            self.previous[before] = peer
        self.first_equal[parent] = peer
        self.equal_count[parent] += 1

    def detach(self, peer: int) -> int:
        """Take a peer, with all below it, out of its place; returns its parent."""
        parent, before, after = self.parent[peer], self.previous[peer], self.next[peer]
        assert parent != NOBODY
        if before != NOBODY:
            self.next[before] = after
        elif self.tagged[peer]:
            self.first_equal[parent] = after
        else:
            self.first[parent] = after
        if after != NOBODY:
            self.previous[after] = before
        elif not self.tagged[peer]:
            self.last[parent] = before
        (self.equal_count if self.tagged[peer] else self.count)[parent] -= 1
        self.parent[peer] = self.grand[peer] = NOBODY
        self.next[peer] = self.previous[peer] = NOBODY
        self.tagged[peer] = 0
        for child in (*self.equal_children(peer), *self.children(peer)):
            self.grand[child] = NOBODY
        return parent

    def remove(self, peer: int) -> None:
        """Forget a peer that has neither a place nor children."""
        assert self.parent[peer] == NOBODY
        assert self.load(peer) == 0
        self.interest[peer] = NOBODY
        self.peers -= 1

    # Checking ------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Raise `InvariantError` unless the invariants of section 7.3.1 hold.

        I1 and I2: the parent contains or is equivalent, as the peer is tagged; I3: only roots of
        equivalence trees have other children; I4: one parent each, all below the root, in the lists
        of their parents; and grandparents are the parents' parents.
        """
        reached = 0
        waiting = [ROOT]
        while waiting:
            peer = waiting.pop()
            # A damaged list may be a circle: more than are counted is wrong anyway.
            below = list(islice(self.children(peer), self.count[peer] + 1))
            equal = list(islice(self.equal_children(peer), self.equal_count[peer] + 1))
            reached += len(below) + len(equal)
            _require(
                (len(below), len(equal)) == (self.count[peer], self.equal_count[peer]),
                "the children are not counted right",
                peer,
            )
            _require(not (self.tagged[peer] and below), "I3: only the root has children", peer)
            for child in below:
                self._validate_child(peer, child, Relation.CONTAINS)
            for child in equal:
                self._validate_child(peer, child, Relation.EQUIVALENT)
            waiting += below
            waiting += equal
        _require(reached == self.peers, "a peer is not below the root", reached)

    def _validate_child(self, peer: int, child: int, relation: Relation) -> None:
        _require(self.parent[child] == peer, "I4: the parent has another child", child)
        _require(self.grand[child] == self.parent[peer], "a grandparent is another one", child)
        tagged = relation is Relation.EQUIVALENT
        _require(bool(self.tagged[child]) == tagged, "the tag is wrong", child)
        if peer == ROOT:
            _require(not tagged, "nothing is equivalent to the root", child)
            return
        found = self.interests.relation(self.interest[peer], self.interest[child])
        _require(found is relation, "I1, I2: what is above does not contain", child)


def _require(holds: bool, what: str, peer: int, /) -> None:  # noqa: FBT001 - as assert
    if not holds:
        raise InvariantError(f"containment hierarchy: {what} (peer {peer})")
