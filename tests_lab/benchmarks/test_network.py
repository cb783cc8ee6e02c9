"""The measurement of the network: that it measures what it says, not how fast this machine is."""

from __future__ import annotations

from itertools import islice

import pytest
from tests.forked import forked_brokers

from sapwood import parse_filter
from sapwood.wire.publications import encode_publication
from sapwood_lab.benchmarks.network import (
    FILTER,
    PUBLICATION_BYTES,
    publications,
    run_network,
)

__all__ = ("forked_brokers",)


def test_every_publication_has_the_stated_size_and_matches() -> None:
    wanted = parse_filter(FILTER)
    some = list(islice(publications(), 2000))
    assert {len(encode_publication(one)) for one in some} == {PUBLICATION_BYTES}
    assert all(wanted.matches(one) for one in some)
    assert len({one.id for one in some}) == len(some)


def test_publications_end_where_they_are_told_to() -> None:
    assert len(list(publications(3))) == 3


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_all_that_is_published_is_delivered_and_counted() -> None:
    figures = run_network(0.3)
    rate = figures["raw_echo_frames_per_s"]
    assert rate > 0
    for hops in ("one_hop", "three_hop"):
        per_second = figures[f"{hops}_publications_per_s"]
        assert per_second > 0
        assert figures[f"{hops}_ratio"] == per_second / rate
    assert figures["publications_measured"] > 0
