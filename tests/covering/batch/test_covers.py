from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.batch.blocking import Grid, Way, ways_of
from sapwood.covering.batch.boxes import Box, box_of
from sapwood.covering.batch.covers import covered, place
from sapwood.covering.batch.groups import COVERS, EVERYTHING, QUERIES, Member
from sapwood.language.forms import decode_form, encode_form
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.publication import Record
from tests.strategies import filters, records


def read(text: str) -> Box:
    return box_of(encode_form(parse_filter(text)))


def members(wanted: list[Filter]) -> list[Member]:
    distinct = dict.fromkeys(filter_ for filter_ in wanted if filter_ != NOTHING)
    return [
        Member(f"{n:08x}", EVERYTHING, encode_form(filter_)) for n, filter_ in enumerate(distinct)
    ]


@given(st.lists(filters(), max_size=12))
def test_what_is_kept_covers_the_rest_and_nothing_more_can_go(wanted: list[Filter]) -> None:
    group = members(wanted)
    by_key = {member.key: decode_form(member.form) for member in group}
    gone = dict(covered(group))
    kept = by_key.keys() - gone.keys()
    assert set(gone.values()) <= kept
    assert all(by_key[cover].covers(by_key[key]) for key, cover in gone.items() if key in by_key)
    for key in kept:
        assert not any(by_key[other].covers(by_key[key]) for other in kept if other != key), by_key[
            key
        ]


@given(st.lists(filters(), max_size=12), st.integers(2, 4), st.integers(0, 12))
def test_groups_miss_no_cover_however_few_the_sample_has(
    wanted: list[Filter], slots: int, some: int
) -> None:
    group = members(wanted)
    grid = Grid.of(box_of(member.form) for member in group)
    gone: set[str] = set()
    boxes = {member.key: box_of(member.form) for member in group}
    ways = ways_of(list(boxes.values())[:some], grid)
    places = {key: place(key, box, grid, slots, ways) for key, box in boxes.items()}
    for slot in range(slots):
        part = [m._replace(role=places[m.key][slot]) for m in group if slot in places[m.key]]
        gone |= {key for key, _ in covered(part)}
    assert gone == {key for key, _ in covered(group)}


@given(st.lists(filters(), max_size=12), st.lists(records(), max_size=8))
def test_what_is_kept_accepts_what_all_accept(wanted: list[Filter], some: list[Record]) -> None:
    group = members(wanted)
    gone = dict(covered(group))
    for record in some:
        accepting = {m.key for m in group if decode_form(m.form).accepts(record)}
        assert bool(accepting) == bool(accepting - gone.keys())


def test_covered_names_the_last_cover_on_the_way() -> None:
    texts = ("x = 3 and y = 1", "x = 3", "x > 2", "y = 5")
    group = members([parse_filter(text) for text in texts])
    pairs = dict(covered(group))
    assert pairs == {"00000000": "00000002", "00000001": "00000002"}


def test_only_one_of_two_forms_of_one_set_goes() -> None:
    one, other = parse_filter("s like '%'"), parse_filter("s not like 'a' or s like '%_'")
    assert one != other
    assert one.covers(other)
    assert other.covers(one)
    group = [Member("b", EVERYTHING, encode_form(one)), Member("a", EVERYTHING, encode_form(other))]
    assert covered(group) == [("b", "a")]
    assert covered(group[::-1]) == [("b", "a")]


def test_a_member_that_does_not_ask_is_not_given_up() -> None:
    wide, narrow = (encode_form(parse_filter(text)) for text in ("x > 1", "x > 2"))
    asks = [Member("a", COVERS, narrow), Member("b", COVERS, wide)]
    assert covered(asks) == []
    stored = [Member("a", QUERIES, narrow), Member("b", QUERIES, wide)]
    assert covered(stored) == []


def test_place_puts_general_filters_everywhere_and_lets_them_ask_once() -> None:
    grid = Grid({})
    roles = place("0000000a", read("true"), grid, 4, ())
    assert set(roles) == {0, 1, 2, 3}
    assert [slot for slot, role in roles.items() if role & QUERIES] == [2]
    lone = place("0000000a", read("s = 'a'"), grid, 4, {Way("s", by_cell=False)})
    assert list(lone.values()) == [EVERYTHING]
