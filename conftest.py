"""How the suite runs: the same every time, and with what is heavy one at a time.

Property tests draw the same examples in every run, so that a change fails for its own reasons
alone: a third of them in the gate, all in `make long`; `make fuzz` looks for new ones, 2,000 of
each. `tests/examples.py` has the numbers. No example has a deadline: machines are slow at times.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings
from tests.examples import FULL, FUZZED, SHARE
from tests.sessions import quick_java, s3, spark

__all__ = ("quick_java", "s3", "spark")

HEAVY: Final = ("spark", "network")
"""Markers of tests that start processes: those of each run in one worker, one after the other."""

LONGEST: Final = ("tests/simulation/", "tests/matching/", "tests/routing/", "tests_lab/")
"""Where most time goes: handed out before the other files, so that all workers end together."""

GARBAGE_AFTER: Final = 10_000
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
    """Leave out what is long, and keep what is heavy together (`-n 4 --dist loadgroup`)."""
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
    for item in items:
        for marker in HEAVY:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.xdist_group(marker))
                break
    if hasattr(config, "workerinput"):
        items.sort(key=turn)


def turn(item: pytest.Item) -> int:
    """When a test's file is handed to a worker: earlier than those of a larger number."""
    for at, marker in enumerate(HEAVY):
        if item.get_closest_marker(marker):
            return at
    return len(HEAVY) + (not item.nodeid.startswith(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out groups, and else whole files: what the tests of a file share is made once.

    Tests one by one would cost the process that hands them out as much as two hundred of them: for
    each it counts all that there were before.
    """
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

    class ByFile(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return nodeid.partition("::")[0] if scope == nodeid else scope

    if config.getoption("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # by number, whatever each of them costs
    return ByFile(config, log)
