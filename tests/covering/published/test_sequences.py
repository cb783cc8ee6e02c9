"""Searches for a run of steps in another: three of them, one of which is wrong with wildcards."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_advertisement, parse_xpath
from sapwood.covering.published.procedures import meets
from sapwood.covering.published.sequences import (
    Names,
    Rule,
    covers,
    lies_at,
    naive_position,
    next_table,
    overlaps,
    position,
    table_position,
)
from tests.examples import examples

names = st.sampled_from(("a", "b", None))
longer = st.lists(names, max_size=8).map(tuple)
wanted = st.lists(names, min_size=1, max_size=4).map(tuple)


def run(text: str) -> Names:
    return tuple(None if name == "*" else name for name in text.split("/"))


def stands(rule: Rule, step: str | None, there: str | None) -> bool:
    """The two rules by the names that pass the steps, of which `z` stands for all others."""
    passing = [{one} if one else {"a", "b", "z"} for one in (step, there)]
    return passing[1] <= passing[0] if rule is covers else bool(passing[0] & passing[1])


@pytest.mark.parametrize("rule", [overlaps, covers])
def test_steps_are_compared_by_the_names_that_pass_them(rule: Rule) -> None:
    for step, there in product(("a", "b", None), repeat=2):
        assert rule(step, there) is stands(rule, step, there)


@pytest.mark.parametrize("rule", [overlaps, covers])
@given(longer, wanted, st.integers(0, 3))
@settings(max_examples=examples(200))
def test_both_right_searches_find_the_first_place(
    rule: Rule, names: Names, run: Names, start: int
) -> None:
    last = len(names) - len(run)
    places = [
        place
        for place in range(start, last + 1)
        if all(stands(rule, step, names[place + n]) for n, step in enumerate(run))
    ]
    assert [place for place in range(start, last + 1) if lies_at(names, run, place, rule)] == places
    first = places[0] if places else None
    assert naive_position(names, run, start, rule) == first
    assert position(names, run, start, rule) == first


@given(
    st.lists(st.sampled_from(("a", "b")), max_size=9).map(tuple),
    st.lists(st.sampled_from(("a", "b")), min_size=1, max_size=5).map(tuple),
    st.integers(0, 2),
)
@settings(max_examples=examples(200))
def test_the_printed_search_is_right_without_wildcards(
    names: Names, run: Names, start: int
) -> None:
    assert table_position(names, run, start) == naive_position(names, run, start)


def test_the_printed_table_is_that_of_the_figure() -> None:
    assert next_table(run("a/b/a/b/c"), overlaps)[1:] == (-1, 0, 0, 1, 2)
    assert next_table(run("a"), overlaps)[:2] == (0, -1)
    assert next_table(run("a/*/a"), overlaps)[1:] == (-1, 0, 1)
    assert next_table(run("a/*/a"), covers)[1:] == (-1, 0, 0)


@pytest.mark.parametrize(
    ("advertised", "xpe", "printed", "right"),
    [
        ("a/b/a/b", "a/*/b", 1, None),  # it lies nowhere
        ("a/*/b/a", "a/b/a", None, 1),  # a document would be lost
        ("a/b/a/b/b", "a/*/b", 1, 2),  # not its first place
    ],
)
def test_the_printed_search_goes_wrong_with_wildcards(
    advertised: str, xpe: str, printed: int | None, right: int | None
) -> None:
    assert table_position(run(advertised), run(xpe)) == printed
    assert naive_position(run(advertised), run(xpe)) == right
    by_table = meets(parse_advertisement(f"/{advertised}"), parse_xpath(xpe), _printed)
    assert by_table is (printed is not None)
    assert meets(parse_advertisement(f"/{advertised}"), parse_xpath(xpe)) is (right is not None)


def _printed(names: Names, run: Names, start: int, rule: Rule) -> int | None:
    """The printed search for what is left of an advertisement."""
    return table_position(names, run, start, rule)


def test_no_table_makes_a_right_search_for_covers() -> None:
    """The "similar optimization" that the work announces for RelSimCov (L323)."""
    false = table_position(run("a/b/b/a"), run("a/*/a"), 0, covers, borders=overlaps)
    assert (false, naive_position(run("a/b/b/a"), run("a/*/a"), 0, covers)) == (1, None)
    missed = table_position(run("a/a/b/a"), run("a/*/a"), 0, covers)
    assert (missed, naive_position(run("a/a/b/a"), run("a/*/a"), 0, covers)) == (None, 1)


@given(longer, wanted)
@settings(max_examples=examples(300))
def test_a_table_by_the_rule_for_covers_claims_none_that_does_not_hold(
    names: Names, run: Names
) -> None:
    found = table_position(names, run, 0, covers)
    assert found is None or lies_at(names, run, found, covers)


def test_over_all_small_runs_the_printed_search_errs_as_often_as_counted() -> None:
    """Runs of up to four and three steps over two names and `*`."""
    steps = ("a", "b", None)
    advertised = [one for size in range(1, 5) for one in product(steps, repeat=size)]
    subscribed = [one for size in range(1, 4) for one in product(steps, repeat=size)]
    verdicts = {"false": 0, "missed": 0, "elsewhere": 0}
    for names, run in product(advertised, subscribed):
        printed, right = table_position(names, run), naive_position(names, run)
        if printed != right:
            kind = "false" if right is None else "missed" if printed is None else "elsewhere"
            verdicts[kind] += 1
    assert verdicts == {"false": 16, "missed": 8, "elsewhere": 0}
