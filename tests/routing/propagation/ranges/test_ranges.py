"""The filter table by range, and what comes of comparing it."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.limits.structured import RANGES_REPAIR_S
from sapwood.routing.messages import Confirm, RangeEntries
from sapwood.routing.propagation.ranges.ranges import RangePropagation
from tests.routing.propagation.ranges.test_own import Around

WANTED = parse_filter("x > 0")


def spread() -> RangePropagation:
    found = RangePropagation("r1.0")
    found.follow_circle(Around())
    return found


def told(of: RangePropagation, range_: str, digest: bytes) -> dict[str, int]:
    """The keys of a range, each with its reach, for a neighbor that has another digest."""
    return {key: reach for part in of.differing(range_, digest) for key, reach in part.entries}


def test_a_table_has_what_is_wanted_by_range_until_it_is_not() -> None:
    table = spread()
    table.learn("1", "r2.0.1", WANTED, 1, 0.0)
    table.learn("1", "r2.0.2", WANTED, 1, 0.0)
    table.validate()
    assert list(table.entries.received) == ["1"]
    table.unlearn("1", "r2.0.1")
    table.unlearn("1", "r2.0.2")
    assert table.unlearn("1", "r2.0.2") == []
    table.validate()
    assert not table.entries.received


def test_who_knows_the_same_hears_nothing() -> None:
    here, there = spread(), spread()
    here.learn("01", "r2.0.1", WANTED, 1, 0.0)
    there.learn("0", "r2.0.1", WANTED, 1, 0.0)
    assert here.differing("0", there.digest("0")) == []
    assert told(here, "0", b"") == {"r2.0.1": 1}


def test_only_what_has_the_reach_is_to_be_known_of_a_range() -> None:
    table = spread()
    table.learn("01", "r2.0.1", WANTED, 1, 0.0)
    table.learn("013", "r3.0.1", WANTED, 2, 0.0)
    table.learn("1", "r4.0.1", WANTED, 1, 0.0)
    assert told(table, "0", b"") == {"r2.0.1": 1}
    assert told(table, "01", b"") == {"r3.0.1": 2}


def test_what_is_missing_is_learned_and_what_is_too_much_dropped_at_the_second_time() -> None:
    here, there = spread(), spread()
    here.learn("01", "r2.0.1", WANTED, 1, 0.0)
    there.learn("0", "r3.0.1", WANTED, 1, 0.0)
    for number, keys in enumerate(({"r2.0.1", "r3.0.1"}, {"r2.0.1"}), 1):
        for part in here.differing("0", there.digest("0")):
            there.reconcile(part, number * RANGES_REPAIR_S)
        assert there.entries.received["0"].keys() == keys
        there.validate()


def test_what_has_just_been_told_is_not_missed() -> None:
    table = spread()
    table.learn("0", "r3.0.1", WANTED, 1, 100.0)
    for _ in range(5):
        table.nobody_in("0", 100.0 + RANGES_REPAIR_S / 2)
    assert list(table.entries.received) == ["0"]
    for _ in range(2):
        table.nobody_in("0", 100.0 + RANGES_REPAIR_S)
    assert not table.entries.received


def test_parts_count_when_the_last_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.routing.propagation.ranges.ranges.SUBSCRIPTIONS_AT_ONCE_MAX", 2)
    here, there = spread(), spread()
    for number in range(5):
        here.learn("01", f"r2.0.{number}", WANTED, 1, 0.0)
    parts: list[RangeEntries] = here.differing("0", b"")
    assert [len(part.entries) for part in parts] == [2, 2, 1]
    for part in parts:
        assert not there.entries.received
        there.reconcile(part, 0.0)
    assert there.digest("0") == here.digest("01")


def test_nobody_says_on_a_circle_what_is_said_on_trees() -> None:
    assert "Confirm" in str(spread().on_message("r2", Confirm("k", 1)).objection)


def test_a_range_without_entries_is_found() -> None:
    table = spread()
    table.entries.link_up("0")
    with pytest.raises(InvariantError, match="nothing is wanted"):
        table.validate()
