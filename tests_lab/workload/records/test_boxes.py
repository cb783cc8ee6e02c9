"""Shen's boxes: calibrated as published, and as dense as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood_lab.workload.records.boxes import BoxLaw, boxes, pareto_scale

SIZE = 1536
DENSITIES = (0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.15, 0.2)
NORM_1 = (0.1696, 0.1959, 0.2379, 0.2764, 0.3998, 0.4763, 0.5321, 0.5789)
NORM_2 = (0.2145, 0.2478, 0.3009, 0.3496, 0.5057, 0.6025, 0.6731, 0.7323)


@pytest.mark.parametrize(("sigma", "scales"), [(0.125, NORM_1), (0.25, NORM_2)])
def test_pareto_scale_is_that_of_an_independent_integration(
    sigma: float, scales: tuple[float, ...]
) -> None:
    for density, scale in zip(DENSITIES, scales, strict=True):
        assert pareto_scale(density**0.2, sigma) == pytest.approx(scale, abs=2e-4)


@pytest.mark.parametrize("law", ["norm-1", "norm-2", "uniform"])
@pytest.mark.parametrize("density", [0.001, 0.01, 0.2])
@pytest.mark.one_in(3)
def test_boxes_are_as_dense_as_asked_for(law: BoxLaw, density: float) -> None:
    source = boxes(law, density)
    intervals = np.array(
        [
            [
                (c.numbers[0].low, c.numbers[0].high)
                for _, c in s.record_filter.conjunctions[0].constraints
            ]
            for s in source.subscriptions(SIZE, 1)
        ]
    )
    points = np.array([list(p.record.values()) for p in source.publications(SIZE, 1)])
    total = 0
    for rows in np.split(points, 4):
        values = rows[:, None, :]
        inside = (intervals[None, :, :, 0] <= values) & (values <= intervals[None, :, :, 1])
        total += int(inside.all(axis=2).sum())
    assert total / SIZE**2 == pytest.approx(density, rel=0.2)


def test_boxes_have_as_many_attributes_as_asked_for() -> None:
    source = boxes("uniform", 0.01, attributes=3)
    assert [s.record_filter.attributes for s in source.subscriptions(1, 1)] == [("x0", "x1", "x2")]
    lengths = {
        round(float(c.numbers[0].high - c.numbers[0].low), 9)
        for s in source.subscriptions(20, 1)
        for _, c in s.record_filter.conjunctions[0].constraints
    }
    assert lengths == {round(0.01 ** (1 / 3), 9)}
