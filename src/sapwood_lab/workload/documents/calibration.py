"""Documents of one size that a given share of subscriptions rejects (Chand, 9.1).

The behavior of the work's generators beyond the parameters that it names is lost. Two of its
figures give more: documents are of an average size (L3234; the table of parameters has a maximum,
L2181), and 75 % of the peers had no use for a document, whatever their number (L3246). So documents
are kept that have about the given number of tags, and the chance of what a DTD lets be absent
(`DocumentShape.optional`) is sought with which that share comes out: before anything is measured.

Worked example, NITF and 22 tags: with 0.35 three quarters of XNet's patterns reject a document,
with 0.6 three fifths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.xml.dtd import Dtd
from sapwood_lab.workload.documents.bodies import DocumentShape, draw_documents

UNINTERESTED: Final = 0.75
"""The share of peers that have no use for a document, on the mean (L3246)."""

TOLERANCE: Final = 0.10
"""The tolerance of the share, over all sizes together: ours."""

SLACK: Final = 0.2
"""The tolerance of a document's tags, as a share of the given number."""

CHANCES: Final = tuple(round(0.05 * step, 2) for step in range(2, 20))
"""The values of `optional`, from 0.1 to 0.95; with more parts present, more filters match."""

SAMPLE: Final = 16
"""Documents of each size by which a share is estimated."""

_DRAWS_MAX: Final = 250
"""Draws for a document, on the mean, after which there are taken to be too few of its size."""

_BATCH: Final = 50


@dataclass(frozen=True, slots=True)
class Calibration:
    """The result: `optional`, and the uninterested share by number of tags."""

    optional: float
    uninterested: Mapping[int, float]

    @property
    def mean(self) -> float:
        """The share over all sizes."""
        return fmean(self.uninterested.values())


def sized_documents(
    dtd: Dtd, shape: DocumentShape, random: np.random.Generator, count: int
) -> list[bytes]:
    """A draw of `count` documents with the tags of the shape, up to a fifth more or less.

    Raises `InvalidValueError` where the DTD with this shape hardly has any.
    """
    least, most = (1 - SLACK) * shape.tags, (1 + SLACK) * shape.tags
    drawn = replace(shape, tags=max(1, int(most)))
    found: list[bytes] = []
    for _ in range(0, max(_BATCH, _DRAWS_MAX * count), _BATCH):
        batch = draw_documents(dtd, drawn, random, _BATCH)
        found.extend(one for one in batch if least <= tags_of(one) <= most)
        if len(found) >= count:
            return found[:count]
    raise InvalidValueError(
        "tags", f"hardly a document has about {shape.tags}; ask for other ones, or more `optional`"
    )


def tags_of(document: bytes) -> int:
    """The elements of a drawn document, in whose texts there is no `<`."""
    return document.count(b"<") - document.count(b"</")


def uninterested_share(interests: Sequence[Interest], documents: Sequence[bytes]) -> float:
    """The share of pairs of an interest and a document where the former rejects the latter.

    Interests that occur more than once weigh as much as they do.
    """
    index, weights = Index(), dict[Interest, int]()
    for one in interests:
        weights[one] = weights.get(one, 0) + 1
    known = dict(enumerate(weights))
    for key, one in known.items():
        index.add(str(key), one)
    wanted = sum(
        weights[known[int(key)]]
        for document in documents
        for key in index.match(Publication("p", document=document))
    )
    return 1 - wanted / (len(interests) * len(documents))


def calibrated(
    dtd: Dtd,
    interests: Sequence[Interest],
    shape: DocumentShape,
    sizes: Sequence[int],
    seed: int,
    *,
    wanted: float = UNINTERESTED,
) -> Calibration:
    """The `optional` with which the uninterested share is nearest to `wanted`.

    `sizes` are numbers of tags: one value for all of them, as one generator made them all.

    Raises `InvalidValueError` where no value comes within `TOLERANCE`, for that is another workload
    than the one requested.
    """
    tried: dict[float, Calibration] = {}
    low, high = 0, len(CHANCES) - 1
    while low <= high:
        middle = (low + high) // 2
        one = _tried(dtd, interests, replace(shape, optional=CHANCES[middle]), sizes, seed)
        if one is not None:
            tried[one.optional] = one
        # With too little in them there are no documents of the size at all.
        if one is None or one.mean > wanted:
            low = middle + 1
        else:
            high = middle - 1
    best = min(tried.values(), key=lambda one: abs(one.mean - wanted), default=None)
    if best is None or abs(best.mean - wanted) > TOLERANCE:
        nearest = "no documents of these sizes" if best is None else f"{best.mean:.0%}"
        raise InvalidValueError(
            "uninterested",
            f"{wanted:.0%} of the interests were to reject a document, and the nearest that these "
            f"patterns and this DTD come to is {nearest}; choose other patterns, or another DTD",
        )
    return best


def _tried(
    dtd: Dtd, interests: Sequence[Interest], shape: DocumentShape, sizes: Sequence[int], seed: int
) -> Calibration | None:
    """The shares with one shape; `None` where there are no documents of a size."""
    shares = {}
    for tags in sizes:
        random = np.random.default_rng((seed, tags))
        try:
            documents = sized_documents(dtd, replace(shape, tags=tags), random, SAMPLE)
        except InvalidValueError:
            return None
        shares[tags] = uninterested_share(interests, documents)
    return Calibration(shape.optional, shares)
