"""Conjunctions joined by their ranks: as if all had been written and ranked together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.joining import joined, kept
from sapwood.matching.columnar.ranking import Domains, RankedRows, rank
from sapwood.matching.columnar.rows import RowWriter
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import Made, made, shown
from tests.matching.columnar.unranking import unranked
from tests.strategies import filters

WIDE = [parse_filter(text) for text in ("a > 1 or a < 3", "a <= 3 and a <> 2", "a > 'k'", "true")]
LARGE = [parse_filter(f"a >= {2**53 + at} or a < {2**53 + 2 * at}") for at in range(3)]


def written(whole: Made, filters: list[tuple[int, Filter]], attributes: int) -> RankedRows:
    """Some filters, ranked alone."""
    writer = RowWriter(whole.attributes, whole.predicates)
    for slot, one in filters:
        writer.add(slot, one)
    rows = writer.rows()
    return RankedRows(rows.outline, rank(rows, attributes))


def same_domains(one: RankedRows, other: RankedRows) -> bool:
    """True if two have the same constants in the same places."""

    def told(domains: Domains) -> list[object]:
        return [np.asarray(column).tolist() for column in domains]

    return told(one.ranked.domains) == told(other.ranked.domains)


@settings(max_examples=examples(60), deadline=None)
@given(
    wanted=st.lists(filters(), max_size=8),
    cuts=st.tuples(st.integers(0, 8), st.integers(0, 8)),
    removed=st.sets(st.integers(0, 7)),
)
@example(wanted=WIDE, cuts=(1, 2), removed=set())
@example(wanted=WIDE, cuts=(2, 3), removed={0, 2})
@example(wanted=LARGE, cuts=(1, 2), removed={1})
def test_joined_segments_are_what_is_left_of_them_written_together(
    wanted: list[Filter], cuts: tuple[int, int], removed: set[int]
) -> None:
    whole = made(wanted)
    numbered = list(enumerate(wanted))
    bounds = (0, *sorted(cuts), 8)
    parts = []
    for first, last in pairwise(bounds):
        # Each knows as many attributes as there were by then.
        writer = RowWriter(whole.attributes, whole.predicates)
        for slot, one in numbered[first:last]:
            writer.add(slot, one)
        rows = writer.rows()
        segment = build(rows, int(rows.attribute.max(initial=-1)) + 1, plain, whole.patterns())
        for slot in sorted(removed & set(range(first, min(last, len(wanted))))):
            segment.remove(slot, plain)
        parts.append(segment.ranked_rows())
    together = joined(parts, len(whole.attributes))
    left = [(slot, one) for slot, one in numbered if slot not in removed]
    alone = written(whole, left, len(whole.attributes))
    assert same_domains(together, alone)
    assert shown(unranked(together)) == shown(unranked(alone))


def test_ranks_move_as_in_the_worked_example() -> None:
    whole = made(["a = 1"])
    numbered = list(enumerate(map(parse_filter, ["a <> 3 and a <> 7", "a in (3, 7)", "a = 5"])))
    parts = [written(whole, numbered[:2], 1), written(whole, numbered[2:], 1)]
    assert parts[0].ranked.low.tolist() == [4, 6, 8, 5, 7]
    assert parts[0].ranked.high.tolist() == [4, 6, 8, 5, 7]
    together = joined(parts, 1)
    assert together.ranked.domains.numbers.tolist() == [3, 5, 7]
    assert together.ranked.low.tolist() == [4, 6, 10, 5, 9, 7]
    assert together.ranked.high.tolist() == [4, 8, 10, 5, 9, 7]


@settings(deadline=None)
@given(wanted=st.lists(filters(), min_size=1, max_size=6), data=st.data())
def test_kept_rows_are_those_of_the_mask(wanted: list[Filter], data: st.DataObject) -> None:
    whole = made(wanted)
    size = len(whole.rows.slot)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), np.bool_)
    writer = RowWriter(whole.attributes, whole.predicates)
    for number, conjunction in enumerate(whole.conjunctions):
        if mask[number]:
            writer.add(int(whole.rows.slot[number]), Filter((conjunction,)))
    every = RankedRows(whole.rows.outline, rank(whole.rows, len(whole.attributes)))
    assert shown(unranked(kept(every, mask))) == shown(writer.rows())
