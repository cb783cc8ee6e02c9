"""The key table: as a dictionary of lists would be, whatever keys have one hash."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.forwarding.reuse.kernels.layout import SHARED, UNKNOWN
from sapwood.routing.forwarding.reuse.key_table import KeyTable


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_it_finds_what_was_added_and_not_removed(steps: list[tuple[int, int]]) -> None:
    table, model = KeyTable(), dict[int, list[int]]()
    for hashed, place in steps:  # a step with what is there removes it
        there = model.setdefault(hashed, [])
        if place in there:
            table.remove(hashed, place)
            there.remove(place)
        else:
            table.add_many((hashed,), (place,))
            there.append(place)
        expected = [
            UNKNOWN if not places else SHARED if len(places) > 1 else places[0]
            for places in (model.get(one, []) for one in range(5))
        ]
        assert table.places(range(5)).tolist() == expected
        assert [table.is_shared(one) for one in range(5)] == [one == SHARED for one in expected]
        assert table.has_shared == (SHARED in expected)
        assert len(table) == sum(map(len, model.values()))
        known = {key: sorted(places) for key, places in table.items().items()}
        assert known == {key: sorted(places) for key, places in model.items() if places}


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), max_size=200), st.data())
def test_many_keys_are_put_in_as_one_by_one(hashes: list[int], data: st.DataObject) -> None:
    whole, single = KeyTable(), KeyTable()
    whole.add_many(hashes, range(len(hashes)))
    for place, hashed in enumerate(hashes):
        single.add_many((hashed,), (place,))
    model: dict[int, list[int]] = {}
    for place, hashed in enumerate(hashes):
        model.setdefault(hashed, []).append(place)
    for gone in (
        data.draw(st.lists(st.sampled_from(range(len(hashes))), unique=True)) if hashes else ()
    ):
        model[hashes[gone]].remove(gone)
        whole.remove(hashes[gone], gone)
        single.remove(hashes[gone], gone)
    left = {hashed: sorted(places) for hashed, places in model.items() if places}
    for table in (whole, single):
        assert {hashed: sorted(places) for hashed, places in table.items().items()} == left
        assert len(table) == sum(map(len, left.values()))
        found = dict(zip(model, table.places([*model]).tolist(), strict=True))
        for hashed, place in found.items():
            there = left.get(hashed, [])
            assert place == (SHARED if len(there) > 1 else there[0] if there else UNKNOWN)


def test_keys_that_come_and_go_take_no_more_rows() -> None:
    table = KeyTable()
    for turn in range(300):
        hashes = [turn << 8 | one for one in range(20)]
        table.add_many(hashes, range(20))
        assert table.places(hashes).tolist() == [*range(20)]
        for place, hashed in enumerate(hashes):
            table.remove(hashed, place)
    assert not len(table)
    assert len(table._places) <= 256
