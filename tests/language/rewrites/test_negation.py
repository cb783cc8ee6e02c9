"""Negation ends up directly above conditions and keeps its meaning."""

from __future__ import annotations

from hypothesis import given

from sapwood.language.rewrites.negation import push_negation
from sapwood.language.syntax import And, Constant, Node, Not, Or
from sapwood.model.publication import Record
from tests import oracles
from tests.strategies import records, trees


def only_leaves_are_negated(node: Node) -> bool:
    if isinstance(node, And | Or):
        return all(map(only_leaves_are_negated, node.operands))
    return not (isinstance(node, Not) and isinstance(node.operand, Not | And | Or | Constant))


@given(tree=trees(), record=records())
def test_push_negation_keeps_the_meaning(tree: Node, record: Record) -> None:
    pushed = push_negation(tree)
    assert only_leaves_are_negated(pushed)
    assert oracles.holds(pushed, record) == oracles.holds(tree, record)


def test_push_negation_turns_and_into_or_and_constants_around() -> None:
    negated = Not(And((Constant(value=True), Or((Constant(value=False), Constant(value=True))))))
    pushed = push_negation(negated)
    assert pushed == Or((Constant(value=False), And((Constant(value=True), Constant(value=False)))))
