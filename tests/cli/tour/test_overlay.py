"""The tour over TCP delivers what the interests ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.cli.tour.comparison import read_json_lines
from sapwood.cli.tour.flights import flights
from sapwood.cli.tour.inputs import write_inputs
from sapwood.cli.tour.overlay import run_overlay
from tests.forked import forked_brokers

__all__ = ("forked_brokers",)


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_run_overlay_delivers_every_matching_pair_once(tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path, 1500, lambda count: None)
    advanced: list[int] = []
    result = run_overlay(inputs, tmp_path, advanced.append)
    pairs = list(read_json_lines(result.deliveries_file))
    expected = {
        (flight.id, interest.id)
        for flight in flights(1500)
        for interest in inputs.subscriptions
        if interest.record_filter.accepts(flight.record)
    }
    assert len(pairs) == len(set(pairs)) == result.pairs
    assert set(pairs) == expected
    assert sum(advanced) == result.publications == 1500
