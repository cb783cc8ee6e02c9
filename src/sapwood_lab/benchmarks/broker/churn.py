"""Subscriptions that come and go beside the load: what happened to them, and the judge of that.

The certain deliveries of a subscription follow from what its client saw: it must have what the
broker handled between its confirmation and the request to end it, and may have what lies between
the first request and the last answer. What the broker had handled when a subscription was withdrawn
is read off the receivers of the load: a publication that one of them had by then, and all before
it.

A subscription that was requested at 1.0 s, confirmed at 1.1, withdrawn at 2.0 and gone at 2.1, one
publication every 0.1 s, number 0 at 0 s, and number 18 the last that a receiver had at 2.0 s: it
must get those of the numbers 11 to 18 that it accepts; it may get those that came to it between 1.0
and 2.1 s; any other is unexpected.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from sapwood_lab.benchmarks.broker.judge import Received, Verdict
from sapwood_lab.benchmarks.broker.load import Load, Numbers

_NEVER: Final = np.iinfo(np.int64).max


class Churned(msgspec.Struct):
    """The times that a client saw of its subscriptions 0, 1, 2, ..., in ns of the monotonic clock.

    When each was requested, confirmed, withdrawn, and confirmed to be gone (0: it was not), and all
    deliveries: when, of which publication, for which subscription.
    """

    asked_ns: list[int] = msgspec.field(default_factory=list)
    confirmed_ns: list[int] = msgspec.field(default_factory=list)
    withdrawn_ns: list[int] = msgspec.field(default_factory=list)
    gone_ns: list[int] = msgspec.field(default_factory=list)
    deliveries: list[tuple[int, int, int]] = msgspec.field(default_factory=list)


class Schedule(msgspec.Struct, frozen=True):
    """Publications `first`, `first + 1`, ...: the first is due at `start_ns`, and `rate` a second.

    None is sent before it is due.
    """

    first: int
    count: int
    rate: float
    start_ns: int

    def first_after(self, times_ns: Numbers) -> Numbers:
        """The first publication that is due at each time, or after it."""
        passed = np.ceil((times_ns - self.start_ns) / 1e9 * self.rate).astype(np.int64)
        numbers: Numbers = self.first + np.clip(passed, 0, self.count)
        return numbers


def judge_churn(load: Load, churned: Churned, schedule: Schedule, received: Received) -> Verdict:
    """Compare what came for subscriptions that come and go with what must, and may, have come.

    `received` are the deliveries of the same schedule to the load's own clients.
    """
    asked, confirmed, withdrawn, gone = (
        np.array(column, np.int64)
        for column in (
            churned.asked_ns,
            churned.confirmed_ns,
            churned.withdrawn_ns,
            churned.gone_ns,
        )
    )
    gone[gone == 0] = _NEVER
    came = np.array(churned.deliveries, np.int64).reshape(-1, 3)
    first = schedule.first_after(confirmed)
    last = _handled(schedule, received, withdrawn)
    pool = len(load.pool)
    must: set[tuple[int, int]] = set()
    for number in np.flatnonzero((confirmed > 0) & (first < last)).tolist():
        accepts = load.passing.matches[number % len(load.passing.interests)]
        wanted = np.arange(first[number], last[number])
        must.update((int(one), number) for one in wanted[accepts[wanted % pool]])
    has_matched = load.passing.matches[came[:, 2] % len(load.passing.interests), came[:, 1] % pool]
    in_time = (came[:, 0] >= asked[came[:, 2]]) & (came[:, 0] <= gone[came[:, 2]])
    in_schedule = (came[:, 1] >= schedule.first) & (came[:, 1] < schedule.first + schedule.count)
    right = has_matched & in_time & in_schedule
    pairs = [(number, which) for _, number, which in came[right].tolist()]
    different = set(pairs)
    return Verdict(
        expected=len(must),
        lost=len(must - different),
        unexpected=int((~right).sum()),
        duplicated=len(pairs) - len(different),
    )


def _handled(schedule: Schedule, received: Received, times_ns: Numbers) -> Numbers:
    """The number behind the last publication that had certainly been handled at each time.

    All of them where the time is 0: what was never withdrawn.
    """
    order = np.argsort(received["time_ns"], kind="stable")
    at = received["time_ns"][order]
    so_far = np.maximum.accumulate(received["number"][order].astype(np.int64) + 1)
    so_far = np.concatenate(([schedule.first], so_far))
    ends = so_far[np.searchsorted(at, times_ns, side="left")]
    numbers: Numbers = np.where(times_ns == 0, schedule.first + schedule.count, ends)
    return numbers


def answer_ms(churned: Churned, quantile: float) -> float:
    """A quantile of the time from a request to subscribe until it is confirmed."""
    asked, confirmed = np.array(churned.asked_ns), np.array(churned.confirmed_ns)
    return float(np.percentile((confirmed - asked)[confirmed > 0] / 1e6, quantile))
