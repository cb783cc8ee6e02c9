"""Compiles the kernels by using them, so that tests find them compiled.

Compiled code is kept beside its source (`__pycache__`), but whoever needs it while it is not there
compiles for itself: in a fresh clone both workers of the tests, every broker that they start and
every worker of Spark would. What is left out here is compiled by the first test that needs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from sapwood import parse_filter
from sapwood.covering.batch.covers import covered
from sapwood.covering.batch.groups import EVERYTHING, Member
from sapwood.covering.catalogue import COVERING_INDEXES
from sapwood.language.forms import encode_form
from sapwood.matching.automaton.engine import PathAutomatonEngine
from sapwood.matching.checks import check_index
from sapwood.matching.documents.checks import check_document_engine
from sapwood.matching.index import Index
from sapwood.matching.tables import Column, Kind, RecordTable
from sapwood.model.filter import Filter
from sapwood_lab.workload.records import boxes

SEED: Final = 1
FILTERS: Final = 400
"""Enough for everything that begins to pay from some number of filters on."""

TABLE: Final = RecordTable.of({"a0": Column(Kind.INTEGER, np.arange(4))}, 4)


def main() -> int:
    """Match and cover a little with everything that is compiled; return the exit status."""
    filters: list[Filter] = [parse_filter("a0 < 0 or a1 > 1")]
    filters += boxes("norm-1").draw_filters(np.random.default_rng(SEED), FILTERS)
    with TemporaryDirectory() as folder:
        match_records(filters, Path(folder))
    check_document_engine(PathAutomatonEngine, steps=20)
    cover_filters(filters)
    return 0


def match_records(filters: list[Filter], folder: Path) -> None:
    """Match records, those of a table among them."""
    check_index(Index, folder, rounds=1)
    index = Index()
    for number, wanted in enumerate(filters):
        index.add(f"s{number}", wanted)
    index.fold()
    index.match_slots(TABLE)


def cover_filters(filters: list[Filter]) -> None:
    """Look for covers among filters, in the indexes and as the pipeline does."""
    for info in COVERING_INDEXES.values():
        index = info.make()
        for key, wanted in enumerate(filters):
            index.add(key, wanted)
        index.cov(filters[0], 1)
        index.covered(filters[0])
        index.remove(0)
    forms = map(encode_form, filters)
    covered([Member(str(key), EVERYTHING, form) for key, form in enumerate(forms)])


if __name__ == "__main__":
    sys.exit(main())
