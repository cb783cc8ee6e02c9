"""The lookup of a conjunction, as the columnar engine would choose it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.matching.columnar.explaining import lookups
from sapwood.matching.lookups import LookupKind
from sapwood.model.filter import Filter
from sapwood.model.printing import print_constraint
from tests.strategies import filters


@pytest.mark.parametrize(
    ("text", "way", "by", "compared", "patterns"),
    [
        ("price > 20 and symbol = 'IBM'", LookupKind.HASH, "symbol = 'IBM'", ("price > 20",), ()),
        ("symbol in ('IBM', 'SAP')", LookupKind.HASH, "symbol in ('IBM', 'SAP')", (), ()),
        ("flag", LookupKind.HASH, "flag = true", (), ()),
        ("price < 10", LookupKind.INTERVAL, "price < 10", (), ()),
        ("price between 1 and 2", LookupKind.INTERVAL, "price between 1 and 2", None, ()),
        ("name like 'S%'", LookupKind.INTERVAL, "name like 'S%'", None, ()),
        ("name like '%xyz%'", LookupKind.LITERAL, "name like '%xyz%'", (), ()),
        (
            "name like '%xyz_'",
            LookupKind.LITERAL,
            "name like '%xyz_'",
            None,
            ("name like '%xyz_'",),
        ),
        ("lower(name) like '%xyz%'", LookupKind.LITERAL, "lower(name) like '%xyz%'", (), ()),
        ("name like '%xyz'", LookupKind.SUFFIX, "name like '%xyz'", None, ()),
        ("lower(name) = 'xyz'", LookupKind.HASH, "lower(name) = 'xyz'", (), ()),
        ("integer(name) < 10", LookupKind.INTERVAL, "integer(name) < 10", (), ()),
        ("exists integer(name)", LookupKind.PRESENCE, "name", (), ()),
        ("name not like '%x%'", LookupKind.PRESENCE, "name", (), ("name not like '%x%'",)),
        ("exists note", LookupKind.PRESENCE, "note", (), ()),
        ("a is null", LookupKind.SCAN, None, ("a is null",), ()),
        ("true", LookupKind.SCAN, None, (), ()),
    ],
)
def test_each_kind_of_predicate_is_found_in_its_way(
    text: str,
    way: LookupKind,
    by: str | None,
    compared: tuple[str, ...] | None,
    patterns: tuple[str, ...],
) -> None:
    (one,) = lookups(parse_filter(text))
    assert (one.way, one.by, one.patterns) == (way, () if by is None else (by,), patterns)
    assert one.compared == ((by,) if compared is None else compared)
    assert one.share is not None
    assert 0 < one.share <= 1
    assert (one.share == 1) == (way is LookupKind.SCAN)


def test_each_conjunction_has_a_lookup_of_its_own() -> None:
    found = lookups(parse_filter("a = 1 or b > 2 or not exists c"))
    assert {(one.text, one.way) for one in found} == {
        ("a = 1", LookupKind.HASH),
        ("b > 2", LookupKind.INTERVAL),
        ("c is null", LookupKind.SCAN),
    }
    assert lookups(parse_filter("a > 1 and a < 0")) == ()


def test_what_others_ask_for_decides_which_predicate_is_looked_up() -> None:
    asked = parse_filter("a = 1 and b = 1")
    common = [parse_filter(f"a = 1 and c = {n}") for n in range(20)]
    rare = [parse_filter(f"b = {n}") for n in range(2, 22)]
    (found,) = lookups(asked, [*common, *rare])
    assert found.by == ("b = 1",)
    (other,) = lookups(
        asked, [*(parse_filter(f"b = 1 and c = {n}") for n in range(20)), *common[:1]]
    )
    assert other.by == ("a = 1",)


def test_many_conjunctions_on_the_same_two_attributes_are_found_in_a_grid() -> None:
    beside = [parse_filter(f"a = {n % 4} and b = {n // 4 % 4} and c > {n}") for n in range(1200)]
    (found,) = lookups(beside[7], beside)
    assert (found.way, len(found.by)) == (LookupKind.PAIR, 2)


@given(filters(), st.lists(filters(), max_size=5))
def test_what_is_looked_up_accepts_all_that_its_conjunction_accepts(
    filter_: Filter, beside: list[Filter]
) -> None:
    found = lookups(filter_, beside)
    assert [one.text for one in found] == [str(one) for one in filter_.conjunctions]
    for one, conjunction in zip(found, filter_.conjunctions, strict=True):
        named = [name for name, _ in conjunction.constraints]
        texts = [print_constraint(name, one) for name, one in conjunction.constraints]
        assert (one.way is LookupKind.SCAN) == (not one.by)
        assert set(one.by) <= {*texts, *named}
        assert set(one.compared) <= set(texts)
        if one.way is not LookupKind.PRESENCE:  # nothing is forgotten between the two
            assert {*one.by, *one.compared} == set(texts)
        if one.by:  # what is looked up by an attribute asks that it is there
            by = [named[texts.index(text)] if text in texts else text for text in one.by]
            assert not any(conjunction.constraint(name).absent for name in by)
