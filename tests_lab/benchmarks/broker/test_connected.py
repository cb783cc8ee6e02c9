"""Connections with and without TLS, tokens and metrics are measured in one run."""

from __future__ import annotations

import pytest

from sapwood_lab.benchmarks.broker.connected import compare


@pytest.mark.long
@pytest.mark.network
@pytest.mark.parametrize("observed", [False, True])
def test_both_brokers_have_a_row_and_all_that_is_accepted_is_delivered(*, observed: bool) -> None:
    plain, other, ratios = compare(3, 0.2, observed=observed)
    assert plain["broker"] == "plain"
    assert other["broker"] == ("observed" if observed else "guarded")
    for row in (plain, other):
        assert row["connections"] == 3
        assert row["publications_per_s"] > 0
        assert row["deliveries_per_s"] > 0
    assert ratios["rate_ratio"] > 0
    assert ratios["broker_us_ratio"] > 0
