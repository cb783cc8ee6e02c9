"""A set of links has one number for as long as a filter has it."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.routing.gates import NO_LINK, Gates


def test_gates_of_the_same_links_are_one() -> None:
    gates = Gates()
    one, other = gates.enter(0b010), gates.enter(0b101)
    assert gates.enter(0b010) == one != other
    assert gates.enter(0) == NO_LINK
    assert [gates.bits[gate] for gate in (NO_LINK, one, other)] == [0, 0b010, 0b101]
    assert len(gates) == 2
    gates.validate({NO_LINK: 7, one: 2, other: 1})


def test_gate_is_free_when_its_last_filter_has_left() -> None:
    gates = Gates()
    first = gates.enter(0b1)
    gates.enter(0b1)
    gates.leave(first)
    assert gates.enter(0b1) == first
    gates.leave(first)
    gates.leave(first)
    assert len(gates) == 0
    assert gates.enter(0b11) == first
    gates.leave(NO_LINK)
    gates.validate({first: 1})


def test_validate_notices_gates_that_differ() -> None:
    gates = Gates()
    one = gates.enter(0b1)
    with pytest.raises(InvariantError, match="in use"):
        gates.validate({one: 2})
    gates.bits[one] = 0b10
    with pytest.raises(InvariantError, match="numbers"):
        gates.validate({one: 1})
    gates.bits[one] = 0b1
    gates._free.append(one)
    with pytest.raises(InvariantError, match="free"):
        gates.validate({one: 1})
