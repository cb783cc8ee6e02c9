"""Helpers of the semantic experiments' tests: peers and documents that are quickly drawn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sapwood_lab.experiments import semantic_graph, semantic_peers
from sapwood_lab.workload.documents.calibration import Calibration

CACHES = (
    *(semantic_peers.documents_of, semantic_peers.hits_of),
    *(semantic_graph.similarity_of, semantic_graph.proximities_of),
)
"""The caches of results that depend on how documents are drawn."""


@pytest.fixture
def uncalibrated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Documents of `news` by a chance that is known."""
    for cache in CACHES:
        cache.cache_clear()
    monkeypatch.setattr(semantic_peers, "calibration_of", lambda source, seed: Calibration(0.3, {}))
    yield
    for cache in CACHES:
        cache.cache_clear()
