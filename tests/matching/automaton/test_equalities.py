"""Equalities found by hashing."""

from __future__ import annotations

import pytest

from sapwood.matching.automaton import equalities as module
from sapwood.matching.automaton.access import Equality
from sapwood.matching.automaton.conditions import ConditionTable
from sapwood.matching.automaton.encoding import Encoder
from sapwood.matching.automaton.equalities import Equalities
from sapwood.matching.automaton.names import ANY, Names
from sapwood.model.patterns.conditions import NameTest, StringValue, Text
from sapwood.xml import Document, read_document


def satisfied(equalities: Equalities, names: Names, document: Document) -> set[tuple[int, int]]:
    """Pairs of element and equality."""
    pairs = equalities.satisfied(document, names.numbers(document.names))
    return set(zip(*pairs, strict=True))


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
    assert satisfied(equalities, names, document) == {
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 2),
        (0, 3),
        (0, 4),
    }


def test_equality_that_comes_later_is_found_too() -> None:
    names = Names()
    equalities = Equalities(names, Encoder(names, ConditionTable(names)))
    document = read_document(b"<a x='1'/>")
    equalities.number(names.test(NameTest("b")), Equality(NameTest("x"), "1"))
    assert satisfied(equalities, names, document) == set()
    late = equalities.number(names.test(NameTest("a")), Equality(NameTest("x"), "1"))
    assert satisfied(equalities, names, document) == {(0, late)}


def test_equality_with_a_value_that_is_remembered_is_found_too() -> None:
    names = Names()
    equalities = Equalities(names, Encoder(names, ConditionTable(names)))
    a, x = names.test(NameTest("a")), NameTest("x")
    document = read_document(b"<a x='1'/>")
    asked = (
        *(Equality(x, "2"), Equality(x, "1"), Equality(x, 2.0), Equality(x, 1.0)),
        *(Equality(Text, "1"), Equality(StringValue, "")),
    )
    numbers = []
    for equality in asked:
        numbers.append(equalities.number(a, equality))
        found = satisfied(equalities, names, document)
        assert found == {(0, number) for number in numbers if number in (1, 3, 5)}


def test_what_is_remembered_of_values_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EQUALITIES_REMEMBERED_MAX", 3)
    monkeypatch.setattr(module, "VALUE_REMEMBERED_CHARS_MAX", 2)
    names = Names()
    equalities = Equalities(names, Encoder(names, ConditionTable(names)))
    a, x = names.test(NameTest("a")), NameTest("x")
    wanted = {value: equalities.number(a, Equality(x, value)) for value in ("1", "20", "300")}
    for value in ("1", "20", "300", "4", "5", "6", "1", "20"):
        found = satisfied(equalities, names, read_document(f"<a x='{value}'/>".encode()))
        assert found == ({(0, wanted[value])} if value in wanted else set())
        assert sum(map(len, equalities._remembered.values())) == equalities._count <= 3
    assert "300" not in equalities._remembered
