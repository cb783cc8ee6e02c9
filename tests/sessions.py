"""One Spark session for the whole run; tests that ask for it carry the marker `spark`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.spark.session import local_session

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Starts in half the time and runs long jobs slower, of which there are none here. With one
compiler Java takes less room for its code, throws out what it needs again, and compiles anew."""

_CLASSES_KEPT: Final = 2000
"""Classes that Spark has compiled from plans. It keeps a hundred by itself; the tests need several
hundred, and the same ones again and again."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on this machine, or a skip where there is no Java."""
    options = {
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.sql.codegen.cache.maxEntries": str(_CLASSES_KEPT),
    }
    try:
        session = local_session("sapwood tests", driver_memory="2g", options=options)
    except EnvironmentMissingError as missing:
        pytest.skip(str(missing))
    yield session
    session.stop()


@pytest.fixture
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that start Spark in processes of their own start it as quickly."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JVM)
