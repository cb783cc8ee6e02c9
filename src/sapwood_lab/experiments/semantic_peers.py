"""Peers and documents of the semantic work's experiments (XNet, 9.1.1, tables 9.1 and 9.2).

Each peer has one pattern of the generator of table 9.1 (`documents.XNET`, duplicates kept);
documents are those of table 9.2, calibrated until three quarters of the peers have no use for one,
before anything is measured (`workload.documents.calibration`). The DTD is NITF's where the folder
that `SAPWOOD_DATA` names has it, as in the work; otherwise `news`, whose names are drawn alike: it
has few below each element, and with the skew of the work three quarters cannot be reached.

The draws for a number of peers begin with those for fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.matching.index import Index
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.publication import Publication
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.paths import NITF, dtd_named, nitf_missing
from sapwood_lab.experiments.report import Cell, Finding, Row, number
from sapwood_lab.workload.documents import XNET, DocumentShape, PatternShape
from sapwood_lab.workload.documents.calibration import (
    TOLERANCE,
    UNINTERESTED,
    Calibration,
    calibrated,
    sized_documents,
)
from sapwood_lab.workload.documents.patterns import draw_patterns

SMALL: Final = 22
MEDIUM: Final = 58
LARGE: Final = 108
"""Tag pairs of documents (T, table 9.2)."""

BODIES: Final = DocumentShape(levels=20, repeats=3)
"""L and r of table 9.2."""

DOCUMENTS: Final = 1_000
"""Documents of each size, over which the work averages (L3234)."""

JUDGES: Final = 400
"""Peers by which documents are calibrated."""

_PATTERNS, _DOCUMENTS = 1, 2
"""Streams of a seed."""


def source_of(choices: Choices) -> str:
    """The DTD that was chosen, or NITF's where it is there, or else `news`."""
    return choices.source or ("news" if nitf_missing() else NITF)


def settings_of(choices: Choices) -> dict[str, Cell]:
    """The settings of peers and documents in reports."""
    source = source_of(choices)
    found: dict[str, Cell] = {"seed": choices.seed, "DTD": source}
    missing = nitf_missing()
    if choices.source is None and missing is not None:
        found["nitf"] = f"left out: {missing}"
    found["documents of each size"] = choices.repeats or DOCUMENTS
    return found


def shape_of(source: str) -> PatternShape:
    """The patterns of peers: table 9.1."""
    return replace(XNET, distinct=False, skew=XNET.skew if source == NITF else 0.0)


@lru_cache(maxsize=4)
def interests_of(source: str, peers: int, seed: int) -> tuple[TreePattern, ...]:
    """One pattern for each peer, in the order in which they join."""
    random = np.random.default_rng((seed, _PATTERNS))
    return tuple(draw_patterns(dtd_named(source), shape_of(source), random, peers))


@lru_cache(maxsize=4)
def calibration_of(source: str, seed: int) -> Calibration:
    """The calibration by which documents of all three sizes are drawn."""
    judges = interests_of(source, JUDGES, seed)
    return calibrated(dtd_named(source), judges, BODIES, (SMALL, MEDIUM, LARGE), seed)


@lru_cache(maxsize=8)
def documents_of(source: str, tags: int, count: int, seed: int) -> tuple[bytes, ...]:
    """The first `count` documents of a size."""
    shape = replace(BODIES, tags=tags, optional=calibration_of(source, seed).optional)
    random = np.random.default_rng((seed, _DOCUMENTS, tags))
    return tuple(sized_documents(dtd_named(source), shape, random, count))


@lru_cache(maxsize=4)
def hits_of(source: str, tags: int, count: int, peers: int, seed: int) -> NDArray[np.bool_]:
    """For each document and each different interest, in order of first occurrence, the match.

    True where the interest accepts the document, by the matching index: 1 byte each.
    """
    distinct = list(dict.fromkeys(interests_of(source, peers, seed)))
    index = Index()
    for key, one in enumerate(distinct):
        index.add(str(key), one)
    found = np.zeros((count, len(distinct)), np.bool_)
    for at, document in enumerate(documents_of(source, tags, count, seed)):
        found[at, [int(key) for key in index.match(Publication("p", document=document))]] = True
    return found


def configurations_of(
    choices: Choices, sizes: Sequence[int], documents: int = DOCUMENTS
) -> list[dict[str, str | int]]:
    """One for each number of peers, with the DTD, documents of each size and the seed."""
    return [
        {
            "source": source_of(choices),
            "peers": peers,
            "documents": choices.repeats or documents,
            "seed": choices.seed,
        }
        for peers in choices.sizes or sizes
    ]


def is_calibrated(rows: Sequence[Row], columns: Sequence[str]) -> Finding:
    """The finding whether three quarters of the peers have no use for a document, at all sizes."""
    shares = [number(row[column]) for row in rows for column in columns]
    low, high = min(shares), max(shares)
    return Finding(
        "three quarters of the peers have no use for a document, 75 % within 10 points (L3246)",
        low >= 100 * (UNINTERESTED - TOLERANCE) and high <= 100 * (UNINTERESTED + TOLERANCE),
        f"{low:.1f} to {high:.1f} %",
        "Documents were calibrated with other ones of the same shape: these are too few.",
    )
