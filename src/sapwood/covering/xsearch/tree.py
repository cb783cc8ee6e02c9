"""The factorization tree: common parts of twigs, once (XNet 5.2, algorithms 9 and 10).

A place stands for an element, with everything that leads to it from the document, and stores the
members that require it. The map from the elements of one member to places is injective, so that two
children of the same name stay two: the soundness of the search depends on that.

The tree depends on the order of insertion, the results of searches do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.patterns.twigs import Leaf, LeafKind, Twig
from sapwood.xml.document import local_name

_Group: TypeAlias = tuple[LeafKind, str | None]
"""Leaves among which one can imply another: a kind, and the local name of an attribute."""

Children: TypeAlias = "dict[str | None, list[Place]]"
"""Places by the label that they require, the first of `Twig.labels`."""


class Place:
    """An element in the tree.

    #: members: those that require it; at the root, all members
    #: ends: those that require nothing more here; several: those with more than one requirement
    #: (elements below, leaves, height), with the number; both are among the members
    #: depth: levels below the document at least; size: places below
    """

    __slots__ = (
        "depth",
        "ends",
        "far",
        "heights",
        "label",
        "leaves",
        "levels",
        "members",
        "near",
        "parent",
        "several",
        "size",
    )

    def __init__(self, parent: Place | None, label: str | None, levels: int) -> None:
        self.parent = parent
        self.label = label
        #: 0: exactly one level below the parent; otherwise at least `levels`
        self.levels = levels
        self.depth: int = 0 if parent is None else parent.depth + (levels or 1)
        self.size = 0
        self.members: set[int] = set()
        self.ends: set[int] = set()
        self.several: dict[int, int] = {}
        #: no list is empty
        self.near: Children = {}
        self.far: Children = {}
        #: the members that require a leaf or height here; no set is empty
        self.leaves: dict[_Group, dict[Leaf, set[int]]] = {}
        self.heights: dict[int, set[int]] = {}

    def children(self) -> Iterator[Place]:
        """All places right below."""
        for table in (self.near, self.far):
            for places in table.values():
                yield from places

    def descend(self) -> Iterator[Place]:
        """All places below."""
        waiting = list(self.children())
        while waiting:
            place = waiting.pop()
            yield place
            waiting += place.children()


class FactorizationTree:
    """Twigs by member, a number, factored (see the module).

    #: places[l] has exactly the places below the root of label l
    #: expanded[n] has the labels in `places` of local name n that name a namespace too
    #: homes[m] lists the places of a member with its twig there, parents first
    """

    __slots__ = ("expanded", "homes", "places", "root", "size")

    def __init__(self) -> None:
        self.root = Place(None, None, 0)
        #: elements, leaves and heights; the root is not counted
        self.size = 0
        self.places: dict[str | None, dict[Place, None]] = {}
        self.expanded: dict[str, dict[str, None]] = {}
        self.homes: dict[int, list[tuple[Place, Twig]]] = {}

    def __len__(self) -> int:
        """The number of members."""
        return len(self.homes)

    def add(self, member: int, twig: Twig) -> None:
        """Add a twig at the document under a number that no member has."""
        assert member not in self.homes, f"member {member} is there"
        self.homes[member] = []
        self._settle(member, twig, self.root)

    def remove(self, member: int) -> None:
        """Remove a member, and all places that no other member needs."""
        for place, twig in reversed(self.homes.pop(member)):
            place.members.remove(member)
            place.ends.discard(member)
            place.several.pop(member, None)
            for leaf in twig.leaves:
                self._drop_leaf(place, leaf, member)
            if twig.height:
                self._drop_height(place, twig.height, member)
            if not place.members and place.parent is not None:
                self._drop_place(place, place.parent)

    def validate(self) -> None:
        """Raise `InvariantError` unless members, places and sizes agree."""
        every = [self.root, *self.root.descend()]
        if self.root.members != self.homes.keys():
            raise InvariantError("the root of the factorization tree does not have all members")
        labeled = {place: label for label, places in self.places.items() for place in places}
        if labeled != {place: place.label for place in every[1:]} or not all(self.places.values()):
            raise InvariantError("the places by label are not those of the tree")
        expanded = {label for label in self.places if label is not None and label[0] == "{"}
        if expanded != {label for labels in self.expanded.values() for label in labels}:
            raise InvariantError("the labels with a namespace are not those of the places")
        asked: dict[int, int] = {}
        for place in every:
            _check_place(place)
            for member in place.members:
                asked[member] = asked.get(member, 0) + 1
        if asked != {member: len(homes) for member, homes in self.homes.items()}:
            raise InvariantError("a member is not at its homes, each a place of its own")
        size = sum(1 + sum(map(len, place.leaves.values())) + len(place.heights) for place in every)
        if size != self.size + 1:
            raise InvariantError(f"the factorization tree has {size - 1} nodes, not {self.size}")

    def _settle(self, member: int, twig: Twig, place: Place) -> None:
        place.members.add(member)
        self.homes[member].append((place, twig))
        branches = len(twig.near) + len(twig.far) + len(twig.leaves) + (twig.height > 0)
        if not branches:
            place.ends.add(member)
        elif branches > 1:
            place.several[member] = branches
        for leaf in twig.leaves:
            group = place.leaves.setdefault(group_of(leaf), {})
            self.size += leaf not in group
            group.setdefault(leaf, set()).add(member)
        if twig.height:
            self.size += twig.height not in place.heights
            place.heights.setdefault(twig.height, set()).add(member)
        for child in twig.near:
            self._settle(member, child, self._child(member, place, child, 0))
        for levels, child in twig.far:
            self._settle(member, child, self._child(member, place, child, levels))

    def _child(self, member: int, place: Place, twig: Twig, levels: int) -> Place:
        """The first child with this label that is no home of the member yet, or a new one."""
        label = twig.labels[0]
        alike = (place.far if levels else place.near).setdefault(label, [])
        for child in alike:
            if child.levels == levels and member not in child.members:
                return child
        child = Place(place, label, levels)
        alike.append(child)
        self.places.setdefault(label, {})[child] = None
        if label is not None and label.startswith("{"):
            self.expanded.setdefault(local_name(label), {})[label] = None
        self.size += 1
        _count(place, 1)
        return child

    def _drop_place(self, place: Place, parent: Place) -> None:
        label = place.label
        table = parent.far if place.levels else parent.near
        table[label].remove(place)
        if not table[label]:
            del table[label]
        del self.places[label][place]
        if not self.places[label]:
            self._drop_label(label)
        self.size -= 1
        _count(parent, -1)

    def _drop_label(self, label: str | None) -> None:
        del self.places[label]
        if label is not None and label.startswith("{"):
            alike = self.expanded[local_name(label)]
            del alike[label]
            if not alike:
                del self.expanded[local_name(label)]

    def _drop_leaf(self, place: Place, leaf: Leaf, member: int) -> None:
        key = group_of(leaf)
        group = place.leaves[key]
        group[leaf].remove(member)
        if not group[leaf]:
            del group[leaf]
            self.size -= 1
        if not group:
            del place.leaves[key]

    def _drop_height(self, place: Place, height: int, member: int) -> None:
        place.heights[height].remove(member)
        if not place.heights[height]:
            del place.heights[height]
            self.size -= 1


def group_of(leaf: Leaf) -> _Group:
    """The group in which a place keeps a leaf; a leaf implies leaves of its own group only."""
    return leaf.kind, None if leaf.test is None else leaf.test.local


def _count(place: Place | None, change: int) -> None:
    """Add `change` to the size of a place and of all above it."""
    while place is not None:
        place.size += change
        place = place.parent


def _check_place(place: Place) -> None:
    """Raise `InvariantError` unless a place agrees with the places right below it."""
    children = list(place.children())
    if place.size != sum(1 + child.size for child in children):
        raise InvariantError("a place miscounts the places below it")
    found: dict[int, int] = dict.fromkeys(place.members, 0)
    asking = [
        *(child.members for child in children),
        *(members for group in place.leaves.values() for members in group.values()),
        *place.heights.values(),
    ]
    for members in asking:
        if not members or not members <= place.members:
            raise InvariantError("something is asked by nobody, or by who is not there")
        for member in members:
            found[member] += 1
    if place.ends != {member for member, number in found.items() if not number}:
        raise InvariantError("the ends at a place are not those that ask for nothing more")
    if place.several != {member: number for member, number in found.items() if number > 1}:
        raise InvariantError("a place miscounts what its members ask for")
