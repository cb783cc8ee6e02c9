"""`scripts/kernels.py`: what is compiled is called."""

from __future__ import annotations

from sapwood.covering.batch.kernels import compiled as pipeline
from sapwood.covering.columnar.kernels import compiled as columnar
from sapwood.covering.published.sfc.kernels import compiled as curves
from sapwood.matching.automaton.kernels import compiled as documents
from sapwood.matching.columnar.kernels import compiled as records
from tests.matching.columnar.kernels import entries
from tests.scripts.loading import load


def test_all_kernels_are_loaded() -> None:
    assert load("kernels").main() == 0
    for module in (records, documents, columnar, curves, pipeline, entries):
        assert module.LIBRARY is not None
        assert module.LIBRARY.is_loaded, module.__name__
