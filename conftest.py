"""How the suite runs: the same every time.

Property tests draw the same examples in every run, so that a change fails for its own reasons
alone: a twelfth of them in the gate, all in `make long`; `make fuzz` looks for new ones, 2,000 of
each. `tests/examples.py` has the numbers. No example has a deadline: machines are slow at times.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Final
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from tests.examples import FULL, FUZZED, SHARE
from tests.sessions import quick_java, s3, spark

__all__ = ("quick_java", "s3", "spark")

GARBAGE_AFTER: Final = 50_000
"""Objects between two looks for garbage. Python's own 700 are for programs that stay small; what is
collected here stays to the end, and what tests make goes by itself."""

settings.register_profile("full", deadline=None, derandomize=True, max_examples=FULL)
settings.register_profile("gate", settings.get_profile("full"), max_examples=FULL // SHARE)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=FUZZED,
    print_blob=True,
    suppress_health_check=(HealthCheck.too_slow,),
)
settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--long` ask for the tests that the gate has no time for."""
    parser.addoption("--long", action="store_true", help="run the tests marked long as well")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among the tests, neither while they are found nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is long, unless it was asked for."""
    thin(items)
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)


def thin(items: list[pytest.Item]) -> None:
    """Of tests marked `one_in(n)`, n - 1 of n cases become long ones.

    Which, depends on the name of the test alone: where one test leaves a protocol out, others with
    the same protocols do not.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("one_in") and not item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, alike in cases.items():
        marker = alike[0].get_closest_marker("one_in")
        assert marker is not None
        every = min(marker.args[0], len(alike))
        first = crc32(name.encode()) % every
        for at, item in enumerate(alike):
            if at % every != first:
                item.add_marker(pytest.mark.long)
