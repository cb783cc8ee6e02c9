"""Figure 5.7 in small."""

from __future__ import annotations

from sapwood_lab.experiments import bit_unions
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number


def row(bits: int, speedup: float) -> Row:
    return {"bits": bits, "speedup": speedup, **dict.fromkeys(("words_us", "vector_us"), 1.0)}


def test_filters_of_any_size_are_joined_in_all_ways() -> None:
    for configuration in bit_unions.configurations(Choices((1, 256))):
        (found,) = bit_unions.measure(configuration)
        assert [*found] == [*bit_unions.TIMED]
        assert all(number(cell) > 0 for cell in found.values())


def test_the_claims_are_judged_by_the_speedups() -> None:
    told = bit_unions.report(Choices(), [row(1 << 14, 9.0), row(1 << 8, 0.5)])
    assert [one.holds for one in told.findings] == [True, True]
    worse = bit_unions.report(Choices(), [row(1 << 8, 2.0), row(1 << 14, 0.9)])
    assert [one.holds for one in worse.findings] == [False, False]
    assert len(told.charts) == 2
