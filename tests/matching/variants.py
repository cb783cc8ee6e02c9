"""The engines under test: those of the catalogue, and the columnar engine under odd policies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.folding import FoldPolicy
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.index import Index

EAGER: Final = FoldPolicy(
    smallest=4, tail_max=0, written_max=16, joined_max=1024, fold_cost=0, conjunction_cost=0
)
"""Folds at every match, so that even one filter is matched in a segment."""

MIXED: Final = FoldPolicy(
    smallest=8, tail_max=5, written_max=16, joined_max=32, fold_cost=20, conjunction_cost=1
)
"""Leaves some filters in the tail and makes several segments of few."""

VARIANTS: Final = (
    *ENGINES.values(),
    EngineInfo("columnar-eager", "records", True, "", lambda: ColumnarEngine(EAGER)),
    EngineInfo("columnar-mixed", "records", True, "", lambda: ColumnarEngine(MIXED)),
    EngineInfo(
        "columnar-plain", "records", True, "", lambda: ColumnarEngine(EAGER, kernels="plain")
    ),
)


def loaded(path: Path, info: EngineInfo) -> Index:
    """An index of a variant, loaded."""
    return Index.load(path, info)
