"""Flights that never were look like those that were."""

from __future__ import annotations

from sapwood.cli.tour.flights import AIRPORTS, flights, interests
from sapwood.cli.tour.invented import invented
from sapwood.model.publication import Record


def types_of(records: list[Record]) -> dict[str, set[type]]:
    names = {name for record in records for name in record}
    return {name: {type(r[name]) for r in records if name in r} for name in names}


def test_invented_flights_have_the_attributes_of_real_ones() -> None:
    drawn = [publication.record for publication in invented(2000)]
    real = [publication.record for publication in flights(2000)]
    assert types_of(drawn) == types_of(real)
    assert {record["origin"] for record in drawn} == set(AIRPORTS)
    assert any("dep_time" not in record for record in drawn)


def test_they_are_always_the_same_and_most_interests_find_some() -> None:
    drawn = list(invented(4000))
    assert drawn == list(invented(4000))
    assert [p.id for p in drawn[:2]] == ["f1", "f2"]
    found = [s.id for s in interests() if any(s.filter.matches(p) for p in drawn)]
    assert len(found) > 70
