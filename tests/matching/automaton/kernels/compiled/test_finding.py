"""Elements in groups: the compiled way and the plain one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.automaton.kernels import plain
from sapwood.matching.automaton.kernels.compiled.finding import group_elements
from sapwood.matching.automaton.search import Groups, MarkBook, Pairs, Sizes


@given(
    places=st.lists(st.integers(0, 3), min_size=1, max_size=70),
    drawn=st.lists(st.tuples(st.integers(0, 69), st.integers(0, 5)), max_size=40),
)
def test_elements_of_a_state_and_an_equality_are_one_group(
    places: list[int], drawn: list[tuple[int, int]]
) -> None:
    distinct = sorted(set(places))
    own = np.array([distinct.index(place) for place in places], np.int32)
    pairs = [(element % len(places), equality) for element, equality in drawn]
    equal = Pairs(*(np.array([pair[at] for pair in pairs], np.int32) for at in range(2)))
    book, expected = MarkBook(), None
    for _ in range(2):
        marks = book.begin(Sizes(1, 1, 1, 6, 1, len(distinct)))
        found = group_elements(own, len(distinct), equal, marks)
        expected = plain.group_elements(own, len(distinct), equal, marks)
        for name in Groups._fields:
            assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert expected is not None
    groups = set(zip(expected.states.tolist(), expected.equalities.tolist(), strict=True))
    assert groups == {
        *((place, -1) for place in range(len(distinct))),
        *((int(own[element]), equality) for element, equality in pairs),
    }
