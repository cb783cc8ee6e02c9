"""Strategies know what they need beside them, and what they cannot stand beside."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.errors import InputError
from sapwood.routing.protocols import protocol
from sapwood.routing.strategies import Rule, Strategy, check_rules

ONE = Strategy(
    name="one:with+more",
    summary="one",
    requires=(Rule(frozenset({"two", "three"}), "one needs two or three"),),
    excludes=(Rule(frozenset({"four"}), "one cannot be beside four"),),
)
TWO, THREE, FOUR = (Strategy(name=name, summary=name) for name in ("two", "three", "four"))


def test_one_of_the_words_that_are_required_is_enough() -> None:
    check_rules("p", (ONE, TWO))
    check_rules("p", (THREE, ONE))
    with pytest.raises(InputError, match="protocol 'p': one needs two or three"):
        check_rules("p", (ONE,))


def test_none_of_the_words_that_are_excluded_may_be_there() -> None:
    with pytest.raises(InputError, match="protocol 'p': one cannot be beside four"):
        check_rules("p", (FOUR, TWO, ONE))


def test_a_protocol_that_breaks_a_rule_cannot_be_made() -> None:
    with pytest.raises(InputError, match="have to be flooded"):
        replace(protocol("flooding"), forwarding=protocol("covering").forwarding)


def test_a_protocol_does_what_all_of_its_strategies_can() -> None:
    found = protocol("mesh+covering")
    records = replace(found.forwarding, kinds=("records",))
    assert replace(found, forwarding=records).kinds == ("records",)
    rough = replace(found.membership, exact=False)
    assert not replace(found, membership=rough).exact
    assert found.summary.endswith("on a tree for each router")
