"""Workers obey, or say why not; nobody waits for them for ever."""

from __future__ import annotations

import os
import sys

import pytest

from sapwood_lab.benchmarks.broker.servers import most_bytes, usage
from sapwood_lab.benchmarks.broker.workers import Worker, WorkerError

ECHO = """
import sys
for line in sys.stdin:
    order, *rest = line.split()
    if order == 'die':
        sys.exit('of boredom')
    print('{"error": "no"}' if order == 'fail' else '{"said": %d}' % len(rest), flush=True)
"""


def worker() -> Worker:
    return Worker("publisher", (sys.executable, "-c", ECHO), {})


def test_a_worker_answers_in_order_and_says_what_failed() -> None:
    with worker() as one:
        one.order("count", 1, 2, 3)
        one.order("count")
        assert one.answer(60.0) == {"said": 3}
        assert one.answer(60.0) == {"said": 0}
        with pytest.raises(WorkerError, match="publisher says: no"):
            one.ask("fail", timeout_s=60.0)
        assert usage((one.process.pid,)).held_bytes > 0


def test_a_worker_that_ends_leaves_its_last_words() -> None:
    with worker() as one, pytest.raises(WorkerError, match="has ended: of boredom"):
        one.ask("die", timeout_s=60.0)


def test_a_worker_that_says_nothing_is_not_waited_for() -> None:
    with worker() as one, pytest.raises(WorkerError, match="did not answer within 0 s"):
        one.answer(0.0)


def test_usage_is_that_of_a_process_and_those_below() -> None:
    mine = usage((os.getpid(),))
    assert mine.cpu_s > 0.0
    assert most_bytes((os.getpid(),)) >= mine.held_bytes * 0.5
    assert usage(()) == (0.0, 0)
