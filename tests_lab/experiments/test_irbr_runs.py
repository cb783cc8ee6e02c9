"""The protocols that run beside the model, in small."""

from __future__ import annotations

import pytest

from sapwood.simulation.world import World
from sapwood_lab.experiments import irbr_runs
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.irbr_runs import COLUMNS, PROTOCOLS
from sapwood_lab.experiments.report import number

CHOICES = Choices((8,))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.one_in(2)
def test_what_runs_sends_what_the_model_counts(protocol: str) -> None:
    given = irbr_runs.configurations(CHOICES)
    rows = [
        {**one, **row}
        for one in given
        if (one["protocol"], one["attributes"]) == (protocol, 1)
        for row in irbr_runs.measure(one)
    ]
    (row,) = rows
    assert number(row["subscribe_model"]) > 0
    assert number(row["publish_model"]) >= number(row["wanting"]) > 0
    found = irbr_runs.report(CHOICES, rows)
    assert found.columns == COLUMNS
    assert all(finding.holds for finding in found.findings)


def test_a_difference_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off before anything has arrived, the protocols send less than the model."""
    (given, *_) = irbr_runs.configurations(CHOICES)
    monkeypatch.setattr(World, "publish", lambda *_: None)
    (row,) = irbr_runs.measure(given)
    assert number(row["publish_differ"]) > 0
    assert row["publish_run"] == 0
    found = irbr_runs.report(CHOICES, [{**given, **row}])
    assert [finding.holds for finding in found.findings] == [True, False, True]
