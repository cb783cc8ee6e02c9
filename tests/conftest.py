"""How the suite runs: the same every time, and with what is heavy one at a time.

Property tests draw the same examples in every run, so that a change fails for its own reasons
alone; `make fuzz` looks for new ones. No example has a deadline: machines are slow at times.
"""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import HealthCheck, settings

HEAVY: Final = ("spark", "network")
"""Markers of tests that start processes. All of them run in one worker, one after the other."""

settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=(HealthCheck.too_slow,),
)
settings.load_profile("gate")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep what is heavy together, for `pytest -n 2 --dist loadgroup`."""
    for item in items:
        if any(item.get_closest_marker(marker) for marker in HEAVY):
            item.add_marker(pytest.mark.xdist_group("heavy"))
