"""Bucket hints: from a number to its approximate rank among the constants of a domain.

The interval from the least constant to the greatest is cut into buckets of equal width, and a
bucket hint is the number of constants in the buckets before each. So a number is compared with the
constants of its own bucket alone: a few where constants lie evenly, and all of them at worst.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.ranking import Domains
from sapwood.matching.columnar.rows import Ints

_CONSTANTS_MIN: Final = 32
"""A domain with fewer needs no bucket hint: halving it twice is enough."""

_BUCKET_CONSTANTS: Final = 8
"""Constants for each bucket; the place of a bucket takes as much memory as one of them or half."""


class BucketHints(NamedTuple):
    """The bucket hints of `a` domains.

    Domain `i` has the places `start[i]` up to `start[i + 1]`: one for each bucket and one more, or
    none if it needs no bucket hint or its constants are too far apart, or too close, for floats. A
    number not below the least constant is in bucket `(number - least) * scale`, rounded down, or in
    the last one.
    """

    start: Ints  # [a + 1]
    places: Ints  # counted from the first constant of the domain
    scale: npt.NDArray[np.float64]  # [a]


def bucket_hints(domains: Domains) -> BucketHints:
    """The bucket hints of all domains."""
    counts = domains.number_counts()
    buckets = np.where(counts >= _CONSTANTS_MIN, counts // _BUCKET_CONSTANTS, 0)
    used = np.flatnonzero(buckets)
    least = domains.numbers[domains.number_start[used]]
    with np.errstate(over="ignore", invalid="ignore"):
        scale = buckets[used] / (domains.numbers[domains.number_start[used + 1] - 1] - least)
    is_good = np.isfinite(scale) & (scale > 0)
    buckets[used[~is_good]] = 0
    used, least, scale = used[is_good], least[is_good], scale[is_good]
    start = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(np.where(buckets > 0, buckets + 1, 0), out=start[1:])
    # The number of constants in each bucket, shifted by one, as sums follow.
    owner = np.repeat(np.arange(len(used)), counts[used])
    of_used = np.repeat(buckets > 0, counts)
    bucket = ((domains.numbers[of_used] - least[owner]) * scale[owner]).astype(np.int64)
    np.minimum(bucket, buckets[used][owner] - 1, out=bucket)
    held = np.bincount(start[used][owner] + 1 + bucket, minlength=int(start[-1]))
    before = np.cumsum(held)
    places = before - np.repeat(before[start[used]], buckets[used] + 1)
    whole = np.zeros(len(counts))
    whole[used] = scale
    return BucketHints(start, places, whole)
