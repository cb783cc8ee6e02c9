"""The subscription tree with super pointers (XPE dissemination, 1.5.2, corrected and completed).

Every node covers its children, siblings are not related, and a *super pointer* leads from a node to
one that it covers outside its own subtree. Tree and pointers together say of every pattern which
others it covers, without comparing any. The root of the tree covers everything and is no pattern.

The print says nothing of deletion, of patterns that cover each other and of several covered
siblings; what is done here keeps the invariants after any history:

* patterns that cover each other share a node;
* all siblings that a newcomer covers move below it;
* who pointed to a deleted node, and its parent, point to what it covered.

Short-cuts of the search: a cover asks for no more levels and no other names, and one that names the
root element covers nothing with another root; children are kept by that name. The first two stand
for the work's depth-first search to the level of equal length, the last for its rule that no
relative expression lies below an absolute one. What a pattern covers is looked for among those that
ask for the rarest name it asks for, instead of breadth first through the tree. Pointers are kept up
to date at once (the eager mode).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Twig
from sapwood.xml.document import local_name

_Nodes: TypeAlias = "dict[Node, None]"


class Node:
    """Patterns that cover each other, at one place of the tree.

    #: keys: whose patterns these are, in order of arrival; empty for the root of the tree
    #: children by head; no group is empty
    #: supers and owners: pointers from here and to here
    """

    __slots__ = (
        "children",
        "head",
        "keys",
        "labels",
        "names",
        "owners",
        "parent",
        "pattern",
        "reach",
        "supers",
    )

    def __init__(self, pattern: TreePattern | None) -> None:
        self.pattern = pattern
        twigs = () if pattern is None else pattern.twigs
        #: the label of the root element, and those of wider tests; `None` where it is not named
        self.labels = _root_labels(twigs)
        self.head = self.labels[0]
        #: levels, and names, that every accepted document has
        self.reach = min((twig.reach for twig in twigs), default=0)
        self.names = (
            frozenset[str]().union(*map(_names, twigs[:1])).intersection(*map(_names, twigs[1:]))
        )
        self.keys: dict[int, None] = {}
        self.parent: Node | None = None
        self.children: dict[str | None, _Nodes] = {}
        self.supers: _Nodes = {}
        self.owners: _Nodes = {}

    def covers(self, other: Node) -> bool:
        """Whether the patterns here cover those of another node; the root of the tree covers all.

        What levels and names decide is decided first.
        """
        if self.pattern is None or other.pattern is None:
            return self.pattern is None
        return (
            self.reach <= other.reach
            and self.names <= other.names
            and self.pattern.covers(other.pattern)
        )

    def descend(self) -> Iterator[Node]:
        """All nodes below, in the tree."""
        waiting = [self]
        while waiting:
            for group in waiting.pop().children.values():
                for child in group:
                    yield child
                    waiting.append(child)

    def covering_children(self, other: Node) -> Iterator[Node]:
        """Children that cover a node, which may not be in the tree."""
        for label in other.labels:
            for child in self.children.get(label, ()):
                if child.covers(other):
                    yield child

    def possible_children(self, above: Node) -> Iterator[Node]:
        """Children that another node may cover, as far as the name of the root element tells."""
        for label, group in self.children.items():
            if _may_meet(label, above.head):
                yield from group

    def is_below(self, above: Node) -> bool:
        """Whether the node lies below another, at any depth."""
        node = self.parent
        while node is not None and node is not above:
            node = node.parent
        return node is not None


class SubscriptionTree:
    """Tree patterns by key (see the module); a relation graph that searches in itself.

    #: the parent covers the child, siblings are not related
    #: a pointer leads to a covered node outside the subtree; owners are the inverse of supers
    #: subtree and pointers lead from a node to exactly the nodes that it covers
    #: _named[n] has the nodes that ask for the name n; none is empty
    """

    __slots__ = ("_named", "_nodes", "root")

    searches_itself = True

    def __init__(self) -> None:
        self.root = Node(None)
        self._nodes: dict[int, Node] = {}
        self._named: dict[str, _Nodes] = {}

    def __len__(self) -> int:
        """The number of patterns."""
        return len(self._nodes)

    def add(self, key: int, filter: TreePattern, index: object = None) -> bool:  # noqa: ARG002
        """Insert a pattern under a free key; returns whether another one covers it.

        Nothing is asked of an index.
        """
        assert key not in self._nodes, f"key {key} is taken"
        node = Node(filter)
        coverers = self._coverers(node)
        same = next((one for one in coverers if node.covers(one)), None)
        if same is None:
            self._insert(node, coverers)
        else:
            node = same
        node.keys[key] = None
        self._nodes[key] = node
        return same is not None or node.parent is not self.root

    def remove(self, key: int, index: object = None) -> tuple[int, ...]:  # noqa: ARG002
        """Take a pattern out; returns those of its children that nothing covers any more."""
        node = self._nodes.pop(key)
        was_first = next(iter(node.keys)) == key
        del node.keys[key]
        if node.keys:
            return (_first(node),) if was_first and node.parent is self.root else ()
        children = self._delete(node)
        return tuple(_first(child) for child in children if child.parent is self.root)

    def parents(self, key: int) -> tuple[int, ...]:
        """The next patterns that cover one: of those that cover each other, the oldest."""
        node = self._nodes[key]
        first = _first(node)
        if first != key:
            return (first,)
        above = () if node.parent is self.root or node.parent is None else (node.parent,)
        return tuple(_first(one) for one in (*above, *node.owners))

    def children(self, key: int) -> tuple[int, ...]:
        """The patterns of which `parents` has this one."""
        node = self._nodes[key]
        first, *others = node.keys
        if first != key:
            return ()
        below = (child for group in node.children.values() for child in group)
        return (*others, *(_first(one) for one in (*below, *node.supers)))

    def covering(self, filter: TreePattern) -> set[int]:
        """Keys of all patterns that cover one, which need not be in the tree."""
        return {key for node in self._coverers(Node(filter)) for key in node.keys}

    def contained(self, filter: TreePattern) -> set[int]:
        """Keys of all patterns that one covers, which need not be in the tree."""
        return {key for node in self._covered(Node(filter)) for key in node.keys}

    def below(self, key: int) -> set[int]:
        """Keys of all patterns that one in the tree covers, itself too; none is compared."""
        seen: _Nodes = {}
        waiting = [self._nodes[key]]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen[node] = None
                waiting += node.supers
                waiting += (child for group in node.children.values() for child in group)
        return {key for node in seen for key in node.keys}

    def maximal(self) -> list[int]:
        """One pattern for each that no other covers: what has to be forwarded."""
        return [_first(node) for group in self.root.children.values() for node in group]

    def validate(self) -> None:
        """Raise `InvariantError` unless the tree is consistent.

        That siblings are not related and nothing covered is missed takes comparing all pairs; that
        is for tests.
        """
        every = list(self.root.descend())
        if {key: node for node in every for key in node.keys} != self._nodes:
            raise InvariantError("the subscription tree does not hold exactly its patterns")
        named = {(name, node) for node in every for name in node.names}
        if named != {(name, node) for name, nodes in self._named.items() for node in nodes}:
            raise InvariantError("the subscription tree has lost a name")
        if not all(self._named.values()):
            raise InvariantError("the subscription tree keeps a name that nobody asks for")
        for node in every:
            parent = node.parent
            if parent is None or node not in parent.children.get(node.head, ()):
                raise InvariantError("parents and children of the subscription tree disagree")
            if not node.keys or not parent.covers(node) or not all(node.children.values()):
                raise InvariantError("a node of the subscription tree is empty or misplaced")
            for other in node.supers:
                if node not in other.owners or other.is_below(node) or not node.covers(other):
                    raise InvariantError("a super pointer leads to no covered node outside")
            if not all(node in owner.supers for owner in node.owners):
                raise InvariantError("an owner has no super pointer to its node")

    def _coverers(self, node: Node) -> list[Node]:
        """All nodes that cover one; below what does not cover it there are none."""
        found: list[Node] = []
        waiting = [self.root]
        while waiting:
            covering = list(waiting.pop().covering_children(node))
            found += covering
            waiting += covering
        return found

    def _covered(self, above: Node) -> _Nodes:
        """All nodes that one covers."""
        candidates: Iterable[Node] = self.root.descend()
        if above.names:
            rarest = min(sorted(above.names), key=lambda name: len(self._named.get(name, ())))
            candidates = self._named.get(rarest, ())
        return {node: None for node in candidates if above.covers(node)}

    def _insert(self, node: Node, coverers: list[Node]) -> None:
        """Put in a node that covers none of those that cover it."""
        parent = self.root
        while (further := next(parent.covering_children(node), None)) is not None:
            parent = further
        covered = self._covered(node)
        _adopt(parent, node)
        for child in [one for one in covered if one.parent is parent]:
            _leave(child)
            _adopt(node, child)
        for target in [one for one in parent.supers if one in covered]:
            _unpoint(parent, target)
            _point(node, target)
        for coverer in coverers:
            is_told = next(coverer.covering_children(node), None) is not None
            if not is_told and not node.is_below(coverer):
                _point(coverer, node)
        for target in covered:
            if target.parent not in covered and target.parent is not node:
                _point(node, target)
        for name in node.names:
            self._named.setdefault(name, {})[node] = None

    def _delete(self, node: Node) -> list[Node]:
        """Take a node out that has no keys; returns its former children."""
        parent = node.parent
        assert parent is not None, "the root of the tree stays"
        children = [child for group in node.children.values() for child in group]
        targets, above = [*children, *node.supers], [*node.owners]
        if parent is not self.root:
            above.append(parent)
        for target in list(node.supers):
            _unpoint(node, target)
        for owner in list(node.owners):
            _unpoint(owner, node)
        for child in children:
            _leave(child)
        _leave(node)
        for name in node.names:
            del self._named[name][node]
            if not self._named[name]:
                del self._named[name]
        for child in children:
            self._attach(child, parent)
        for owner in above:
            for target in targets:
                if not target.is_below(owner):
                    _point(owner, target)
        return children

    def _attach(self, node: Node, parent: Node) -> None:
        """Put a subtree back, below `parent` or below what covers it there."""
        while (further := next(parent.covering_children(node), None)) is not None:
            parent = further
        covered = [child for child in parent.possible_children(node) if node.covers(child)]
        _adopt(parent, node)
        for child in covered:
            _leave(child)
            _adopt(node, child)
        ancestor: Node | None = node
        while ancestor is not None:
            for target in [one for one in ancestor.supers if one.is_below(ancestor)]:
                _unpoint(ancestor, target)
            ancestor = ancestor.parent


def _adopt(parent: Node, child: Node) -> None:
    parent.children.setdefault(child.head, {})[child] = None
    child.parent = parent


def _leave(child: Node) -> None:
    """Take a node from its parent."""
    parent = child.parent
    assert parent is not None, "only the root of the tree has no parent"
    group = parent.children[child.head]
    del group[child]
    if not group:
        del parent.children[child.head]
    child.parent = None


def _point(owner: Node, target: Node) -> None:
    owner.supers[target] = None
    target.owners[owner] = None


def _unpoint(owner: Node, target: Node) -> None:
    del owner.supers[target]
    del target.owners[owner]


def _first(node: Node) -> int:
    return next(iter(node.keys))


def _root_labels(twigs: tuple[Twig, ...]) -> tuple[str | None, ...]:
    """The labels under which the root element is known, if all alternatives name it alike."""
    found = {twig.near[0].labels if twig.near else (None,) for twig in twigs}
    return next(iter(found)) if len(found) == 1 else (None,)


def _may_meet(one: str | None, other: str | None) -> bool:
    """Whether an element may have both labels."""
    if one is None or other is None or one == other:
        return True
    return local_name(one) == local_name(other) and not (one[0] == other[0] == "{")


def _names(twig: Twig) -> frozenset[str]:
    """The local names of all elements that are asked for."""
    return frozenset(one.test.local for one in twig.descend() if one.test is not None)
