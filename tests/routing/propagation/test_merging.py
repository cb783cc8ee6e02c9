"""Merging: the changes that a neighbor gets, and the entries that are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.merging.records import PerfectRecordMerger
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.limits import MERGING_PASS_MIN
from sapwood.model.interest import Interest
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.merging import Merging
from sapwood.routing.propagation.protocol import Change
from sapwood.routing.propagation.reasons import Reason, Treatment

COUNT = MERGING_PASS_MIN
MERGER = "r1.0.m1.1"


def link() -> Merging[Interest]:
    return Merging(Covering(), PerfectRecordMerger(), "r1.0.m1")


def points(count: int) -> dict[str, Interest]:
    return {f"k{n}": parse_filter(f"a = {n}") for n in range(count)}


def filled() -> tuple[Merging[Interest], list[Change]]:
    merging = link()
    return merging, [merging.add(key, wanted) for key, wanted in points(COUNT).items()]


def test_newcomers_are_told_until_a_pass_merges_them() -> None:
    merging, said = filled()
    assert [change.propagate for change in said[:-1]] == [(f"k{n}",) for n in range(COUNT - 1)]
    assert said[-1] == Change((MERGER,), tuple(f"k{n}" for n in range(COUNT - 1)))
    values = ", ".join(map(str, range(COUNT)))
    assert str(merging.propagated[MERGER]) == f"a in ({values})"
    assert {merging.representative(f"k{n}") for n in range(COUNT)} == {MERGER}
    assert merging.mergers == 1
    merged = Reason(Treatment.MERGED, MERGER, merging.propagated[MERGER])
    assert merging.why("k1") == (merged,)


def test_why_names_the_cover_and_then_the_merger_that_stands_for_it() -> None:
    merging, _ = filled()
    merging.add("below", parse_filter("a = 1 and b = 2"))
    covered, merged = merging.why("below")
    assert covered == Reason(Treatment.COVERED, "k1", parse_filter("a = 1"))
    assert merged == Reason(Treatment.MERGED, MERGER, merging.propagated[MERGER])
    merging.add("apart", parse_filter("c = 1"))
    assert merging.why("apart") == (Reason(Treatment.ITSELF, "apart", parse_filter("c = 1")),)


def test_a_link_that_comes_up_is_told_mergers_at_once() -> None:
    assert link().start(points(3).items()) == Change((MERGER,))


def test_a_newcomer_that_a_merger_covers_travels_nowhere() -> None:
    merging = link()
    alive: dict[str, Interest] = {
        f"k{n}": parse_filter(f"a between {n} and {n + 1}") for n in range(4)
    }
    merging.start(alive.items())
    alive["late"] = parse_filter("a > 1.5 and a < 3.5")
    assert merging.add("late", alive["late"]) == Change()
    assert merging.representative("late") == MERGER
    merging.validate(alive)


def test_members_are_told_again_when_the_merger_has_lost_one() -> None:
    merging, _ = filled()
    left = tuple(f"k{n}" for n in range(COUNT) if n != 3)
    assert merging.remove("k3") == Change(left, (MERGER,))
    assert all(merging.representative(key) == key for key in left)
    # They count as newcomers, so that one more brings the next pass.
    said = merging.add("k9", parse_filter("a = 9"))
    assert said == Change(("r1.0.m1.2",), left)
    assert all(merging.propagated["r1.0.m1.2"].covers(points(COUNT)[key]) for key in left)


def test_a_merger_stays_while_what_is_left_makes_it_up() -> None:
    merging = link()
    intervals = ("a >= 0 and a <= 2", "a >= 2 and a <= 4", "a >= 1 and a <= 3")
    merging.start([(text, parse_filter(text)) for text in intervals])
    assert merging.remove(intervals[2]) == Change()
    assert merging.mergers == 1
    assert merging.remove(intervals[1]) == Change((intervals[0],), (MERGER,))


@given(data=st.data())
def test_merging_keeps_every_candidate_accepted_at_all_times(data: st.DataObject) -> None:
    merging = link()
    boxes = [f"a = {a} and b = {b}" for a in range(4) for b in range(3)]
    texts = st.sampled_from([*boxes, "a > 1"])
    alive: dict[str, Interest] = {}
    neighbor: dict[str, Interest] = {}
    for step in range(data.draw(st.integers(0, 40))):
        if alive and data.draw(st.integers(0, 2)) == 0:
            key = data.draw(st.sampled_from(sorted(alive)))
            del alive[key]
            change = merging.remove(key)
        else:
            key = f"k{step}"
            alive[key] = parse_filter(data.draw(texts))
            change = merging.add(key, alive[key])
        assert neighbor.keys().isdisjoint(change.propagate)
        neighbor.update({told: merging.propagated[told] for told in change.propagate})
        for gone in change.withdraw:
            del neighbor[gone]
        merging.validate(alive)
        assert neighbor == merging.propagated
        for key, wanted in alive.items():
            representative = merging.representative(key)
            assert representative is not None
            assert neighbor[representative].covers(wanted)


@pytest.mark.parametrize("harm", ["_members", "_merger_of", "_propagated"])
def test_validate_finds_tables_that_disagree(harm: str) -> None:
    merging, _ = filled()
    merging.validate(points(COUNT))
    getattr(merging, harm).popitem()
    with pytest.raises(InvariantError):
        merging.validate(points(COUNT))
