"""XSearch as a covering index over tree patterns."""

from __future__ import annotations

from collections.abc import ItemsView, Set
from functools import reduce
from itertools import count
from operator import and_

from sapwood.covering.xsearch.search import covered_members, covering_members
from sapwood.covering.xsearch.tree import FactorizationTree
from sapwood.errors import InvariantError
from sapwood.model.patterns.pattern import TreePattern


class XSearchIndex:
    """Distinct tree patterns by key that finds covers of a pattern, and patterns that it covers.

    Finds exactly what `TreePattern.covers` finds pattern by pattern. A pattern with `or` has
    several members in the tree, one for each alternative: it covers everything that any of its
    members covers, and is covered if all of them are. A pattern with more alternatives than
    `limits.COVERING_ALTERNATIVES_MAX` covers nothing but itself and has none.
    """

    __slots__ = ("_further", "_keys", "_members", "_numbers", "_patterns", "_tree")

    def __init__(self) -> None:
        self._tree = FactorizationTree()
        #: each the inverse of the other
        self._patterns: dict[int, TreePattern] = {}
        self._keys: dict[TreePattern, int] = {}
        #: key -> its members, if these are not exactly one; the first is the key itself
        self._members: dict[int, tuple[int, ...]] = {}
        #: member other than the first -> the key; such members have numbers below 0
        self._further: dict[int, int] = {}
        self._numbers = count(-1, -1)

    def __len__(self) -> int:
        """The number of patterns."""
        return len(self._patterns)

    def items(self) -> ItemsView[int, TreePattern]:
        """The patterns by key, in the order in which they were added."""
        return self._patterns.items()

    @property
    def nodes(self) -> int:
        """Elements, leaves and heights in the factorization tree."""
        return self._tree.size

    def add(self, key: int, filter: TreePattern) -> None:
        """Add a pattern under a free key, at least 0."""
        assert key not in self._patterns, f"key {key} is taken"
        assert key >= 0, "numbers below 0 are taken for further alternatives"
        twigs = filter.twigs
        members = (key, *(next(self._numbers) for _ in twigs[1:])) if twigs else ()
        for member, twig in zip(members, twigs, strict=True):
            self._tree.add(member, twig)
        if len(members) != 1:
            self._members[key] = members
            self._further.update(dict.fromkeys(members[1:], key))
        self._patterns[key] = filter
        self._keys[filter] = key

    def remove(self, key: int) -> None:
        """Remove a pattern."""
        del self._keys[self._patterns.pop(key)]
        for member in self._members.pop(key, (key,)):
            self._tree.remove(member)
            self._further.pop(member, None)

    def cov(self, filter: TreePattern, limit: int) -> list[int]:
        """The `limit` smallest keys of patterns that cover `filter`, without its own."""
        own = self._keys.get(filter)
        return sorted(key for key in self.covering(filter) if key != own)[:limit]

    def covered(self, filter: TreePattern) -> list[int]:
        """The keys of the patterns that `filter` covers, without its own."""
        own = self._keys.get(filter)
        return [key for key in self.contained(filter) if key != own]

    def covering(self, filter: TreePattern) -> Set[int]:
        """The keys of the patterns that cover `filter`, its own among them."""
        found = [self._keys_of(covering_members(self._tree, twig)) for twig in filter.twigs]
        return reduce(and_, found) if found else frozenset()

    def contained(self, filter: TreePattern) -> Set[int]:
        """The keys of the patterns that `filter` covers, its own among them."""
        found = [covered_members(self._tree, twig) for twig in filter.twigs]
        every = found[0] if len(found) == 1 else frozenset().union(*found)
        if not self._further:
            return every
        partly = {self._further[member] for member in every if member < 0}
        whole = {key for key in partly if every >= set(self._members[key])}
        return {member for member in every if member >= 0 and member not in self._members} | whole

    def _keys_of(self, members: Set[int]) -> Set[int]:
        """The keys of the patterns of which a member was found."""
        if not self._further:
            return members
        return {self._further.get(member, member) for member in members}

    def validate(self) -> None:
        """Raise `InvariantError` unless the tree holds exactly the members of the patterns."""
        self._tree.validate()
        if {key: pattern for pattern, key in self._keys.items()} != self._patterns:
            raise InvariantError("keys and patterns of the index disagree")
        members = {
            member: twig
            for key, pattern in self._patterns.items()
            for member, twig in zip(self._members.get(key, (key,)), pattern.twigs, strict=True)
        }
        stored = {member: homes[0][1] for member, homes in self._tree.homes.items()}
        if stored != members:
            raise InvariantError("the factorization tree does not hold the patterns' twigs")
        further = {member: key for key, several in self._members.items() for member in several[1:]}
        if further != self._further or not self._members.keys() <= self._patterns.keys():
            raise InvariantError("members and keys of the index disagree")
