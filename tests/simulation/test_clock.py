from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.simulation.clock import Agenda


@given(st.lists(st.floats(0, 1e6)))
def test_agenda_hands_out_events_in_time_and_equal_times_in_order(times: list[float]) -> None:
    agenda: Agenda[int] = Agenda()
    for number, time in enumerate(times):
        agenda.schedule(time, number)
    popped = []
    while agenda.next_due is not None:
        due = agenda.next_due
        number = agenda.pop()
        assert agenda.now == due == times[number]
        popped.append(number)
    assert popped == sorted(range(len(times)), key=lambda number: times[number])
    assert len(agenda) == 0


def test_agenda_begins_at_zero_with_nothing_due() -> None:
    agenda: Agenda[str] = Agenda()
    assert agenda.now == 0
    assert agenda.next_due is None


def test_agenda_takes_events_for_right_now() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.advance(2.0)
    agenda.schedule(2.0, "now")
    assert agenda.pop() == "now"
    assert agenda.now == 2.0


@pytest.mark.parametrize("time", [1.0, float("nan"), float("inf")])
def test_agenda_refuses_events_in_the_past_or_never(time: float) -> None:
    agenda: Agenda[str] = Agenda()
    agenda.advance(2.0)
    with pytest.raises(AssertionError):
        agenda.schedule(time, "lost")


def test_advance_stops_at_what_is_due() -> None:
    agenda: Agenda[str] = Agenda()
    agenda.schedule(1.0, "first")
    agenda.advance(1.0)
    with pytest.raises(AssertionError):
        agenda.advance(1.5)
    with pytest.raises(AssertionError):
        agenda.advance(0.5)
