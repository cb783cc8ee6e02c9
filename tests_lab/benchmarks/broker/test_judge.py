"""The judge: exact is exact, and each kind of difference is found and counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sapwood_lab.benchmarks.broker.judge import (
    RECEIVED,
    UNTOLD,
    Received,
    Verdict,
    delivery_count,
    judge,
)
from sapwood_lab.benchmarks.broker.load import Load, make_load

FIRST, COUNT = 1000, 1500


@pytest.fixture(scope="module")
def load() -> Load:
    return make_load("eq", 400, 3)


def perfect(load: Load, *, told: bool = True) -> Received:
    """The lines of receivers where nothing goes wrong, by a plain loop."""
    lines = list[tuple[int, int, int, int]]()
    for number in range(FIRST, FIRST + COUNT):
        place = number % len(load.pool)
        found = load.matches[load.offsets[place] : load.offsets[place + 1]].tolist()
        owners = load.owners.tolist()
        if told:
            lines += [(number * 10, number, owners[one], one) for one in found]
        else:
            clients = sorted({owners[one] for one in found})
            lines += [(number * 10, number, client, UNTOLD) for client in clients]
    return np.array(lines, RECEIVED)


@pytest.mark.parametrize("told", [True, False])
def test_all_that_must_come_and_nothing_else_is_exact(load: Load, *, told: bool) -> None:
    received = perfect(load, told=told)
    verdict = judge(load, FIRST, COUNT, received)
    assert len(received) > 100
    assert verdict == Verdict(expected=len(received))
    assert verdict.is_exact
    assert str(verdict) == "exact"


def without_one(received: Received) -> Received:
    return np.delete(received, 50)


def with_one_again(received: Received) -> Received:
    return np.insert(received, 50, received[50])


def for_another_client(received: Received) -> Received:
    extra = received[50:51].copy()
    extra["client"] = (extra["client"] + 1) % 3
    return np.insert(received, 50, extra)


def of_an_earlier_phase(received: Received) -> Received:
    extra = received[:1].copy()
    extra["number"] = FIRST - 1
    return np.concatenate([extra, received])


def for_a_subscription_that_does_not_match(received: Received) -> Received:
    extra = received[50:51].copy()
    extra["subscription"] = extra["client"]  # subscriptions 0, 1 and 2 are of clients 0, 1 and 2
    assert not np.isin(extra, received)
    return np.insert(received, 50, extra)


def of_nobody(received: Received) -> Received:
    extra = received[50:51].copy()
    extra["subscription"] = 1_000_000
    return np.insert(received, 50, extra)


def in_another_order(received: Received) -> Received:
    ours = np.flatnonzero(received["client"] == received["client"][0])
    received = received.copy()
    received[[ours[0], ours[-1]]] = received[[ours[-1], ours[0]]]
    return received


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_one, "1 lost"),
        (with_one_again, "1 duplicated"),
        (of_an_earlier_phase, "1 unexpected"),
        (for_another_client, "1 unexpected"),
        (for_a_subscription_that_does_not_match, "1 unexpected"),
        (of_nobody, "1 unexpected"),
    ],
)
def test_one_wrong_delivery_is_found(
    load: Load, spoil: Callable[[Received], Received], said: str
) -> None:
    verdict = judge(load, FIRST, COUNT, spoil(perfect(load)))
    assert str(verdict) == said
    assert not verdict.is_exact


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_one, "1 lost"),
        (with_one_again, "1 duplicated"),
        (of_an_earlier_phase, "1 unexpected"),
    ],
)
def test_one_wrong_delivery_is_found_where_subscriptions_are_not_told(
    load: Load, spoil: Callable[[Received], Received], said: str
) -> None:
    assert str(judge(load, FIRST, COUNT, spoil(perfect(load, told=False)))) == said


def test_what_overtakes_is_found(load: Load) -> None:
    verdict = judge(load, FIRST, COUNT, in_another_order(perfect(load, told=False)))
    assert verdict.reordered > 0
    assert verdict.lost == verdict.unexpected == verdict.duplicated == 0


def test_nothing_at_all_is_all_lost(load: Load) -> None:
    everything = len(perfect(load))
    assert judge(load, FIRST, COUNT, perfect(load)[:0]).lost == everything


def test_verdicts_add_up() -> None:
    both = Verdict(5, lost=1) + Verdict(7, lost=2, duplicated=1)
    assert both == Verdict(12, lost=3, duplicated=1)
    assert str(both) == "3 lost, 1 duplicated"


def test_a_delivery_of_several_subscriptions_counts_once() -> None:
    lines = [(1, 7, 0, 3), (1, 7, 0, 9), (1, 7, 1, 4), (2, 8, 0, 3)]
    assert delivery_count(np.array(lines, RECEIVED)) == 3
