"""The rewrites in their order give the filter that the tree describes."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import LimitError
from sapwood.language import normal
from sapwood.language.normal import normal_form
from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.model.publication import Record
from tests import oracles
from tests.strategies import records, trees


@given(tree=trees(), record=records())
def test_normal_form_keeps_the_meaning_of_the_tree(tree: Node, record: Record) -> None:
    assert normal_form(tree).accepts(record) == oracles.holds(tree, record)


def test_normal_form_refuses_a_filter_that_could_not_be_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = parse("a=1e3 and b=2")
    length = len("a = 1000 and b = 2")
    monkeypatch.setattr(normal, "FILTER_TEXT_CHARS_MAX", length)
    assert len(str(normal_form(tree))) == length
    monkeypatch.setattr(normal, "FILTER_TEXT_CHARS_MAX", length - 1)
    with pytest.raises(LimitError, match=rf"is {length}; the limit FILTER_TEXT_CHARS_MAX"):
        normal_form(tree)
