"""The realistic workload holds what its docstring says."""

from __future__ import annotations

from collections import Counter

from sapwood_lab.workload.records import workload
from sapwood_lab.workload.records.realistic import MEASURED


def test_realistic_mixes_prefixes_equalities_lists_flags_and_ranges() -> None:
    texts = [str(s.record_filter) for s in workload("realistic").subscriptions(1000, 1)]
    shares = {
        word: sum(word in text for text in texts)
        for word in ("like", "place = ", "kind = ", " in (", "maker = ", "battery", ">", "between")
    }
    assert 550 <= shares["like"] <= 750
    assert 60 <= shares["place = "] <= 140
    assert all(count > 60 for count in shares.values()), shares


def test_realistic_publications_are_devices_with_some_measurements() -> None:
    records = [p.record for p in workload("realistic").publications(300, 1)]
    assert {len(record) for record in records} == {4 + MEASURED}
    assert {type(record["battery"]) for record in records} == {bool}
    regions = Counter(str(record["place"])[:3] for record in records)
    assert regions["r00"] > regions["r05"]


def test_realistic_matches_some_but_not_most() -> None:
    filters = [s.record_filter for s in workload("realistic").subscriptions(1000, 2)]
    records = [p.record for p in workload("realistic").publications(40, 2)]
    share = sum(f.accepts(r) for f in filters for r in records) / 40_000
    assert 0.001 < share < 0.05
