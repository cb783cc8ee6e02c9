"""The matching benchmark measures every engine and checks what it measures."""

from __future__ import annotations

from sapwood.cli.benchmarks.matching import run_matching
from sapwood.matching.engines import ENGINES


def test_run_matching_gives_a_row_for_each_engine_and_size_that_agrees() -> None:
    cells = run_matching("mix", sizes=(50, 200), seconds_a_cell=0.01)
    assert {(c.engine, c.subscriptions) for c in cells} == {
        (engine, size) for engine in ENGINES for size in (50, 200)
    }
    assert all(c.agrees for c in cells)
    assert all(c.publications_per_s > 0 for c in cells)
