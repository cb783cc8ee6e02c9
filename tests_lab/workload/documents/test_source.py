"""Document workloads are streams, as those of records are."""

from __future__ import annotations

import pickle
from itertools import islice

import pytest

from sapwood.errors import InvalidValueError, UnknownNameError
from sapwood_lab.workload.documents import SHIPPED, PatternShape, documents
from sapwood_lab.workload.documents import source as module
from sapwood_lab.workload.records.source import BLOCK

REPEATING = PatternShape(distinct=False)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("shape", [PatternShape(), REPEATING], ids=["distinct", "repeating"])
@pytest.mark.one_in(3)
def test_workload_is_a_stream_that_can_be_entered_anywhere(name: str, shape: PatternShape) -> None:
    source = documents(name, shape)
    whole = list(source.subscriptions(BLOCK + 9, 3))
    assert [one.id for one in whole] == [f"s{at}" for at in range(BLOCK + 9)]
    assert list(source.subscriptions(BLOCK + 4, 3, BLOCK - 2)) == whole[BLOCK - 2 : BLOCK + 4]
    assert list(islice(source.subscriptions(9000, 3), 20)) == whole[:20]
    assert list(source.subscriptions(20, 4)) != whole[:20]
    assert list(source.publications(7, 3, 4)) == list(source.publications(7, 3))[4:]
    assert list(source.publications(7, 4)) != list(source.publications(7, 3))


def test_subscriptions_are_distinct_if_that_is_asked() -> None:
    plain = {one.filter for one in documents("proteins").subscriptions(600, 1)}
    assert len(plain) == 600
    repeating = {one.filter for one in documents("proteins", REPEATING).subscriptions(600, 1)}
    assert len(repeating) < 600


def test_too_many_distinct_subscriptions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BARREN", 2 * BLOCK)
    few = PatternShape(depth_min=1, depth_max=2, wildcard=0, descendant=0)
    with pytest.raises(InvalidValueError, match="hardly more than 3 different"):
        list(documents("news", few).subscriptions(4, 1))


def test_workload_travels_to_other_processes() -> None:
    source = documents("news")
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert list(copy.publications(3, 1)) == list(source.publications(3, 1))


def test_unknown_dtd_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="news, proteins"):
        documents("newz")
