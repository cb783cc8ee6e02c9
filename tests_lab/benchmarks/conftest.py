"""Benchmarks over a few filters and publications draw no more of them than that."""

from __future__ import annotations

from typing import Final

import pytest

from sapwood_lab.workload.records import source

FEW: Final = 32
"""Streams are drawn in blocks, of 256 where thousands are wanted."""


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("spark") is None:  # whose workers draw by themselves
        monkeypatch.setattr(source, "BLOCK", FEW)
