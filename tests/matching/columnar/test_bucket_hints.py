"""Bucket hints: every constant lies where its bucket says."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.bucket_hints import BucketHints, bucket_hints
from sapwood.matching.columnar.ranking import Domains


def bucket_hints_of(*domains: list[float]) -> BucketHints:
    """The bucket hints of domains that have these constants."""
    start = np.cumsum([0, *map(len, domains)])
    numbers = np.array([constant for domain in domains for constant in domain])
    texts = np.zeros(len(start), np.int64), np.zeros(0, np.uint32), ()
    return bucket_hints(Domains(start, numbers, np.zeros(len(numbers), np.int16), *texts))


@given(
    st.lists(st.lists(st.floats(allow_nan=False), unique=True, max_size=80).map(sorted), max_size=4)
)
def test_a_number_has_as_many_constants_before_its_bucket_as_the_place_says(
    domains: list[list[float]],
) -> None:
    found = bucket_hints_of(*domains)
    assert found.start[0] == 0
    assert found.start[-1] == len(found.places)
    for number, domain in enumerate(domains):
        places = found.places[found.start[number] : found.start[number + 1]].tolist()
        if not places:
            assert found.scale[number] == 0
            continue
        assert places[0] == 0
        assert places[-1] == len(domain)
        for rank, constant in enumerate(domain):
            bucket = int((constant - domain[0]) * float(found.scale[number]))
            bucket = min(bucket, len(places) - 2)
            assert places[bucket] <= rank < places[bucket + 1]


def test_a_long_domain_has_bucket_hints_unless_its_ends_are_too_far_or_too_close() -> None:
    even = [float(at) for at in range(40)]
    domains = [even[:31], even, [*even, math.inf], [-1.5e308, *even, 1.5e308], []]
    domains.append([at * 5e-324 for at in range(40)])
    found = bucket_hints_of(*domains)
    assert np.diff(found.start).tolist() == [0, 6, 0, 0, 0, 0]
    assert found.places.tolist() == [0, 8, 16, 24, 32, 40]
