"""Memory of arrays goes back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys

import pytest

from sapwood.broker.memory import give_memory_back, leave_alone_what_is_here


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the setting is glibc's")
def test_the_c_library_is_told() -> None:
    assert give_memory_back()


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not give_memory_back()


def test_what_is_here_is_not_collected_again() -> None:
    """The objects stay so: to take them back would take back those of all tests (`conftest`)."""
    before = gc.get_freeze_count()
    made = [[number] for number in range(2000)]
    leave_alone_what_is_here()
    assert gc.get_freeze_count() >= before + len(made)
