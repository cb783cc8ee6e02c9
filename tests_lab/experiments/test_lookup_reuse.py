"""Table 3.1 and figures 3.1 to 3.5 in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import lookup_reuse
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number


def rows(told: str, *, density: float = 0.1) -> list[Row]:
    (chosen,) = (
        one
        for one in lookup_reuse.configurations(Choices((60,)))
        if (one["engine"], one["propagation"], one["density"]) == ("auto", told, density)
    )
    return [{**chosen, **row} for row in lookup_reuse.measure(chosen)]


@pytest.mark.long
def test_keys_take_the_place_of_matches_more_with_each_that_travels() -> None:
    found = {row["strategy"]: row for row in rows("simple")}
    assert [*found] == [*lookup_reuse.STRATEGIES]
    matches = [number(row["matches"]) for row in found.values()]
    lookups = [number(row["lookups"]) for row in found.values()]
    assert matches == sorted(matches, reverse=True)
    assert matches[0] > matches[-1]
    assert lookups == sorted(lookups)
    assert lookups[0] == 0
    assert len({row["deliveries"] for row in found.values()}) == 1
    sizes = [(number(row["keys_kb"]), number(row["keys_kb_of_4"])) for row in found.values()]
    assert sizes[0] == (0, 0)
    assert all(one / 2 < short < one for one, short in sizes[1:])  # heads stay as they are
    assert sizes[1][0] < sizes[-1][0]


def test_keys_that_would_be_equal_in_4_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lookup_reuse._equal_of_4([f"k{number}" for number in range(1_000)]) == 0
    monkeypatch.setattr(lookup_reuse, "hash_of", lambda key: int(key) << 31)
    assert lookup_reuse._equal_of_4(["1", "2", "3", "4"]) == 4  # two are even, two odd
    assert lookup_reuse._equal_of_4(["1", "2"]) == 0


@pytest.mark.long
def test_always_reuse_is_not_to_be_had_under_covering() -> None:
    assert [row["strategy"] for row in rows("covering")] == ["never", "partial:20", "partial:60"]


def test_the_report_has_the_published_deviations_beside_those_found() -> None:
    row: Row = {
        **dict.fromkeys(lookup_reuse.TIMED, 1.0),
        "engine": "counting-compiled",
        "propagation": "simple",
        "law": "norm-1",
        "density": 0.2,
        "subscriptions": 60,
        "strategy": "always",
        "matches": 1,
        "lookups": 1,
        "deliveries": 1,
    }
    told = lookup_reuse.report(Choices((60,)), [row])
    assert told.column("published_above_best") == [22.95]
    claims = {finding.claim: finding.holds for finding in told.findings}
    assert not claims["counting-compiled: a match costs 100 to 1,000 lookups"]
