"""The subscription tree with super pointers (XPE dissemination, 1.5.1, corrected and completed).

Every node covers its children, siblings are not related, and a *super pointer* leads from a node to
one that it covers outside its own subtree. Tree and pointers together give for every pattern the
patterns that it covers, without comparing any. The root of the tree covers everything and is no
pattern.

The print does not treat deletion, patterns that cover each other, or several covered siblings; the
operations here keep the invariants after any history:

* patterns that cover each other share a node;
* all siblings that a new pattern covers move below it (as printed, one of them does, and pointers
  would have to give the others that are to be unsubscribed);
* the owners of pointers to a deleted node, and its parent, get pointers to the nodes it covered.

A document goes down the tree from its root, breadth first: a pattern that refuses it covers none
that accepts it, so everything below is skipped, and everything that its pointers lead to (`match`).

Pointers are added to and from each new pattern at once, or, in a tree that is *lazy*, not before a
caller reads the patterns below another. The work puts it off until a new pattern that nothing
covers covers others, since routing needs to know then what to unsubscribe. These are the nodes that
stood at the top, which are children of the new one now; so in a lazy tree that moment needs no
pointers either (`supplant`). Two patterns that cover each other without being equal may have a node
each in a lazy tree until pointers are added.

A `Relation` may miss covers. Siblings may be related then, and a pointer that would lead to the top
of the tree or upwards is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from sapwood.errors import InvariantError
from sapwood.matching.published.subscription_tree.node import (
    EXACT,
    Node,
    Nodes,
    Relation,
    adopt,
    leave,
    point,
    unpoint,
)
from sapwood.matching.published.subscription_tree.shortcuts import OWN, Shortcuts
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.document import Document


class SubscriptionTree:
    """Tree patterns by key (see the module); a relation graph that searches in itself.

    `comparisons` counts the comparisons of two patterns, `asked` the evaluations of a pattern on a
    document, since the beginning.

    #: the parent covers the child, siblings are not related
    #: a pointer leads to a covered node outside the subtree; owners are the inverse of supers
    #: no pointer leads to a child of the root
    #: subtree and pointers lead from a node to exactly the nodes that it covers, but for _pending
    #: _named[n] has the nodes whose patterns require the name n; none is empty
    """

    __slots__ = (
        "_is_lazy",
        "_named",
        "_nodes",
        "_pending",
        "_relation",
        "_shortcuts",
        "asked",
        "comparisons",
        "root",
    )

    searches_itself = True

    def __init__(
        self,
        relation: Relation = EXACT,
        shortcuts: Shortcuts = OWN,
        *,
        is_lazy: bool = False,
    ) -> None:
        self.root = Node(None)
        self.comparisons = 0
        self.asked = 0
        self._relation = relation
        self._shortcuts = shortcuts
        self._is_lazy = is_lazy
        self._nodes: dict[int, Node] = {}
        self._named: dict[str, Nodes] = {}
        #: nodes to and from which pointers may be missing
        self._pending: Nodes = {}

    def __len__(self) -> int:
        """The number of patterns."""
        return len(self._nodes)

    def add(self, key: int, filter: TreePattern, index: object = None) -> bool:  # noqa: ARG002
        """Insert a pattern under a free key; returns true if another one covers it.

        The index is not used.
        """
        assert key not in self._nodes, f"key {key} is taken"
        node = Node(filter, self._relation)
        coverers = self._chain(node) if self._is_lazy else self._coverers(node)
        same = next((one for one in coverers if self._covers(node, one)), None)
        if same is not None:
            node = same
        else:
            self._insert(node, coverers)
        node.keys[key] = None
        self._nodes[key] = node
        return same is not None or node.parent is not self.root

    def remove(self, key: int, index: object = None) -> tuple[int, ...]:  # noqa: ARG002
        """Remove a pattern; returns those of its children that nothing covers any more."""
        node = self._nodes.pop(key)
        was_first = node.first == key
        del node.keys[key]
        if node.keys:
            return (node.first,) if was_first and node.parent is self.root else ()
        children = self._delete(node)
        return tuple(child.first for child in children if child.parent is self.root)

    def supplant(self, key: int, filter: TreePattern, index: object = None) -> tuple[int, ...]:  # noqa: ARG002
        """The patterns that nothing covered before this one was added: what routing unsubscribes.

        Call it right after `add`, and before anything else is added.
        """
        node = self._nodes[key]
        if node.parent is not self.root or node.first != key:
            return ()
        return tuple(child.first for child in node.every_child())

    def parents(self, key: int) -> tuple[int, ...]:
        """The nearest patterns that cover one: of several that cover each other, the oldest.

        In a lazy tree only as far as pointers have been added.
        """
        node = self._nodes[key]
        if node.first != key:
            return (node.first,)
        above = () if node.parent is self.root or node.parent is None else (node.parent,)
        return tuple(one.first for one in (*above, *node.owners))

    def children(self, key: int) -> tuple[int, ...]:
        """The patterns that have this one among their `parents`."""
        node = self._nodes[key]
        first, *others = node.keys
        if first != key:
            return ()
        return (*others, *(one.first for one in (*node.every_child(), *node.supers)))

    def covering(self, filter: TreePattern) -> set[int]:
        """The keys of all patterns that cover one, which need not be in the tree."""
        node = Node(filter, self._relation)
        return {key for one in self._coverers(node) for key in one.keys}

    def contained(self, filter: TreePattern) -> set[int]:
        """The keys of all patterns that one covers, which need not be in the tree."""
        node = Node(filter, self._relation)
        return {key for one in self._covered(node) for key in one.keys}

    def below(self, key: int) -> set[int]:
        """The keys of all patterns that one in the tree covers, itself too; none is compared.

        A lazy tree adds the pointers that are missing first.
        """
        self.settle()
        seen: Nodes = {}
        waiting = [self._nodes[key]]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen[node] = None
                waiting += node.supers
                waiting += node.every_child()
        return {key for node in seen for key in node.keys}

    def maximal(self) -> list[int]:
        """The patterns that no other covers, one of equal ones: those to be forwarded."""
        return [node.first for node in self.root.every_child()]

    def match(self, document: Document) -> set[int]:
        """The keys of all patterns that accept a document, or one path as a document of its own.

        Below a pattern that refuses it none is evaluated, nor are those that its pointers lead to.
        The document must have its content if any pattern reads that.
        """
        found: set[int] = set()
        refused: set[Node] = set()
        waiting = deque(self._shortcuts.matching(self.root, document))
        asked = 0
        while waiting:
            node = waiting.popleft()
            assert node.pattern is not None, "only the root of the tree has no pattern"
            if node not in refused:
                asked += 1
                if node.pattern.accepts(document):
                    found.update(node.keys)
                    waiting += self._shortcuts.matching(node, document)
                    continue
            refused.update(node.supers)
        self.asked += asked
        return found

    def match_any(self, document: Document) -> bool:
        """True if any pattern accepts a document; evaluates only patterns that nothing covers."""
        for asked, node in enumerate(self._shortcuts.matching(self.root, document), 1):
            assert node.pattern is not None, "only the root of the tree has no pattern"
            if node.pattern.accepts(document):
                self.asked += asked
                return True
        return False

    def settle(self) -> None:
        """Add the pointers that a lazy tree has deferred."""
        while self._pending:
            node = next(iter(self._pending))
            coverers = [one for one in self._coverers(node) if one is not node]
            same = next((one for one in coverers if self._covers(node, one)), None)
            if same is None:
                self._connect(node, coverers, self._covered(node))
                del self._pending[node]
            else:
                self._unite(node, same)

    def validate(self) -> None:
        """Raise `InvariantError` unless the tree is consistent.

        To check that siblings are not related and no cover is missed takes comparing all pairs;
        tests do that.
        """
        every = list(self.root.descend())
        if {key: node for node in every for key in node.keys} != self._nodes:
            raise InvariantError("the subscription tree does not hold exactly its patterns")
        named = {(name, node) for node in every for name in node.names}
        if named != {(name, node) for name, nodes in self._named.items() for node in nodes}:
            raise InvariantError("the subscription tree has lost a name")
        if not all(self._named.values()):
            raise InvariantError("the subscription tree keeps a name that nobody asks for")
        if not (self._pending.keys() <= set(every) and (self._is_lazy or not self._pending)):
            raise InvariantError("the subscription tree puts off pointers of nodes it has not")
        for node in every:
            self._check(node)

    def _check(self, node: Node) -> None:
        parent = node.parent
        if parent is None or node not in parent.children.get(node.head, ()):
            raise InvariantError("parents and children of the subscription tree disagree")
        is_covered = parent is self.root or self._relation.covers(parent.compared, node.compared)
        if not node.keys or not is_covered or not all(node.children.values()):
            raise InvariantError("a node of the subscription tree is empty or misplaced")
        for other in node.supers:
            is_covered = self._relation.covers(node.compared, other.compared)
            if node not in other.owners or other.is_below(node) or not is_covered:
                raise InvariantError("a super pointer leads to no covered node outside")
        if node.owners and parent is self.root:
            raise InvariantError("a super pointer leads to what nothing covers")
        if not all(node in owner.supers for owner in node.owners):
            raise InvariantError("an owner has no super pointer to its node")

    def _covers(self, wide: Node, narrow: Node) -> bool:
        """True if the patterns of a node cover those of another."""
        if not self._shortcuts.may_cover(wide, narrow):
            return False
        self.comparisons += 1
        return self._relation.covers(wide.compared, narrow.compared)

    def _above(self, parent: Node, node: Node) -> Iterator[Node]:
        """Children that cover a node, which may not be in the tree."""
        return (one for one in self._shortcuts.above(parent, node) if self._covers(one, node))

    def _chain(self, node: Node) -> list[Node]:
        """Nodes that cover one, each the parent of the next, as far down as there are any."""
        found: list[Node] = []
        parent = self.root
        while (further := next(self._above(parent, node), None)) is not None:
            found.append(further)
            parent = further
        return found

    def _coverers(self, node: Node) -> list[Node]:
        """All nodes that cover one, parents first; below other nodes there are none."""
        found: list[Node] = []
        waiting = [self.root]
        while waiting:
            covering = list(self._above(waiting.pop(), node))
            found += covering
            waiting += covering
        return found

    def _covered(self, node: Node) -> Nodes:
        """All nodes that one covers."""
        candidates = self._shortcuts.candidates(node, self._named)
        if candidates is not None:
            return {one: None for one in candidates if self._covers(node, one)}
        found: Nodes = {}
        waiting = [self.root]
        while waiting:
            for one in waiting.pop().every_child():
                if self._covers(node, one):
                    found[one] = None
                    found.update(dict.fromkeys(one.descend()))
                else:
                    waiting.append(one)
        return found

    def _insert(self, node: Node, coverers: Iterable[Node]) -> None:
        """Insert a node that covers none of its `coverers`, which come parents first."""
        parent = self.root
        for coverer in coverers:
            if coverer.parent is parent:
                parent = coverer
        if self._is_lazy:
            self._place(node, parent)
            self._pending[node] = None
        else:
            covered = self._covered(node)
            self._place(node, parent, covered)
            self._connect(node, coverers, covered)
        for name in node.names:
            self._named.setdefault(name, {})[node] = None

    def _place(self, node: Node, parent: Node, covered: Nodes | None = None) -> None:
        """Put a node between another one and those of its children, and pointers, that it covers.

        `covered` has all nodes that it covers; without it they are compared where needed.
        """
        children = self._shortcuts.below(parent, node)
        if covered is None:
            below = [one for one in children if self._covers(node, one)]
            targets = [one for one in parent.supers if self._covers(node, one)]
        else:
            below = [one for one in children if one in covered]
            targets = [one for one in parent.supers if one in covered]
        adopt(parent, node)
        for child in below:
            leave(child)
            adopt(node, child)
        for target in targets:
            unpoint(parent, target)
            point(node, target)

    def _connect(self, node: Node, coverers: Iterable[Node], covered: Nodes) -> None:
        """Add the pointers to a node in the tree, and those from it."""
        coverers = tuple(coverers)
        told = {one.parent for one in coverers}
        for coverer in coverers:
            if coverer not in told:
                self._point(coverer, node)
        for target in covered:
            if target.parent not in covered and target.parent is not node:
                self._point(node, target)

    def _point(self, owner: Node, target: Node) -> None:
        """Add a pointer unless the tree implies it, or contradicts it (see the module)."""
        if not (
            target.parent is self.root
            or owner is target
            or target.is_below(owner)
            or owner.is_below(target)
        ):
            point(owner, target)

    def _unite(self, node: Node, same: Node) -> None:
        """Move the patterns of a node to another one, with which it covers each other."""
        for key in node.keys:
            same.keys[key] = None
            self._nodes[key] = same
        node.keys = {}
        self._delete(node)

    def _delete(self, node: Node) -> list[Node]:
        """Remove a node that has no keys; returns its former children."""
        parent = node.parent
        assert parent is not None, "the root of the tree stays"
        children = list(node.every_child())
        targets, above = [*children, *node.supers], [*node.owners]
        if parent is not self.root:
            above.append(parent)
        for target in list(node.supers):
            unpoint(node, target)
        for owner in list(node.owners):
            unpoint(owner, node)
        for child in children:
            leave(child)
        leave(node)
        self._pending.pop(node, None)
        for name in node.names:
            del self._named[name][node]
            if not self._named[name]:
                del self._named[name]
        for child in children:
            self._attach(child, parent)
        for owner in above:
            for target in targets:
                self._point(owner, target)
        return children

    def _attach(self, node: Node, parent: Node) -> None:
        """Put a subtree back, below `parent` or below a node that covers it there."""
        while (further := next(self._above(parent, node), None)) is not None:
            parent = further
        covered = [one for one in self._shortcuts.below(parent, node) if self._covers(node, one)]
        adopt(parent, node)
        for child in covered:
            leave(child)
            adopt(node, child)
        if parent is self.root:
            for owner in list(node.owners):
                unpoint(owner, node)
        ancestor: Node | None = node
        while ancestor is not None:
            for target in [one for one in ancestor.supers if one.is_below(ancestor)]:
                unpoint(ancestor, target)
            ancestor = ancestor.parent
