from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.covering.batch.groups import ALONE, COVERS, EVERYTHING, QUERIES, Member
from sapwood.covering.batch.pattern_covers import (
    covered_patterns,
    name_frequencies,
    place_pattern,
    required_names,
)
from sapwood.language.forms import decode_pattern, encode_form
from sapwood.model.patterns.pattern import TreePattern
from tests.covering.patterns import patterns

GROUPS = st.lists(patterns(), max_size=10)


def members(wanted: list[TreePattern]) -> list[Member]:
    forms = dict.fromkeys(encode_form(pattern) for pattern in wanted)
    return [Member(f"{n:08x}", EVERYTHING, form) for n, form in enumerate(forms)]


@given(GROUPS)
def test_what_is_kept_covers_the_rest_and_nothing_more_can_go(wanted: list[TreePattern]) -> None:
    group = members(wanted)
    by_key = {member.key: decode_pattern(member.form) for member in group}
    gone = dict(covered_patterns(group))
    kept = by_key.keys() - gone.keys()
    assert set(gone.values()) <= kept
    assert all(by_key[cover].covers(by_key[key]) for key, cover in gone.items())
    for key in kept:
        assert not any(by_key[other].covers(by_key[key]) for other in kept - {key})


@given(GROUPS, st.integers(2, 5), st.integers(0, 10))
def test_groups_miss_no_cover_whatever_the_sample(
    wanted: list[TreePattern], slots: int, some: int
) -> None:
    group = members(wanted)
    frequencies = name_frequencies(wanted[:some])
    places = {
        member.key: place_pattern(member.key, decode_pattern(member.form), slots, frequencies)
        for member in group
    }
    gone: set[str] = set()
    for slot in range(slots):
        part = [m._replace(role=places[m.key][slot]) for m in group if slot in places[m.key]]
        gone |= {key for key, _ in covered_patterns(part)}
    assert gone == {key for key, _ in covered_patterns(group)}


@given(patterns(), patterns())
def test_a_cover_requires_no_name_that_what_it_covers_does_not(
    one: TreePattern, other: TreePattern
) -> None:
    if one.covers(other) and other.twigs:
        assert required_names(one) <= required_names(other)


def test_required_names_are_those_of_all_alternatives() -> None:
    for text, names in (
        ("/a//b[c]/@d", "abc"),
        ("/*/*", ""),
        ("/a[b or c]/d", "ad"),
        ("//a[.//b/c = 'x']", "abc"),
    ):
        assert required_names(parse_xpath(text)) == set(names), text
    assert required_names(parse_xpath("/p:a", {"p": "u"})) == {"a"}


def test_a_pattern_is_stored_by_its_rarest_name_and_asks_by_all() -> None:
    pattern = parse_xpath("/a/b")
    by_a, by_b = (place_pattern("0", pattern, 1000, {name: 5}) for name in ("b", "a"))
    assert by_a.keys() == by_b.keys()
    assert sorted(by_a.values()) == sorted(by_b.values()) == [QUERIES, COVERS | QUERIES]
    assert by_a != by_b
    general = place_pattern("0000000a", parse_xpath("/*"), 4, {})
    assert general == {0: COVERS, 1: COVERS, 2: COVERS | QUERIES | ALONE, 3: COVERS}


def test_a_pattern_with_too_many_alternatives_is_kept() -> None:
    many = parse_xpath("/a" + "".join(f"[b{n} or c{n} or d{n}]" for n in range(4)))
    assert many.twigs == ()
    assert place_pattern("0", many, 3, {}) == {}
    group = members([many, parse_xpath("/a")])
    assert covered_patterns(group) == []
