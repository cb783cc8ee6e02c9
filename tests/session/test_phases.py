"""The table of phases."""

from __future__ import annotations

from itertools import product

import pytest

from sapwood.errors import InvariantError
from sapwood.session.phases import TRANSITIONS, Phase, Trigger, step


@pytest.mark.parametrize(("phase", "trigger"), TRANSITIONS)
def test_step_follows_the_table(phase: Phase, trigger: Trigger) -> None:
    assert step(phase, trigger) is TRANSITIONS[phase, trigger]


@pytest.mark.parametrize(
    ("phase", "trigger"), [pair for pair in product(Phase, Trigger) if pair not in TRANSITIONS]
)
def test_step_refuses_what_the_table_does_not_have(phase: Phase, trigger: Trigger) -> None:
    with pytest.raises(InvariantError, match=f"that is {phase.value} cannot be {trigger.value}"):
        step(phase, trigger)


def test_every_phase_is_reached_and_all_but_the_last_can_be_lost() -> None:
    reached = {Phase.GREETING} | set(TRANSITIONS.values())
    assert reached == set(Phase)
    lost = {phase for phase, trigger in TRANSITIONS if trigger is Trigger.LOST}
    assert lost == set(Phase) - {Phase.CLOSED}
    assert not any(phase is Phase.CLOSED for phase, _ in TRANSITIONS)
