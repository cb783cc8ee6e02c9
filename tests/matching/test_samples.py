"""Random samples: reproducible, readable, and neither always nor never matching."""

from __future__ import annotations

from sapwood import parse_filter
from sapwood.matching.samples import Sampler
from sapwood.model.publication import flatten


def test_sampler_draws_the_same_from_the_same_seed() -> None:
    one, other = Sampler(5), Sampler(5)
    assert [one.filter_text() for _ in range(50)] == [other.filter_text() for _ in range(50)]
    assert [one.record() for _ in range(50)] == [other.record() for _ in range(50)]


def test_sampler_draws_something_else_from_another_seed() -> None:
    assert [Sampler(5).filter_text() for _ in range(9)] != [
        Sampler(6).filter_text() for _ in range(9)
    ]


def test_sampled_filters_are_filters_and_records_are_records() -> None:
    sampler = Sampler(1)
    for _ in range(300):
        parse_filter(sampler.filter_text())
        record = sampler.record()
        flat = flatten(record).record
        assert set(flat) == {name for name, value in record.items() if value != []}
        plain = {name: value for name, value in record.items() if not isinstance(value, list)}
        assert {name: flat[name] for name in plain} == plain


def test_sampled_filters_meet_sampled_records() -> None:
    sampler = Sampler(2)
    filters = [parse_filter(sampler.filter_text()) for _ in range(200)]
    records = [sampler.record() for _ in range(50)]
    matches = sum(wanted.matches(record) for wanted in filters for record in records)
    assert 0.05 < matches / (200 * 50) < 0.6


def test_pick_and_chance_stay_in_range() -> None:
    sampler = Sampler(3)
    assert {sampler.pick(3) for _ in range(100)} == {0, 1, 2}
    assert {sampler.chance(0.5) for _ in range(100)} == {True, False}
    assert not any(sampler.chance(0) for _ in range(100))
