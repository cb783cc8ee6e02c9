"""The cost of `stabilize` for a broker under load: the instrument, on very little."""

from __future__ import annotations

import asyncio

import pytest

from sapwood_lab.benchmarks.stabilizing import compared, measure


@pytest.mark.long
@pytest.mark.network
def test_brokers_that_compare_deliver_everything_and_say_what_they_took() -> None:
    row = asyncio.run(measure("covering+stabilize:0.5", 50, 200, 1.0))
    assert row["exact"]
    assert len(row["core_percent"]) == len(row["us_each"]) == 2
    assert row["publications_s"] > 0


def test_what_a_protocol_takes_more_is_in_proportion_to_its_comparisons() -> None:
    plain = {"us_each": [10.0, 20.0], "publications_s": 1000}
    rows = [plain, {"us_each": [13.0, 20.0], "publications_s": 1000}]
    [same, more] = compared(rows, 500, 3.0)
    assert same["at_30_s"] == [0.0, 0.0]
    assert more["more_ms_s"] == [3.0, 0.0]
    assert more["at_30_s"] == [6.0, 0.0], "0.3 ms a second, of 5"
