"""Faults of a campaign: the same for the same seed, and one at a time for each broker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood_lab.chaos.plan import MESH, TREE, draw


def test_the_shapes_are_what_they_are_called() -> None:
    assert TREE.is_tree
    assert not MESH.is_tree


@given(seed=st.integers(0, 1000), kills=st.integers(1, 60))
def test_faults_follow_from_the_seed(seed: int, kills: int) -> None:
    faults = [
        draw(seed, TREE, kills=kills, seconds=30.0, publishers=2, subscribers=5) for _ in range(2)
    ]
    assert faults[0] == faults[1]
    assert sum(fault.kind == "kill broker" for fault in faults[0]) == kills
    ends: dict[int, float] = {}
    for fault in faults[0]:
        if fault.kind in {"kill broker", "stop broker", "fill disk"}:
            assert fault.at_s >= ends.get(fault.victim, 0.0)
            ends[fault.victim] = fault.at_s + fault.lasts_s
