"""Access constraints: those that conjunctions are looked up through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar import access
from sapwood.matching.columnar.access import Buckets, Choice, Entries, Kind, Shape, Tables
from sapwood.matching.columnar.columns import KEY_MAX
from sapwood.matching.columnar.ranking import Ranked, rank
from sapwood.model.filter import Filter
from tests.matching.columnar.made import Made, made
from tests.strategies import filters


def chosen(whole: Made) -> tuple[Ranked, Shape, Choice]:
    ranked = rank(whole.rows, len(whole.attributes))
    shapes = access.shape(whole.rows.outline, ranked, len(whole.attributes))
    return ranked, shapes, access.choose(whole.rows.outline, shapes)


def clustered(whole: Made) -> tuple[Tables, Entries]:
    none = np.zeros(0, np.int64)
    return access.clusters(whole.rows.outline, *chosen(whole), Buckets(none, none, 0))


@pytest.mark.parametrize(
    ("text", "kind", "is_exact"),
    [
        ("a = 5", Kind.POINTS, True),
        ("a in (1, 'x', true)", Kind.POINTS, True),
        ("not a", Kind.POINTS, True),
        ("a > 5", Kind.FROM, True),
        ("a >= 'x'", Kind.FROM, True),
        ("exists a", Kind.FROM, True),
        ("a <> 5", Kind.FROM, False),
        ("a < 5", Kind.UP_TO, True),
        ("a <= 'x'", Kind.UP_TO, True),
        ("a < 1 or a = 2", Kind.UP_TO, False),
        ("a between 1 and 5", Kind.BAND, False),
        ("a in (true, false)", Kind.UP_TO, True),
        ("a like 'x%'", Kind.BAND, False),
        ("a like '%x%'", Kind.FROM, True),
        ("a is null", Kind.SCAN, False),
        ("a is null or a = 5", Kind.SCAN, False),
        ("true", Kind.SCAN, False),
    ],
)
def test_kind_of_lookup_of_a_single_constraint(text: str, kind: Kind, is_exact: bool) -> None:
    _, _, choice = chosen(made([text]))
    assert choice.kind.tolist() == [kind]
    assert choice.is_exact.tolist() == [is_exact]


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("a = 1 and b > 0", "a"),
        ("a = 1 and b = 1", "a"),
        ("b is null and a > 0", "a"),
        ("a between 40 and 41 and b > 0", "a"),
        ("a between 0 and 99 and b = 1", "b"),
        ("a in (1, 2, 3, 4, 5, 6, 7, 8, 9) and b between 50 and 51", "b"),
    ],
)
def test_most_selective_constraint_is_chosen(text: str, attribute: str) -> None:
    # Others make `a` and `b` attributes of a hundred values each, with a = 1 the rarer of a and b.
    others = [f"{name} = {value}" for name in "ab" for value in range(100)]
    others += [f"{name} > {value}" for name in "ab" for value in range(0, 100, 7)]
    others += ["b = 1"] * 20
    whole = made([text, *others])
    _, shapes, choice = chosen(whole)
    (name,) = (
        n for n, at in whole.attributes.items() if at == shapes.attribute[choice.constraint[0]]
    )
    assert name == attribute


def test_evaluation_begins_with_what_is_likely_to_fail_and_ends_with_what_is_implied() -> None:
    others = [f"a = {value}" for value in range(50)] + [f"b > {value}" for value in range(50)]
    whole = made(["a = 1 and b > 40 and c is null and d between 1 and 2", *others])
    _, shapes, choice = chosen(whole)
    order = access.evaluation_order(shapes, choice)[:4]
    names = {at: name for name, at in whole.attributes.items()}
    evaluated = [names[int(shapes.attribute[at])] for at in order]
    assert evaluated == ["b", "d", "c", "a"]


def test_ordered_clusters_are_apart_by_attribute_type_and_side() -> None:
    whole = made(["a > 1", "a > 2", "a < 3", "a > 'x'", "exists a", "b > 1"])
    tables, entries = clustered(whole)
    cluster = dict(zip(entries.conjunction.tolist(), entries.cluster.tolist(), strict=True))
    assert cluster[0] == cluster[1]
    assert len(set(cluster.values())) == 5
    assert tables.ordered.start.tolist() == [0, 4, 5]


def test_ordered_keys_put_the_satisfied_first() -> None:
    whole = made(["a > 1", "a > 2", "a < 1", "a < 2"])
    _, shapes, _ = chosen(whole)
    _, entries = clustered(whole)
    key = dict(zip(entries.conjunction.tolist(), entries.key.tolist(), strict=True))
    assert [key[at] for at in (0, 1)] == shapes.low[:2].tolist()
    assert [KEY_MAX - key[at] for at in (2, 3)] == shapes.high[2:].tolist()


def test_finite_set_lies_in_the_cluster_of_each_value() -> None:
    tables, entries = clustered(made(["a in (1, 2, 'x')", "a = 2"]))
    of_set = entries.cluster[entries.conjunction == 0]
    of_one = entries.cluster[entries.conjunction == 1]
    assert len(set(of_set.tolist())) == 3
    assert of_one[0] in of_set
    assert of_set.max() < tables.clusters - 1


def test_very_large_set_is_looked_up_as_a_range() -> None:
    def listed(count: int) -> str:
        return ", ".join(str(10 * number) for number in range(count))

    whole = made([f"a in ({listed(1024)})", f"a in ({listed(1025)})", "a > -5 and a < 99999"])
    _, _, choice = chosen(whole)
    _, entries = clustered(whole)
    assert choice.kind.tolist()[:2] == [Kind.POINTS, Kind.BAND]
    assert not choice.is_exact[1]
    assert np.bincount(entries.conjunction).tolist()[0] == 1024
    assert np.bincount(entries.conjunction).tolist()[1] == 1


@settings(deadline=None)
@given(ends=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 60)), min_size=1, max_size=99))
def test_range_lies_in_one_cluster_where_every_rank_that_it_holds_reaches_it(
    ends: list[tuple[int, int]],
) -> None:
    whole = made([f"a between {low} and {low + width}" for low, width in ends])
    _, shapes, _ = chosen(whole)
    tables, entries = clustered(whole)
    assert sorted(entries.conjunction.tolist()) == list(range(len(ends)))
    reach = tables.ordered.reach[entries.cluster]
    low, high = shapes.low[entries.conjunction], shapes.high[entries.conjunction]
    assert entries.key.tolist() == low.tolist()
    assert np.all(high - low <= reach)


def test_ranges_of_other_widths_lie_apart_where_they_are_many() -> None:
    narrow = [f"a between {low} and {low + 1}" for low in range(0, 400, 4)]
    wide = [f"a between {low} and {low + 200}" for low in range(0, 200, 2)]
    tables, entries = clustered(made([*narrow, *wide, "a between 0 and 30"]))
    sizes = np.bincount(entries.cluster).tolist()
    assert sorted(sizes) == [1, *sorted(sizes)[1:]] or min(sizes) >= 32
    assert len(tables.ordered.reach) >= 2
    assert tables.ordered.reach.min() * 8 < tables.ordered.reach.max()


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=6))
def test_every_conjunction_lies_somewhere_and_clusters_are_numbered_without_gaps(
    wanted: list[Filter],
) -> None:
    whole = made(wanted)
    tables, entries = clustered(whole)
    assert set(entries.conjunction.tolist()) == set(range(len(whole.rows.slot)))
    assert np.all((entries.cluster >= 0) & (entries.cluster < tables.clusters))
    pairs = list(zip(entries.cluster.tolist(), entries.conjunction.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=6))
def test_chances_are_shares(wanted: list[Filter]) -> None:
    _, shapes, _ = chosen(made(wanted))
    assert np.all((shapes.chance > 0) & (shapes.chance <= 1))
