"""The rewrites in their order give the filter that the tree describes."""

from __future__ import annotations

from hypothesis import given

from sapwood.language.normal import normal_form
from sapwood.language.syntax import Node
from sapwood.model.publication import Record
from tests import oracles
from tests.strategies import records, trees


@given(tree=trees(), record=records())
def test_normal_form_keeps_the_meaning_of_the_tree(tree: Node, record: Record) -> None:
    assert normal_form(tree).accepts(record) == oracles.holds(tree, record)
