"""Counts of what subscriptions were met: for those that are looked at, as brute force counts."""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker import hits as hits_module
from sapwood.broker.hits import Hits, Watched
from sapwood.limits.console import CONSOLE_WATCHED_MAX
from sapwood.model.publication import Publication
from sapwood.routing.client_rows import ClientRows
from sapwood.routing.effects import Deliver, DeliverMany
from sapwood.routing.holders import NOBODY, Holders, KeyBatch

P = Publication("p", {"a": 1})


def watched(*keys: str) -> list[Watched]:
    return [Watched(key, f"client of {key}", f"id of {key}") for key in keys]


def held(slots: list[int], *, is_second: bool = False) -> tuple[Holders, dict[int, int]]:
    """Keys k0, k1 ... that hold these slots of a pool, and the first number of each slot."""
    holders, heads = Holders(), dict[int, int]()
    for at, slot in enumerate(slots):
        place = ~slot if is_second else slot
        heads[slot] = holders.take(f"k{at}", heads.get(slot, NOBODY), place)
    return holders, heads


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=9),
    st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=6),
    st.sets(st.integers(0, 12)),
    st.booleans(),
    st.booleans(),
)
def test_batches_count_as_brute_force_does(
    slots: list[int],
    rows: list[list[int]],
    looked_at: set[int],
    is_second: bool,
    are_numbers: bool,
) -> None:
    holders, first = held(slots, is_second=is_second)
    met = [[slot for slot in row if slot in first] for row in rows]
    expected = Counter(f"k{at}" for row in met for at, slot in enumerate(slots) if slot in row)
    if are_numbers:
        numbers = [[at for at, slot in enumerate(slots) if slot in row] for row in met]
        keys = KeyBatch.of(numbers, holders)
    else:
        offsets = np.cumsum([0, *map(len, met)]).astype(np.int64)
        found = np.array([slot for row in met for slot in row], np.int32)
        heads = array("i", [first.get(slot, NOBODY) for slot in range(5)])
        keys = KeyBatch(offsets, found, heads, holders)
    names = [f"k{at}" for at in sorted(looked_at)]
    hits = Hits()
    hits.watch(watched(*names), 1.0)
    effect = DeliverMany([P] * len(met), keys, ClientRows())
    hits.count_many(effect)
    hits.count_many(effect)
    counted = hits.watch(watched(*names), 9.0)
    assert counted == {name: (2 * expected[name], 1.0) for name in names}


def test_pools_of_both_languages_are_told_apart_in_one_batch() -> None:
    holders = Holders()
    record = holders.take("record", NOBODY, 0)
    pattern = holders.take("pattern", NOBODY, ~0)
    one = KeyBatch(np.array([0, 1, 1]), np.array([0], np.int32), array("i", [record]), holders)
    other = KeyBatch(
        np.array([0, 1, 2]), np.array([0, 0], np.int32), array("i", [pattern]), holders
    )
    hits = Hits()
    hits.watch(watched("record", "pattern"), 0.0)
    for keys in (one, other, one.beside(other)):
        hits.count_many(DeliverMany([P, P], keys, ClientRows()))
    counted = hits.watch(watched("record", "pattern"), 0.0)
    assert counted == {"record": (2, 0.0), "pattern": (4, 0.0)}


def test_single_deliveries_count_by_client_and_id() -> None:
    hits = Hits()
    hits.watch(watched("k1", "k2"), 0.0)
    hits.count(Deliver("client of k1", ("id of k1", "another"), P))
    hits.count(Deliver("client of k2", ("id of k1",), P))
    counted = hits.watch(watched("k1", "k2"), 5.0)
    assert counted == {"k1": (1, 0.0), "k2": (0, 0.0)}


def test_those_that_nobody_has_looked_at_for_longest_are_counted_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CONSOLE_WATCHED_MAX > 2
    monkeypatch.setattr(hits_module, "CONSOLE_WATCHED_MAX", 2)
    hits = Hits()
    hits.watch(watched("k1", "k2"), 1.0)
    hits.watch(watched("k1"), 2.0)
    hits.watch(watched("k3"), 3.0)
    for key in ("k1", "k2", "k3"):
        hits.count(Deliver(f"client of {key}", (f"id of {key}",), P))
    assert hits.watch(watched("k1", "k3"), 4.0) == {"k1": (1, 1.0), "k3": (1, 3.0)}
    assert hits.watch(watched("k2"), 5.0) == {"k2": (0, 5.0)}
