"""Failure detectors: complete in the end, wrong at times, and misled on purpose."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.limits.failures import PHI_INTERVALS_MAX, SUSPICION_TIMEOUT_S
from sapwood.routing.upkeep.detector.detector import Detector, detector_named
from sapwood.routing.upkeep.detector.patience import AccruedPatience, FixedPatience

GAPS = st.lists(st.floats(0.001, 100.0), max_size=30)
NAMES = st.sampled_from(["timeout", "timeout:3", "phi", "phi:1", "phi:16"])


@given(NAMES, GAPS)
def test_a_peer_that_is_silent_for_ever_is_suspected_in_the_end(
    name: str, gaps: list[float]
) -> None:
    detector = detector_named(name)()
    now = 0.0
    detector.watch("a", now)
    for gap in gaps:
        now += gap
        detector.heard("a", now)
        detector.validate()
    deadline = detector.next_deadline(now)
    while not detector.suspects("a", now):
        assert deadline is not None
        assert deadline > now
        now = deadline
        deadline = detector.next_deadline(now)
    assert detector.suspected(now) == ("a",)
    assert detector.suspects("a", now + 1e6)
    assert detector.next_deadline(now) is None


@given(NAMES, GAPS)
def test_a_sign_of_life_ends_a_suspicion(name: str, gaps: list[float]) -> None:
    detector = detector_named(name)()
    now = 0.0
    detector.watch("a", now)
    for gap in gaps:
        now += gap
        detector.heard("a", now)
    now += 1e6
    assert detector.suspects("a", now)
    detector.heard("a", now)
    assert not detector.suspects("a", now)


def test_a_fixed_timeout_ends_at_its_second_and_not_before() -> None:
    detector = Detector(lambda now: FixedPatience(now, 2.0))
    detector.watch("a", 1.0)
    assert detector.next_deadline(1.0) == 3.0
    assert not detector.suspects("a", 2.999)
    assert detector.suspects("a", 3.0)
    detector.heard("a", 2.5)
    assert detector.next_deadline(3.0) == 4.5


def test_phi_is_reached_where_the_worked_example_says() -> None:
    patience = AccruedPatience(0.0, 8.0)
    for at in (1.0, 2.2, 3.0):
        patience.heard(at)
    assert patience.deadline == pytest.approx(4.92, abs=0.01)


def test_phi_waits_longer_for_a_peer_that_is_irregular() -> None:
    regular, irregular = AccruedPatience(0.0), AccruedPatience(0.0)
    for at in range(1, 20):
        regular.heard(float(at))
        irregular.heard(at + (0.9 if at % 2 else 0.0))
    assert irregular.deadline > regular.deadline + 1.0


def test_phi_remembers_so_many_intervals_and_no_more() -> None:
    patience = AccruedPatience(0.0)
    now = 0.0
    for _ in range(PHI_INTERVALS_MAX):
        now += 100.0
        patience.heard(now)
    for _ in range(PHI_INTERVALS_MAX):
        now += 1.0
        patience.heard(now)
    assert patience.deadline < now + 2.0


def test_phi_begins_as_a_fixed_timeout() -> None:
    assert AccruedPatience(5.0).deadline == 5.0 + SUSPICION_TIMEOUT_S


def test_a_clock_that_goes_back_counts_as_no_interval() -> None:
    patience = AccruedPatience(5.0)
    for at in (6.0, 7.0, 6.5, 7.0):
        patience.heard(at)
    assert patience.deadline == pytest.approx(7.0 + 1.0 + 0.561, abs=0.01)


def test_a_detector_that_is_misled_suspects_whom_it_hears() -> None:
    detector = Detector()
    detector.watch("a", 0.0)
    detector.mislead("a", 4.0)
    detector.heard("a", 1.0)
    assert detector.suspects("a", 1.0)
    assert detector.next_deadline(1.0) == 4.0
    assert not detector.suspects("a", 4.0)


def test_who_is_not_watched_is_not_suspected() -> None:
    detector = Detector()
    detector.mislead("a", 4.0)
    detector.heard("a", 1.0)
    assert detector.suspected(2.0) == ()
    assert detector.next_deadline(2.0) is None
    detector.watch("a", 2.0)
    assert detector.suspected(2.0) == ("a",)
    detector.forget("a")
    detector.forget("a")
    assert detector.suspected(math.inf) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gossip", "say timeout"),
        ("timeout:soon", "goes a number"),
        ("timeout:0", "some seconds"),
        ("timeout:inf", "some seconds"),
        ("phi:0", "more than 0"),
        ("phi:1000", "at most 100"),
    ],
)
def test_what_is_no_detector_is_refused_with_what_is(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        detector_named(text)
