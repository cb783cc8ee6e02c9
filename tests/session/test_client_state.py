"""State that a client keeps: records, and the state that they come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.session.client_state import (
    Acknowledged,
    Answered,
    Begun,
    ClientRecord,
    ClientState,
    Confirmed,
    Published,
    Refused,
)


def of(*records: ClientRecord) -> ClientState:
    state = ClientState()
    for record in records:
        state.carry_out(record)
    return state


def as_values(state: ClientState) -> tuple[object, ...]:
    window = state.window
    waiting = list(window.after(0))
    return state.name, state.session, window.acknowledged, window.last, waiting, state.unconfirmed


def test_a_publisher_goes_on_with_what_has_no_answer() -> None:
    state = of(Begun("c", "s", 0), Published(b"a"), Published(b"b"), Answered(1), Published(b"c"))
    assert (state.name, state.session, state.runs) == ("c", "s", 1)
    assert list(state.window.after(0)) == [(2, b"b"), (3, b"c")]
    assert (state.window.acknowledged, state.window.last) == (1, 3)


def test_a_consumer_goes_on_with_what_is_not_confirmed() -> None:
    state = of(
        Acknowledged("d", "g", (1, 2, 3)), Confirmed("d", "g", (1, 3)), Acknowledged("e", "h", (1,))
    )
    generation, numbers = state.of("d")
    assert (generation, set(numbers)) == ("g", {2})
    assert state.of("nobody") == ("", ())


def test_more_answers_than_publications_are_a_defect() -> None:
    with pytest.raises(InvariantError):
        of(Published(b"a"), Answered(2))
    with pytest.raises(InvariantError):
        of(Published(b"a"), Refused(2))


_RECORDS = st.one_of(
    st.builds(Published, st.binary(max_size=4)),
    st.builds(Refused, st.integers(0, 3)),
    st.builds(Acknowledged, st.just("d"), st.sampled_from("gh"), st.tuples(st.integers(1, 9))),
    st.builds(Confirmed, st.just("d"), st.sampled_from("gh"), st.tuples(st.integers(1, 9))),
    st.just(None),
)


@given(st.lists(_RECORDS, max_size=40))
def test_a_file_written_anew_comes_to_the_same(records: list[ClientRecord | None]) -> None:
    state = of(Begun("c", "s", 0))
    for record in records:
        if isinstance(record, Refused):  # the number is of what waits here
            number = state.window.acknowledged + record.number
            if number <= state.window.last:
                state.carry_out(Refused(number))
        elif record is not None:
            state.carry_out(record)
        elif state.window.last > state.window.acknowledged:
            state.carry_out(Answered(state.window.acknowledged + 1))
    again = of(*state.records())
    assert as_values(again) == as_values(state)
    assert again.runs == state.runs
