"""Many subscriptions of one client, measured: all of them in force, and gone again."""

from __future__ import annotations

import asyncio

import pytest
from tests.forked import forked_brokers

from sapwood_lab.benchmarks.many import Selector, measure

__all__ = ("forked_brokers",)


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_subscriptions_of_two_brokers_are_measured() -> None:
    turns = Selector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(turns)) as runner:
        row = runner.run(measure(turns, [f"a = {number}" for number in range(400)], 2, ()))
    assert (row["subscriptions"], row["in_force"], row["reconnections"]) == (400, 400, 0)
    assert len(row["brokers_us"]) == len(row["brokers_bytes"]) == 2
    assert row["client_turn_ms"] > 0
