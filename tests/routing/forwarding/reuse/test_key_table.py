"""The key table: as a dictionary of lists would be, whatever keys have one hash."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.forwarding.reuse.key_table import SHARED, UNKNOWN, KeyTable


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_it_finds_what_was_added_and_not_removed(steps: list[tuple[int, int]]) -> None:
    table, model = KeyTable(), dict[int, list[int]]()
    for hashed, place in steps:  # a step with what is there removes it
        there = model.setdefault(hashed, [])
        if place in there:
            table.remove(hashed, place)
            there.remove(place)
        else:
            table.add(hashed, place)
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
