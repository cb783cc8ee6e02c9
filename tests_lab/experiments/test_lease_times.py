"""The experiment with leases shows what was published, in shape."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.lease_times import BROKERS, COLUMNS, DESIGN, configurations


@pytest.mark.long
def test_there_is_a_row_for_each_broker_that_holds_a_lease() -> None:
    found = run(DESIGN, Choices((40,)))
    assert found.columns == COLUMNS
    assert len(found.rows) == len(configurations(Choices((40,)))) * (BROKERS - 1)


@pytest.mark.long
def test_what_was_published_holds_in_shape() -> None:
    found = run(DESIGN, Choices((40,)))
    assert [(one.claim, one.shown) for one in found.findings if not one.holds] == []
