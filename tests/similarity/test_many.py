"""All pairs at once are what each pair is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity import Knowledge, Similarity, all_proximities, all_similarities
from sapwood.xml.dtd import read_dtd
from tests.similarity.kinds import LOOSE, STRICT, patterns

DTDS = tuple(read_dtd(text, "a") for text in (LOOSE, STRICT))


@given(st.lists(patterns(), min_size=1, max_size=5, unique=True), st.sampled_from(DTDS))
def test_all_pairs_are_as_each_is(some: list[TreePattern], dtd: object) -> None:
    knowledge = Knowledge(dtd)  # type: ignore[arg-type]
    rows: list[int] = []
    found = all_similarities(Similarity(knowledge), some, rows.append)
    assert sum(rows) == len(some)
    for one, pattern in enumerate(some):
        for other, asked in enumerate(some):
            # Each pair by itself: nothing is known from the others.
            alone = Similarity(knowledge)(pattern, asked)
            assert found[one, other] == pytest.approx(alone, abs=1e-6)
    close = all_proximities(Similarity(knowledge), some)
    assert np.allclose(close, (found + found.T) / 2)
    assert np.array_equal(close, close.T)
