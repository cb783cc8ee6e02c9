"""Both directions of the search (XNet 5.3 and 5.4, algorithms 11 to 16, corrected).

The search of `sapwood.model.patterns.containment.twig_covers`, run for all members at once. A pair
of a place and an element of the query is evaluated once. Departures from the print:

* `*` and `//` are no labels but levels between elements (`twigs`), so more covers are found;
* values are leaves of their own with the set of texts as part of the label, instead of a predicate
  for each member; leaves that many members share are compared once;
* the contain mode collects the members that cover instead of those that do not: only places that
  agree with the query are visited, whatever the size of the tree, and members with several
  requirements are counted;
* a `//` of the query looks a name up among all places instead of going down the tree where that is
  shorter.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from typing import Final, TypeAlias

from sapwood.covering.xsearch.tree import FactorizationTree, Place, group_of
from sapwood.model.patterns.conditions import NameTest
from sapwood.model.patterns.twigs import Twig

_Members: TypeAlias = Set[int]
_Pair: TypeAlias = tuple[int, int]
"""A place and an element of the query, by their identities: both outlive the search."""

_Below: TypeAlias = dict[str | None, list[tuple[int, Twig]]]

_NOBODY: Final[_Members] = frozenset()


def covered_members(tree: FactorizationTree, twig: Twig) -> _Members:
    """The members that a twig at the document covers (XSearch's contained mode)."""
    return _Contained(tree).at(tree.root, twig)


def covering_members(tree: FactorizationTree, twig: Twig) -> _Members:
    """The members that cover a twig at the document (XSearch's contain mode)."""
    return _Containing().at(tree.root, twig)


class _Contained:
    """One search for covered members.

    #: _known: the results for pairs that can be reached in several ways, those below a gap
    """

    __slots__ = ("_known", "_tree")

    def __init__(self, tree: FactorizationTree) -> None:
        self._tree = tree
        self._known: dict[_Pair, _Members] = {}

    def at(self, place: Place, twig: Twig) -> _Members:
        """Members whose element at `place` implies `twig`; their names are known to agree."""
        found: _Members = place.members
        for members in self._conditions(place, twig):
            found = members if found is place.members else found & members
            if not found:
                return _NOBODY
        return found

    def _conditions(self, place: Place, twig: Twig) -> Iterator[_Members]:
        """The members that satisfy each condition of `twig`; cheap conditions first."""
        for leaf in twig.leaves:
            group = place.leaves.get(group_of(leaf), {})
            yield _union([members for other, members in group.items() if other.implies(leaf)])
        for child in twig.near:
            labels = place.near if child.test is None else self._labels(child.test)
            yield _union(
                [self.at(one, child) for label in labels for one in place.near.get(label, ())]
            )
        if twig.height:
            yield _reaching(place, twig.height)
        for levels, child in twig.far:
            depth = place.depth + levels
            yield _union(
                [
                    self._remembered(one, child)
                    for one in self._below(place, child)
                    if one.depth >= depth
                ]
            )

    def _remembered(self, place: Place, twig: Twig) -> _Members:
        if not twig.reach and not twig.leaves:
            return place.members
        pair = (id(place), id(twig))
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = self.at(place, twig)
        return found

    def _below(self, place: Place, twig: Twig) -> Iterable[Place]:
        """The places below another where the element of `twig` may be, as far as names show."""
        named = self._parents(twig) if twig.test is None else self._labeled(twig.test)
        if place.parent is None and named is not None:
            return named
        if named is None or place.size < len(named):
            if twig.test is None:
                return place.descend()
            labels = self._labels(twig.test)
            return [one for one in place.descend() if one.label in labels]
        return [one for one in named if _is_below(one, place)]

    def _parents(self, twig: Twig) -> Collection[Place] | None:
        """Places with a child that `twig` requires by name; `None` if it requires none."""
        for child in twig.near:
            if child.test is not None:
                places = self._labeled(child.test)
                return {one.parent: None for one in places if one.parent and not one.levels}
        return None

    def _labeled(self, test: NameTest) -> Collection[Place]:
        """All places whose names pass a test."""
        labels = self._labels(test)
        if len(labels) == 1:
            return self._tree.places.get(labels[0], ())
        return [one for label in labels for one in self._tree.places.get(label, ())]

    def _labels(self, test: NameTest) -> tuple[str, ...]:
        """All labels in the tree that are as strict as a test, or stricter."""
        if test.namespace is not None:
            return (test.expanded if test.namespace else f"{{}}{test.local}",)
        return (test.local, *self._tree.expanded.get(test.local, ()))


class _Containing:
    """One search for covering members.

    #: _known: the results for pairs that can be reached in several ways, those below a gap
    #: _under: the elements below elements of the query, by their identities
    """

    __slots__ = ("_known", "_under")

    def __init__(self) -> None:
        self._known: dict[_Pair, _Members] = {}
        self._under: dict[int, _Below] = {}

    def at(self, place: Place, twig: Twig) -> _Members:
        """Members whose element at `place` is implied by `twig`; their names are known to agree."""
        near, several = place.near, place.several
        granted: list[_Members] = []
        if place.heights or place.leaves:
            granted += _granted(place, twig)
        if near:
            if several and len(twig.near) > 1:
                granted += self._by_place(place, twig)
            else:
                for child in twig.near:
                    is_end = not (child.reach or child.leaves)
                    for label in child.labels:
                        for one in near.get(label) or ():
                            ends = one.ends
                            is_known = is_end or len(ends) == len(one.members)
                            members = ends if is_known else self.at(one, child)
                            if members:
                                granted.append(members)
        if place.far:
            granted += self._below_gaps(place, twig)
        if not granted:
            return place.ends
        if not several:
            # No member has more than one requirement here, so one granted is all.
            return place.ends.union(*granted) if place.ends or len(granted) > 1 else granted[0]
        return _all_granted(place, granted)

    def _by_place(self, place: Place, twig: Twig) -> Iterable[_Members]:
        """The members granted at each child, which several elements may grant together."""
        found: dict[Place, _Members] = {}
        for child in twig.near:
            for label in child.labels:
                for one in place.near.get(label, ()):
                    members = self.at(one, child)
                    if members:
                        found[one] = members if one not in found else found[one] | members
        return found.values()

    def _below_gaps(self, place: Place, twig: Twig) -> Iterable[_Members]:
        """The members granted at each child below a gap, perhaps by several elements together."""
        found: dict[Place, _Members] = {}
        under, far = self._by_label(twig), place.far
        few, many = (far, under) if len(far) < len(under) else (under, far)
        for label in few:
            if label not in many:
                continue
            for one in far[label]:
                for depth, below in under[label]:
                    if depth >= one.levels:
                        members = self._remembered(one, below)
                        if members:
                            found[one] = members if one not in found else found[one] | members
        return found.values()

    def _by_label(self, twig: Twig) -> _Below:
        """The elements below one of the query, by the labels of places that may require them."""
        found = self._under.get(id(twig))
        if found is None:
            found = self._under[id(twig)] = {}
            for entry in twig.below:
                for label in entry[1].labels:
                    found.setdefault(label, []).append(entry)
        return found

    def _remembered(self, place: Place, twig: Twig) -> _Members:
        if len(place.ends) == len(place.members) or not (twig.reach or twig.leaves):
            return place.ends
        pair = (id(place), id(twig))
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = self.at(place, twig)
        return found


def _all_granted(place: Place, granted: list[_Members]) -> _Members:
    """The members that require nothing at a place, or whose requirements are all granted.

    `granted` has one set for each granted leaf, height and child.
    """
    several = place.several
    once: set[int] = set()
    again: set[int] = set()
    for members in granted:
        if once:
            again |= once & members
        once |= members
    found = once.difference(several)
    found |= place.ends
    for member in again:
        needed = several.get(member)
        if needed == 2 or sum(member in members for members in granted) == needed:
            found.add(member)
    return found


def _granted(place: Place, twig: Twig) -> list[set[int]]:
    """The members that require each leaf and height at a place that `twig` implies."""
    found = [members for height, members in place.heights.items() if height <= twig.reach]
    if place.leaves:
        for key in {group_of(leaf): None for leaf in twig.leaves}:
            for asked, members in place.leaves.get(key, {}).items():
                if any(leaf.implies(asked) for leaf in twig.leaves):
                    found.append(members)
    return found


def _reaching(place: Place, height: int) -> _Members:
    """Members that require at least `height` levels of elements below a place."""
    found: list[_Members] = [its for levels, its in place.heights.items() if levels >= height]
    for child in place.children():
        levels = child.levels or 1
        found.append(child.members if levels >= height else _reaching(child, height - levels))
    return _union(found)


def _is_below(place: Place, above: Place) -> bool:
    """True if a place lies below another, at any depth."""
    other = place.parent
    while other is not None and other.depth > above.depth:
        other = other.parent
    return other is above


def _union(several: list[_Members]) -> _Members:
    """The union of sets; a single one is not copied."""
    if len(several) == 1:
        return several[0]
    filled = [members for members in several if members]
    if len(filled) < 2:
        return filled[0] if filled else _NOBODY
    return frozenset().union(*filled)
