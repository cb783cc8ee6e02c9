"""One Spark session for the whole run; tests that ask for it carry the marker `spark`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood.pipeline.session import local_session

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Starts in half the time and runs long jobs slower, of which there are none here. With one
compiler Java takes less room for its code, throws out what it needs again, and compiles anew."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on this machine, or a skip where there is no Java."""
    options = {"spark.driver.extraJavaOptions": QUICK_JVM}
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
