"""Figure 9.28 in small."""

from __future__ import annotations

from sapwood_lab.experiments import processing_bounds
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row, number


def test_every_stretch_of_messages_has_both_bounds() -> None:
    found = run(processing_bounds.DESIGN, Choices((100,)))
    assert found.column("message") == list(range(2, 101, 2))
    for name in ("transmission", "processing"):
        for typical, most in zip(
            found.column(f"{name}_p50_ms"), found.column(f"{name}_max_ms"), strict=True
        ):
            assert 0 < number(typical) <= number(most)


def test_a_seed_gives_the_same_transmissions_and_fewer_messages_are_the_first_of_them() -> None:
    some = processing_bounds.transmission_bounds(50, 3)
    assert some == processing_bounds.transmission_bounds(50, 3)
    assert some != processing_bounds.transmission_bounds(50, 4)
    assert len(some) == 50


def test_the_claims_are_judged_by_the_rows() -> None:
    def row(spike: float, above: float) -> Row:
        return {"processing_p50_ms": 0.01, "processing_max_ms": spike, "above": above}

    told = processing_bounds.report(Choices(), [row(0.1, 1.0), row(10.0, 0.9)])
    assert [one.holds for one in told.findings] == [True, True]
    worse = processing_bounds.report(Choices(), [row(0.1, 0.5), row(1.0, 0.9)])
    assert [one.holds for one in worse.findings] == [False, False]
    assert "2.0 orders" in worse.findings[1].shown
