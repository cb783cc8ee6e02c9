"""Push `not` to the leaves, where it fixes the meaning of a negation.

`not price > 10` becomes `price <= 10`: the attribute is present, comparable and at most 10. An
absent attribute therefore satisfies neither a comparison nor its negation.
"""

from __future__ import annotations

from sapwood.language.syntax import And, Constant, Node, Not, Or


def push_negation(node: Node, *, negated: bool = False) -> Node:
    """The same meaning, with `Not` directly above conditions only.

    Recursion is bounded by `limits.FILTER_NESTING_MAX` levels of the parsed text.
    """
    if isinstance(node, Not):
        return push_negation(node.operand, negated=not negated)
    if isinstance(node, And | Or):
        operands = tuple(push_negation(operand, negated=negated) for operand in node.operands)
        conjunctive = isinstance(node, And) != negated
        return And(operands) if conjunctive else Or(operands)
    if isinstance(node, Constant):
        return Constant(node.value != negated)
    return Not(node) if negated else node
