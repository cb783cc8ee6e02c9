"""Mergers accept what their members accept, and perfect ones nothing else."""

from __future__ import annotations

import itertools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.merging.records import Candidate, Group, PerfectRecordMerger
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.limits import MERGED_TEXT_CHARS_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood.simulation.vocabulary import draw_filter
from tests.strategies import filters, records

MERGER = PerfectRecordMerger()


def candidates(filters_: list[Filter]) -> dict[str, Candidate]:
    return {str(at): Candidate(one, (one,)) for at, one in enumerate(filters_)}


def groups(*texts: str) -> list[Group]:
    known = {text: Candidate(parse_filter(text), (parse_filter(text),)) for text in texts}
    return list(MERGER.groups(known))


def accepts(interest: AdvertisedContent, record: Record) -> bool:
    assert isinstance(interest, Filter)
    return interest.accepts(record)


def test_filters_that_differ_in_one_attribute_become_one() -> None:
    found = groups("a = 1 and b = 1", "a = 2 and b = 1", "a = 5 and b = 1", "a = 1 and c = 1")
    assert found == [
        Group(
            parse_filter("a in (1, 2, 5) and b = 1"),
            ("a = 1 and b = 1", "a = 2 and b = 1", "a = 5 and b = 1"),
        )
    ]


def test_mergers_are_merged_on() -> None:
    texts = [f"a = {a} and b = {b}" for a, b in itertools.product(range(3), range(3))]
    (group,) = groups(*texts)
    assert group.interest == parse_filter("a in (0, 1, 2) and b in (0, 1, 2)")
    assert sorted(group.keys) == sorted(texts)


def test_what_has_no_union_of_one_conjunction_is_left_alone() -> None:
    assert groups("a = 1 and b = 1", "a = 2 and b = 2") == []
    assert groups("a = 1", "b = 1") == []
    assert groups("a = 1 or b = 1", "a = 2 or b = 1") == []
    assert groups("a like '%x%y%'", "a like '%y%z%'") == []
    patterns = {"d": Candidate(parse_xpath("//a"), ()), "e": Candidate(parse_xpath("//b"), ())}
    assert MERGER.groups(patterns) == []


def test_no_merger_is_longer_than_its_bound() -> None:
    texts = [f"a = '{number:060}'" for number in range(MERGED_TEXT_CHARS_MAX // 60)]
    assert groups(*texts) == []
    assert len(groups(*texts[:10])) == 1


@given(st.lists(filters(), max_size=8, unique=True), records())
def test_mergers_accept_exactly_what_their_members_accept(
    filters_: list[Filter], record: Record
) -> None:
    keys: list[str] = []
    for interest, members in MERGER.groups(candidates(filters_)):
        assert len(members) > 1
        keys += members
        originals = [filters_[int(key)] for key in members]
        assert accepts(interest, record) == any(one.accepts(record) for one in originals)
        assert MERGER.may_stand(interest, originals)
    assert len(keys) == len(set(keys))


def test_small_worlds_merge_without_loss() -> None:
    generator = Random(5)
    merged = 0
    for _ in range(40):
        filters_ = [parse_filter(draw_filter(generator, "xy")) for _ in range(12)]
        for interest, members in MERGER.groups(candidates(filters_)):
            merged += len(members)
            for x, y in itertools.product(range(-1, 10), (0, 2.5, 7)):
                expected = any(filters_[int(key)].accepts({"x": x, "y": y}) for key in members)
                assert accepts(interest, {"x": x, "y": y}) == expected
    assert merged > 100


def test_a_merger_may_not_stand_for_fewer_than_make_it_up() -> None:
    merged = parse_filter("a in (1, 2)")
    one, other = parse_filter("a = 1"), parse_filter("a = 2")
    assert MERGER.may_stand(merged, [one, other])
    assert not MERGER.may_stand(merged, [one])
    assert not MERGER.may_stand(parse_xpath("//a"), [parse_xpath("//a")])
