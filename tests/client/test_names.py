from __future__ import annotations

from sapwood.client.names import Names


def test_names_are_counted_whatever_they_are_for() -> None:
    names = Names()
    assert [names.new("s", ()), names.new("a", ()), names.next("c.x.")] == ["s1", "a2", "c.x.3"]


def test_names_that_are_taken_are_passed_over() -> None:
    assert Names().new("s", {"s1", "s2", "s4"}) == "s3"
