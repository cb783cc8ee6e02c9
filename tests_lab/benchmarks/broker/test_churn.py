"""The judge of subscriptions that come and go: what is certain is demanded, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sapwood_lab.benchmarks.broker.churn import Churned, Schedule, answer_ms, judge_churn
from sapwood_lab.benchmarks.broker.judge import RECEIVED, Received
from sapwood_lab.benchmarks.broker.load import Load, make_load

STEP_NS = 10_000_000
SCHEDULE = Schedule(first=1000, count=300, rate=100.0, start_ns=7 * STEP_NS)
"""Number 1000 + i is due at (7 + i) steps of 10 ms."""


@pytest.fixture(scope="module")
def load() -> Load:
    drawn = make_load("mix", 50, 2)
    shape = drawn.passing.matches.shape
    often = np.random.default_rng(5).random(shape) < 0.2  # the workload's own are rare
    return replace(drawn, passing=drawn.passing._replace(matches=often))


def due_ns(number: int) -> int:
    return SCHEDULE.start_ns + (number - SCHEDULE.first) * STEP_NS


def received() -> Received:
    """The receipts of the load's own clients: every number half a step after it was due."""
    lines = [(due_ns(1000 + i) + STEP_NS // 2, 1000 + i, 0, 0) for i in range(SCHEDULE.count)]
    return np.array(lines, RECEIVED)


def churned(load: Load) -> Churned:
    """40 subscriptions, each in force for 100 publications, and all that these must get.

    Subscription n is in force from number 1000 + 5 n on, and withdrawn 100 later.
    """
    seen = Churned()
    for which in range(40):
        begin = due_ns(1000 + 5 * which) - STEP_NS // 4
        seen.asked_ns.append(begin - STEP_NS)
        seen.confirmed_ns.append(begin)
        seen.withdrawn_ns.append(begin + 100 * STEP_NS if which < 30 else 0)
        seen.gone_ns.append(begin + 101 * STEP_NS if which < 30 else 0)
        last = 1300 if which >= 30 else 1000 + 5 * which + 100
        for number in range(1000 + 5 * which, min(last, 1300)):
            if load.passing.matches[which, number % len(load.pool)]:
                seen.deliveries.append((due_ns(number) + STEP_NS // 2, number, which))
    return seen


def test_what_must_come_and_nothing_else_is_exact(load: Load) -> None:
    seen = churned(load)
    verdict = judge_churn(load, seen, SCHEDULE, received())
    assert verdict.is_exact
    assert verdict.expected > 20
    # What comes between a withdrawal and the last word may come, and need not.
    assert verdict.expected <= len(seen.deliveries)
    assert answer_ms(seen, 50.0) == pytest.approx(10.0)


def one_lost(seen: Churned, _load: Load) -> None:
    del seen.deliveries[len(seen.deliveries) // 2]


def one_twice(seen: Churned, _load: Load) -> None:
    seen.deliveries.append(seen.deliveries[3])


def one_that_does_not_match(seen: Churned, load: Load) -> None:
    place = next(i for i in range(50) if not load.passing.matches[0, (1000 + i) % len(load.pool)])
    seen.deliveries.append((due_ns(1000 + place) + 1, 1000 + place, 0))


def one_after_the_last_word(seen: Churned, load: Load) -> None:
    place = next(i for i in range(110, 300) if load.passing.matches[0, (1000 + i) % len(load.pool)])
    seen.deliveries.append((due_ns(1000 + place) + 1, 1000 + place, 0))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (one_lost, "1 lost"),
        (one_twice, "1 duplicated"),
        (one_that_does_not_match, "1 unexpected"),
        (one_after_the_last_word, "1 unexpected"),
    ],
)
def test_one_wrong_delivery_is_found(
    load: Load, spoil: Callable[[Churned, Load], None], said: str
) -> None:
    seen = churned(load)
    spoil(seen, load)
    assert str(judge_churn(load, seen, SCHEDULE, received())) == said


def test_what_was_never_confirmed_must_not_come(load: Load) -> None:
    seen = churned(load)
    seen.confirmed_ns = [0] * len(seen.confirmed_ns)
    assert judge_churn(load, seen, SCHEDULE, received()).expected == 0


def test_a_publication_is_due_at_its_time() -> None:
    times = np.array([0, due_ns(1000), due_ns(1000) + 1, due_ns(1299), due_ns(1299) + 1], np.int64)
    assert SCHEDULE.first_after(times).tolist() == [1000, 1000, 1001, 1299, 1300]
