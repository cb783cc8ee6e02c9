"""The engines under test: those of the catalogue, and the columnar engine under odd policies."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sapwood.matching.auto import AutoEngine, AutoPolicy
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.index import Index
from sapwood.matching.readiness import RECORDS, Awaiting
from tests.matching.columnar import plain_kernels
from tests.matching.switched import Nobody, Switched

EAGER: Final = CompactionPolicy(
    smallest=4,
    memtable_max=0,
    bulk_min=2,
    frozen_max=16,
    joined_max=1024,
    compaction_cost=0,
    conjunction_cost=0,
)
"""Folds at every match, so that even one filter is matched in a segment."""

MIXED: Final = CompactionPolicy(
    smallest=8,
    memtable_max=5,
    bulk_min=4,
    frozen_max=16,
    joined_max=32,
    compaction_cost=20,
    conjunction_cost=1,
)
"""Leaves some filters in the tail and makes several segments of few."""

SWIFT: Final = AutoPolicy(compiled_from=2, compiled_until=1, moved_at_once=1)
"""Goes over from the second filter on, one filter at a time, and back with the last but one."""


def _auto(policy: AutoPolicy, *, is_on: bool) -> AutoEngine:
    return AutoEngine(Awaiting(Switched(RECORDS, is_on=is_on), Nobody(), every=1), policy)


VARIANTS: Final = (
    *ENGINES.values(),
    EngineInfo("columnar-eager", "records", True, "", lambda: ColumnarEngine(EAGER)),
    EngineInfo("columnar-mixed", "records", True, "", lambda: ColumnarEngine(MIXED)),
    EngineInfo("auto-swift", "records", True, "", lambda: _auto(SWIFT, is_on=True)),
    EngineInfo("auto-plain", "records", True, "", lambda: _auto(AutoPolicy(), is_on=False)),
    EngineInfo(
        "columnar-plain", "records", True, "", lambda: ColumnarEngine(EAGER, kernels=plain_kernels)
    ),
)


def loaded(path: Path, info: EngineInfo) -> Index:
    """An index of a variant, loaded."""
    return Index.load(path, info)
