"""`scripts/kernels.py`: what is compiled is called."""

from __future__ import annotations

from types import ModuleType

from sapwood.covering.batch.kernels import compiled as pipeline
from sapwood.covering.columnar.kernels import compiled as columnar
from sapwood.covering.published.sfc.kernels import compiled as curves
from sapwood.matching.automaton.kernels import compiled as documents
from sapwood.matching.columnar.kernels import compiled as records
from tests.scripts.loading import load

MEASURING = {"looked_up", "touched"}
"""What matching does not call."""


def uncalled(module: ModuleType) -> set[str]:
    """The kernels for other modules that nobody has called in this process."""
    kernels = {
        name: it
        for name, it in vars(module).items()
        if hasattr(it, "signatures") and not name.startswith("_")
    }
    own = {name for name, it in kernels.items() if it.py_func.__module__ == module.__name__}
    entries = set(getattr(module, "__all__", own))
    return {name for name in entries if not kernels[name].signatures}


def test_all_kernels_are_called() -> None:
    assert load("kernels").main() == 0
    found = set().union(*map(uncalled, (records, documents, columnar, curves, pipeline)))
    assert found - MEASURING == set()
