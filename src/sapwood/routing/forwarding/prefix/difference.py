"""The difference of two routing trees: the weighted tree difference (XSiena 4.3.2, 4.2 to 4.4).

A node weighs the inverse of its distance from the root, which itself weighs nothing, and is the
same in both trees where all constraints on the way to it are. The difference of {x > 5 {x < 9},
x <= 5} and {x > 5 {y = 1}}: only in the first are x < 9 and x <= 5, only in the second y = 1, which
weigh 1/2 + 1 + 1/2 of 5/2 + 3/2 for both trees, so it is 1/2.
"""

from __future__ import annotations

from sapwood.model.constraint import Constraint
from sapwood.routing.forwarding.prefix.siblings import Node


def difference(first: Node, second: Node) -> float:
    """The share of two trees, by their roots, that is only in one; 0 for two empty ones."""
    apart = both = 0.0
    pairs = [(first, second, 1)]
    while pairs:
        one, other, depth = pairs.pop()
        theirs = _children(other)
        for key, child in _children(one).items():
            twin = theirs.pop(key, None)
            if twin is None:
                weight = _weight(child, depth)
                apart += weight
                both += weight
            else:
                both += 2 / depth
                pairs.append((child, twin, depth + 1))
        for child in theirs.values():
            weight = _weight(child, depth)
            apart += weight
            both += weight
    return apart / both if both else 0.0


def _children(node: Node) -> dict[tuple[str, Constraint], Node]:
    return {
        (name, child.constraint): child for name, group in node.children.items() for child in group
    }


def _weight(node: Node, depth: int) -> float:
    """The weight of a node at a depth and of all below it."""
    weight, left = 0.0, [(node, depth)]
    while left:
        one, at = left.pop()
        weight += 1 / at
        left.extend((child, at + 1) for group in one.children.values() for child in group)
    return weight
