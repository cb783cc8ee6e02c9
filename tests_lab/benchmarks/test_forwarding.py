"""Hops of forwarding, measured: the same publications go on under every protocol."""

from __future__ import annotations

import json

import pytest

from sapwood_lab.benchmarks import forwarding


def test_each_protocol_has_a_row_and_digests_travel_under_those_that_write_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(forwarding, "PUBLICATIONS", 40)
    forwarding.main(["--sizes", "300", "--links", "2", "--matches", "4"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["protocol"] for row in rows] == [*forwarding.PROTOCOLS]
    assert all(row["first_us"] > 0 and row["further_us"] > 0 for row in rows)
    sizes = {row["protocol"]: row["digest_bytes"] for row in rows}
    assert sizes.pop(forwarding.EVERY_HOP) == 0
    assert all(size > 0 for size in sizes.values())


def test_filters_are_spread_over_links_and_match_as_often_as_asked_for() -> None:
    entries, publications = forwarding.workload(3_000, 3, 20, 1)
    assert [len(some) for some in entries.values()] == [1_000] * 3
    wanted = [one for some in entries.values() for _, one in some]
    some = publications[:50]
    mean = sum(one.accepts(publication.record) for publication in some for one in wanted) / len(
        some
    )
    assert 15 < mean < 25
