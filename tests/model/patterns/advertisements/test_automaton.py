"""The automaton accepts the words of its expression."""

from __future__ import annotations

from hypothesis import given

from sapwood.model.patterns.advertisements import Expression
from sapwood.model.patterns.advertisements.automaton import START, Automaton, automaton_of, bits
from tests.model.patterns.advertisements.made import NAMES, all_words, expressions, words


def run(automaton: Automaton, word: str) -> int:
    states = START
    for name in word.split("/")[1:]:
        states = automaton.next(states) & automaton.readers(name)
        if not states:
            break
    return states


@given(expressions())
def test_automaton_accepts_exactly_the_words(expression: Expression) -> None:
    automaton = automaton_of(expression)
    accepted = {word for word in all_words(4) if run(automaton, word) & automaton.last}
    assert accepted == words(expression, 4)


@given(expressions())
def test_by_letter_parts_states_as_names_do(expression: Expression) -> None:
    automaton = automaton_of(expression)
    everything = (1 << len(automaton.names)) - 1
    parts = set(automaton.by_letter(everything))
    assert parts == {automaton.readers(name) for name in NAMES} - {0}


def test_bits_are_the_states_in_order() -> None:
    assert list(bits(0b10110)) == [1, 2, 4]
    assert list(bits(0)) == []
