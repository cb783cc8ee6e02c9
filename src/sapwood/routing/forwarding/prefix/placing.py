"""The place of a filter in a routing tree: insertion, with and without new nodes (XSiena 4.2).

A conjunction goes down the tree constraint by constraint, in the order of their attributes. Where
its next constraint equals that of a child, it goes on below with the rest; where a child covers it,
it goes on below as it is; where it crosses a child, it is split into what is inside, which goes on
there, and what is outside, which stays (Listing 4.1). Where none of this holds, *growing* makes a
node, which adopts the children that it covers. Without growing (insertR, 4.2.4) the rest is placed
at the node that it has come to, inexactly: all publications of that node are then taken for
matches, and some are none. Splitting makes no node, so both ways split; a filter that the tree was
grown with is therefore found again piece by piece, exactly. The tree {x > 5 {x < 9}, x <= 5} and
the filter x < 9 and y = 1, which crosses x > 5:

    inside     5 < x < 9 and y = 1    equals x < 9 below x > 5, and makes y = 1 there
    outside    x <= 5 and y = 1       equals x <= 5, and makes y = 1 there

Where nodes have gone that a filter was grown with, their children stand beside each other; a piece
that these accept together is followed into each of them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sapwood.limits.prefix import TREE_PIECES_MAX, TREE_STEPS_MAX
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.routing.forwarding.prefix.siblings import (
    UNRELATED,
    Node,
    Relation,
    split,
)


class Placed(NamedTuple):
    """The pieces of a conjunction, and about how many nodes were visited to place them."""

    pieces: list[Piece]
    looked: int


class Piece(NamedTuple):
    """A part of a conjunction at a node.

    All that it accepts is accepted on the way to the node; it `is_exact` if nothing else is. `used`
    are the nodes on the way that stand for constraints of it.
    """

    node: Node
    is_exact: bool
    used: tuple[Node, ...]


_Left: TypeAlias = tuple[Node, tuple[tuple[str, Constraint], ...], tuple[Node, ...]]


def place(root: Node, wanted: Conjunction, *, grow: bool = False) -> Placed:
    """The pieces of a conjunction; together they accept what it accepts, or more.

    Beyond `limits.TREE_PIECES_MAX` pieces nothing is split any more, and without growing all is
    left where it is when `limits.TREE_STEPS_MAX` nodes have been visited.
    """
    found: list[Piece] = []
    looked = 0
    left: list[_Left] = [(root, wanted.constraints, ())]
    while left:
        node, constraints, used = left.pop()
        if not constraints:
            found.append(Piece(node, is_exact=True, used=used))
            continue
        (attribute, asked), rest = constraints[0], constraints[1:]
        group = node.children.get(attribute)
        steps = 1 if group is None else group.effort(asked)
        if looked + steps > TREE_STEPS_MAX and not grow:
            found.append(Piece(node, is_exact=False, used=used))
            continue
        looked += steps
        relation = UNRELATED if group is None else group.related(asked)
        if relation.equal is not None:
            left.append((relation.equal, rest, (*used, relation.equal)))
        elif relation.covering is not None:
            left.append((relation.covering, constraints, used))
        elif relation.crossing is not None:
            if len(found) + len(left) + 2 > TREE_PIECES_MAX:
                found.append(Piece(node, is_exact=False, used=used))
                continue
            inside, outside = split(asked, relation.crossing.constraint)
            left.append((node, ((attribute, outside), *rest), used))
            left.append((relation.crossing, ((attribute, inside), *rest), used))
        elif grow:
            fresh = _grown(node, attribute, asked, relation)
            left.append((fresh, rest, (*used, fresh)))
        elif len(found) + len(left) + len(relation.covered) <= TREE_PIECES_MAX and (
            _is_whole(asked, relation)
        ):
            left.extend((child, rest, (*used, child)) for child in relation.covered)
        else:
            found.append(Piece(node, is_exact=False, used=used))
    return Placed(found, looked)


def _grown(node: Node, attribute: str, asked: Constraint, relation: Relation) -> Node:
    """A new child, with the children that it covers below it."""
    fresh = Node(attribute, asked)
    for child in relation.covered:
        node.release(child)
        fresh.adopt(child)
    node.adopt(fresh)
    return fresh


def _is_whole(asked: Constraint, relation: Relation) -> bool:
    """True if the covered children together accept all that the constraint accepts."""
    left = asked
    for child in relation.covered:
        beyond = child.constraint.complement()
        if beyond is None:
            return False
        left = left.intersect(beyond)
    return bool(relation.covered) and left.is_empty
