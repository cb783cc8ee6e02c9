"""A link that returns while publications flow, measured: all is told again, and nothing stops."""

from __future__ import annotations

import asyncio

import pytest

from sapwood_lab.benchmarks import returning


@pytest.mark.long
@pytest.mark.network
def test_what_a_link_that_returns_takes_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "CAPACITY_S", 0.1)
    texts = [f"a = {number // 2}" for number in range(300)]
    row = asyncio.run(returning.measure(texts, [{"a": 1}, {"b": 2}], 0.25, ()))
    assert (row["subscriptions"], row["told"]) == (300, 150), "of equal ones one"
    assert row["seconds"] > 0
    assert row["publications_a_second"] > 0
    assert row["longest_answer_ms"] >= 0
    assert len(row["brokers_us"]) == 2
