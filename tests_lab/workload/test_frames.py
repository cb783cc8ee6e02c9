"""Spark makes the same workload as one process does, however many partitions there are."""

from __future__ import annotations

import json
from functools import reduce
from typing import Any

import pytest

from sapwood.model.publication import Value
from sapwood.pipeline.spark.session import local_session
from sapwood_lab.workload.frames import publication_frame, subscription_frame
from sapwood_lab.workload.records import WORKLOADS, workload
from sapwood_lab.workload.records.observed import observed
from sapwood_lab.workload.records.source import BLOCK

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
COUNT = 18 * BLOCK + 7
"""More blocks than one batch takes, and the last one in part."""


def rows(frame: Any) -> dict[str, str]:
    found = [tuple(row) for row in frame.collect()]
    assert len(found) == len(dict(found))
    return dict(found)


@pytest.mark.parametrize("partitions", [1, 3])
def test_subscription_frame_holds_the_rows_of_the_stream_for_any_partitions(
    partitions: int,
) -> None:
    source = workload("eq")
    frame = subscription_frame(local_session(), source, COUNT, 5, partitions)
    assert frame.rdd.getNumPartitions() == partitions
    assert rows(frame) == {s.id: str(s.filter) for s in source.subscriptions(COUNT, 5)}


def test_publication_frame_holds_the_rows_of_the_stream() -> None:
    source = workload("realistic")
    found = rows(publication_frame(local_session(), source, BLOCK + 7, 5))
    assert {id_: json.loads(text) for id_, text in found.items()} == {
        p.id: p.record for p in source.publications(BLOCK + 7, 5)
    }


@pytest.mark.long
def test_frames_hold_the_rows_of_every_generator() -> None:
    records: list[dict[str, Value]] = [{"a": n, "b": f"t{n % 5}"} for n in range(30)]
    sources = [*WORKLOADS.values(), observed("seen", "", records)]
    frames = [
        subscription_frame(local_session(), source, 9, 5, 1).selectExpr(
            f"concat('{source.name} ', id) AS id", "filter"
        )
        for source in sources
    ]
    found = rows(reduce(lambda above, below: above.unionAll(below), frames))
    assert found == {
        f"{c.name} {s.id}": str(s.filter) for c in sources for s in c.subscriptions(9, 5)
    }


def test_frames_of_nothing_are_empty() -> None:
    assert rows(subscription_frame(local_session(), workload("eq"), 0, 1)) == {}
    assert rows(publication_frame(local_session(), workload("eq"), 0, 1)) == {}
