"""Similarities among many patterns at once: all pairs, in the order in which that is cheap.

One pattern after the other is expanded, and all others are looked for in it: what they share is
looked for once. Which of them cover it, so that their similarity is 1 whatever the estimate, the
factorization tree tells for all together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.xsearch import XSearchIndex
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity.estimates import Similarity


def all_similarities(
    similarity: Similarity,
    patterns: Sequence[TreePattern],
    advance: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """`similarity(one, other)` of different patterns: a row for each, a column for each other.

    4 bytes a pair: 16 MB for 2,000 patterns. `advance` hears of each row. Raises `LimitError` for
    patterns with more alternatives than can be compared.
    """
    index = XSearchIndex()
    for number, pattern in enumerate(patterns):
        index.add(number, pattern)
    found = np.empty((len(patterns), len(patterns)), np.float32)
    for number, given in enumerate(patterns):
        found[number] = [similarity.estimate(given, asked) for asked in patterns]
        found[number, list(index.covering(given))] = 1.0
        advance(1)
    return found


def all_proximities(
    similarity: Similarity,
    patterns: Sequence[TreePattern],
    advance: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """`similarity.proximity` of different patterns: the mean of both directions (f_s, L2848)."""
    found = all_similarities(similarity, patterns, advance)
    found += found.T.copy()
    found /= 2
    return found
