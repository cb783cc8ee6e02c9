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
    killed = [fault for fault in faults[0] if fault.kind in {"kill broker", "kill at point"}]
    assert len(killed) == kills
    assert sum(fault.point is not None for fault in killed) == kills // 2
    assert all((fault.point is None) == (fault.kind != "kill at point") for fault in faults[0])
    ends: dict[int, float] = {}
    for fault in faults[0]:
        if fault.kind in {"kill broker", "kill at point", "stop broker", "fill disk"}:
            assert fault.at_s >= ends.get(fault.victim, 0.0)
            ends[fault.victim] = fault.at_s + fault.lasts_s
