"""The covering rate of a set is the one that was asked for."""

from __future__ import annotations

import pytest

from sapwood.errors import InvalidValueError
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.workload.documents import PatternShape, documents
from sapwood_lab.workload.documents import covering_rates as module
from sapwood_lab.workload.documents.covering_rates import with_covering_rate

SHAPE = PatternShape(descendant=0.2, wildcard=0.2)


@pytest.mark.parametrize("rate", [0.0, 0.5, 0.9])
@pytest.mark.one_in(2)
def test_share_of_covered_subscriptions_is_the_rate(rate: float) -> None:
    chosen = with_covering_rate(documents("news", SHAPE), 60, rate, 1)
    assert [one.id for one in chosen] == [f"s{at}" for at in range(60)]
    patterns = [one.filter for one in chosen if isinstance(one.filter, TreePattern)]
    assert len(set(patterns)) == 60
    covered = sum(
        any(other.covers(one) for other in patterns if other is not one) for one in patterns
    )
    assert covered == round(60 * rate)
    assert with_covering_rate(documents("news", SHAPE), 60, rate, 1) == chosen


def test_rates_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = documents("news", SHAPE)
    for rate in (-0.1, 1.0):
        with pytest.raises(InvalidValueError, match="between 0 and below 1"):
            with_covering_rate(source, 10, rate, 1)
    monkeypatch.setattr(module, "SAMPLE", 50)
    monkeypatch.setattr(module, "_DRAWS_PER_PATTERN", 1)
    with pytest.raises(InvalidValueError, match="patterns that none covers"):
        with_covering_rate(source, 60, 0.5, 1)
