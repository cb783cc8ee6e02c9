"""How the suite runs: the same every time, and with what is heavy one at a time.

Property tests draw the same examples in every run, so that a change fails for its own reasons
alone: a twelfth of them in the gate, all in `make long`; `make fuzz` looks for new ones, 2,000 of
each. `tests/examples.py` has the numbers. No example has a deadline: machines are slow at times.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from typing import Final
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from tests.examples import FULL, FUZZED, SHARE
from tests.sessions import quick_java, s3, spark
from tests.workers import IS_WORKER, Pool

__all__ = ("quick_java", "s3", "spark")

HEAVY: Final = ("spark", "network")
"""Markers of tests that start processes: those of each are one unit (see `tests.workers`)."""

LONGEST: Final = ("tests/simulation/", "tests/matching/", "tests/routing/", "tests_lab/")
"""Where most time goes: handed out before the other files, so that all workers end together."""

NICE: Final = 15
"""How far a worker with light tests steps back behind one with heavy ones: what runs on Spark comes
one after the other, and takes nearly as long as the whole if it has half a processor."""

STEPPED_BACK: Final = pytest.StashKey[bool]()

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
    """Let `--long` ask for the tests that the gate has no time for, `--workers` for processes."""
    parser.addoption("--long", action="store_true", help="run the tests marked long as well")
    parser.addoption("--workers", type=int, default=1, help="processes that run the tests")
    parser.addoption("--begin-after", type=int, help="run no test before this pipe is closed")


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
    """Leave out what is long, and for workers begin with what is heavy."""
    thin(items)
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
    if config.getoption("workers") > 1:
        items.sort(key=turn)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Let workers run the tests where there are to be some: see `tests.workers`."""
    begin = session.config.getoption("begin_after")
    if begin is not None:
        os.read(begin, 1)
    count = session.config.getoption("workers")
    if count < 2 or session.testsfailed or session.config.option.collectonly:
        return None
    units: dict[str, list[int]] = {}
    for number, item in enumerate(session.items):
        units.setdefault(unit(item), []).append(number)
    Pool(session, units.values()).run(count)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Step back, in a worker, for what starts processes: that waits in turn for each of them.

    A worker does so once, with its first light test, when it has no heavy ones left.
    """
    config = item.config
    if not config.stash.get(IS_WORKER, False) or config.stash.get(STEPPED_BACK, False):
        return
    if all(item.get_closest_marker(marker) is None for marker in HEAVY):
        os.nice(NICE)
        config.stash[STEPPED_BACK] = True


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


def unit(item: pytest.Item) -> str:
    """The unit of a test: all that is heavy in the same way, else its file."""
    for marker in HEAVY:
        if item.get_closest_marker(marker):
            return marker
    return item.nodeid.partition("::")[0]


def turn(item: pytest.Item) -> int:
    """When a test's unit is handed to a worker: earlier than those of a larger number."""
    for at, marker in enumerate(HEAVY):
        if item.get_closest_marker(marker):
            return at
    return len(HEAVY) + (not item.nodeid.startswith(LONGEST))
