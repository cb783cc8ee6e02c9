"""Filters of both languages beside each other."""

from __future__ import annotations

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication

RECORD: Interest = parse_filter("true")
DOCUMENT: Interest = parse_xpath("/*")


def test_nothing_is_covered_or_intersected_across_kinds() -> None:
    for one, other in ((RECORD, DOCUMENT), (DOCUMENT, RECORD)):
        assert one.covers(one)
        assert one.intersects(one)
        assert not one.covers(other)
        assert not one.intersects(other)
        assert one != other


def test_each_kind_looks_at_its_part_of_a_publication() -> None:
    both = Publication("p", {}, b"<a/>")
    assert RECORD.matches(both)
    assert DOCUMENT.matches(both)
    record, document = both.parts()
    assert RECORD.matches(record)
    assert not DOCUMENT.matches(record)
    assert not RECORD.matches(document)
    assert DOCUMENT.matches(document)


def test_a_filter_that_asks_for_absence_needs_a_record_all_the_same() -> None:
    absent = parse_filter("price is null")
    assert absent.matches(Publication("p", {}))
    assert not absent.matches(Publication("p", document=b"<a/>"))
