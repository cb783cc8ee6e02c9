"""Clusters keep their bound, and homes take whole clusters."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.similarity.clustering import clusters, homes_for

WEIGHTS = st.lists(st.integers(1, 9), min_size=1, max_size=20)


@given(WEIGHTS, st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19))), st.integers(1, 40))
def test_clusters_are_of_near_filters_within_the_bound(
    weights: list[int], pairs: list[tuple[int, int]], most: int
) -> None:
    count = len(weights)
    some = [(one % count, other % count) for one, other in pairs]
    found = clusters(weights, some, most)
    heavy: Counter[int] = Counter()
    for one, number in enumerate(found):
        assert number <= one
        assert found[number] == number
        heavy[number] += weights[one]
    sizes = Counter(found)
    assert all(heavy[one] <= most or sizes[one] == 1 for one in heavy)
    # Two near filters are apart only where they would weigh too much together.
    for one, other in some:
        if found[one] != found[other]:
            assert heavy[found[one]] + heavy[found[other]] > most
    # Who is near nobody is alone.
    linked = {end for one, other in some if one != other for end in (one, other)}
    assert all(sizes[found[one]] == 1 for one in range(count) if one not in linked)


@given(WEIGHTS, st.data())
def test_a_cluster_has_one_home(weights: list[int], data: st.DataObject) -> None:
    count = len(weights)
    cluster = [data.draw(st.integers(0, one)) for one in range(count)]
    cluster = [number if cluster[number] == number else one for one, number in enumerate(cluster)]
    names = ["r1", "r2", "r3"]
    homes = [{data.draw(st.sampled_from(names)): weight} for weight in weights]
    most = data.draw(st.integers(1, 2 * sum(weights)))
    found = homes_for(cluster, homes, names, most)
    loads: Counter[str] = Counter()
    for one, home in enumerate(found):
        assert home == found[cluster[one]]
        loads[home] += weights[one]
    heavy: Counter[int] = Counter()
    for one, number in enumerate(cluster):
        heavy[number] += weights[one]
    # Beyond the bound only as long as nobody had room: by one cluster above an even share at most.
    assert max(loads.values()) <= max(most, sum(weights) / len(names) + max(heavy.values()))


def test_a_cluster_stays_where_most_of_it_lives() -> None:
    homes = [{"r1": 3}, {"r2": 1}, {"r2": 2}]
    assert homes_for([0, 0, 2], homes, ["r1", "r2"], 6) == ["r1", "r1", "r2"]
    assert homes_for([0, 0, 2], homes, ["r1", "r2"], 3) == ["r1", "r1", "r2"]
    with pytest.raises(InputError, match="at least one home"):
        homes_for([0], [{}], [], 1)
