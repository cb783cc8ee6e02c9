"""Equalities found by hashing."""

from __future__ import annotations

from sapwood.matching.documents.automaton.access import Equality
from sapwood.matching.documents.automaton.conditions import ConditionTable
from sapwood.matching.documents.automaton.encoding import Encoder
from sapwood.matching.documents.automaton.equalities import Equalities
from sapwood.matching.documents.automaton.names import ANY, Names
from sapwood.model.documents.conditions import NameTest, StringValue, Text
from sapwood.xml import read_document


def test_elements_satisfy_the_equalities_of_their_names() -> None:
    names = Names()
    equalities = Equalities(names, Encoder(names, ConditionTable(names)))
    a, x = names.test(NameTest("a")), NameTest("x")
    asked = [
        (a, Equality(x, "1")),
        (a, Equality(x, 1.0)),
        (ANY, Equality(x, 1.0)),
        (ANY, Equality(Text, "t")),
        (a, Equality(StringValue, "tu")),
        (a, Equality(x, "2")),
    ]
    numbers = [equalities.number(test, equality) for test, equality in asked]
    assert numbers == list(range(len(asked))) == [equalities.number(*one) for one in asked]
    assert len(equalities) == len(asked)
    document = read_document(b"<a x='1'>t<b x='1.0' y='1'>u</b></a>")
    found = set(equalities.satisfied(document, names.numbers(document.names)))
    assert found == {(0, 0), (0, 1), (0, 2), (1, 2), (0, 3), (0, 4)}


def test_equality_that_comes_later_is_found_too() -> None:
    names = Names()
    equalities = Equalities(names, Encoder(names, ConditionTable(names)))
    document = read_document(b"<a x='1'/>")
    equalities.number(names.test(NameTest("b")), Equality(NameTest("x"), "1"))
    assert list(equalities.satisfied(document, names.numbers(document.names))) == []
    late = equalities.number(names.test(NameTest("a")), Equality(NameTest("x"), "1"))
    assert list(equalities.satisfied(document, names.numbers(document.names))) == [(0, late)]
