"""Names as numbers."""

from __future__ import annotations

from sapwood.limits import NAMES_REMEMBERED_MAX
from sapwood.matching.automaton.names import ANY, NONE, Names, Symbol
from sapwood.model.patterns.conditions import NameTest


def test_tests_are_numbered_once() -> None:
    names = Names()
    assert names.test(None) == ANY
    assert [names.test(NameTest("a")), names.test(NameTest("b")), names.test(NameTest("a"))] == [
        *(1, 2, 1)
    ]
    assert names.test(NameTest("a", "")) == 3


def test_symbol_holds_the_tests_that_a_name_passes() -> None:
    names = Names()
    local, bare, bound = (names.test(NameTest("a", space)) for space in (None, "", "u"))
    assert names.symbols[names.number("a")] == Symbol(local, bare)
    assert names.symbols[names.number("{u}a")] == Symbol(local, bound)
    assert names.symbols[names.number("{v}a")] == Symbol(local, NONE)
    assert names.number("b") == names.number("{u}c") == 0
    assert names.numbers(["a", "b", "a"]) == [names.number("a"), 0, names.number("a")]


def test_name_that_a_new_test_names_is_no_longer_untested() -> None:
    names = Names()
    assert names.number("a") == 0
    number = names.test(NameTest("a"))
    assert names.symbols[names.number("a")] == Symbol(number, NONE)


def test_names_are_forgotten_before_they_are_too_many() -> None:
    names = Names()
    names.test(NameTest("a"))
    for at in range(NAMES_REMEMBERED_MAX + 5):
        names.number(f"x{at}")
    assert len(names._remembered) <= NAMES_REMEMBERED_MAX
    assert names.symbols[names.number("a")].local == 1
