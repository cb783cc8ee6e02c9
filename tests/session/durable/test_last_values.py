"""The last publication for each value of a key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.model.publication import ManyValued, Value
from sapwood.session.durable import subscriptions as subscriptions_module
from sapwood.session.durable.catching_up import Arrival
from sapwood.session.durable.effects import Detach, Refuse
from sapwood.session.durable.last_values import LastValues, keys_of
from sapwood.session.durable.subscriptions import DurableSubscriptions, Making
from sapwood.wire.durable import DurableRequest
from tests.examples import examples

_VALUES = st.sampled_from([0, 1, 1.0, 1.5, True, False, "", "1", "a", 2**53, float(2**53)])


@given(_VALUES, _VALUES, _VALUES, _VALUES)
@settings(max_examples=examples(300))
def test_keys_are_equal_where_all_values_are(a: Value, b: Value, c: Value, d: Value) -> None:
    one, other = {"x": a, "y": b, "z": 1}, {"x": c, "y": d, "z": 2}
    are_equal = all(
        left == right and isinstance(left, bool) == isinstance(right, bool)
        for left, right in ((a, c), (b, d))
    )
    assert (keys_of(one, ("x", "y")) == keys_of(other, ("x", "y"))) == are_equal


def test_what_lacks_a_part_has_no_key() -> None:
    assert keys_of({"x": 1}, ("x", "y")) == ()
    assert len(keys_of({"x": 1}, ("x",))) == 1


def test_a_publication_has_a_key_for_each_choice_of_values() -> None:
    several = ManyValued({"x": (1, 2), "y": ("a", "b"), "z": 3})
    each = [{"x": x, "y": y} for x in (1, 2) for y in ("a", "b")]
    assert [*keys_of(several, ("x", "y"))] == [keys_of(one, ("x", "y"))[0] for one in each]
    assert keys_of(several, ("z",)) == keys_of({"z": 3}, ("z",))
    wide = ManyValued({name: tuple(range(RECORD_ROWS_MAX)) for name in "xy"})
    assert len(keys_of(wide, ("x",))) == RECORD_ROWS_MAX
    assert len(keys_of(wide, ("x", "y"))) == 1


def test_what_is_the_last_of_two_keys_comes_once() -> None:
    last = LastValues(("key",))
    last.take([Arrival(1, 1, 0.0, (b"a",)), Arrival(2, 1, 0.0, (b"a", b"b")), Arrival(3, 1)])
    assert len(last) == 2
    assert [one.place for one in last.take_all()] == [2]


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=12), st.integers(1, 4))
@settings(max_examples=examples(200))
def test_the_last_of_each_key_is_left_by_place(keys: list[str | None], at_once: int) -> None:
    arrivals = [
        Arrival(place, 1, 0.0, () if key is None else (key.encode(),))
        for place, key in enumerate(keys)
    ]
    last = LastValues(("key",))
    for first in range(0, len(arrivals), at_once):
        last.take(arrivals[first : first + at_once])
    expected = [
        one
        for one in arrivals
        if one.keys and all(one.keys != other.keys for other in arrivals[one.place + 1 :])
    ]
    assert len(last) == len(expected)
    assert last.take_all() == expected
    assert last.take_all() == []


def opened(last_by: tuple[str, ...]) -> DurableSubscriptions:
    """A subscription of a client's own, in force, that begins in a journal of ten."""
    hub = DurableSubscriptions()
    request = DurableRequest("s", "", "true", window=10, last_by=last_by)
    hub.open("c", request, Making(0, 10, "g"), 0.0)
    hub.confirmed("since c s")
    return hub


def places(hub: DurableSubscriptions) -> list[int]:
    return [one.place for effect in hub.settle(0.0) for one in getattr(effect, "parcels", ())]


def test_last_values_wait_until_all_is_looked_at_and_then_come_before_what_came_meanwhile() -> None:
    hub = opened(("x",))
    look = hub.looks()
    assert look is not None
    assert (look.first, look.before, look.last_by) == (0, 10, ("x",))
    hub.delivered("since c s", [Arrival(11, 1), Arrival(12, 1)], 0.0)
    found = [Arrival(place, 1, 0.0, (b"a",) if place % 2 else (b"b",)) for place in range(5)]
    hub.looked("since c s", found, 5, 0.0)
    assert places(hub) == []
    hub.looked("since c s", [Arrival(7, 1, 0.0, (b"a",)), Arrival(8, 1)], 10, 0.0)
    assert places(hub) == [4, 7, 11, 12]
    hub.validate()


def test_too_many_keys_end_the_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood.session.durable import last_values as module

    monkeypatch.setattr(module, "LAST_VALUES_MAX", 2)
    monkeypatch.setattr(subscriptions_module, "LAST_VALUES_MAX", 2)
    hub = opened(("x", "y"))
    found = [Arrival(n, 1, 0.0, (bytes([n]),)) for n in range(3)]
    effects = hub.looked("since c s", found, 3, 0.0)
    turned, detached = effects[0], effects[1]
    assert isinstance(turned, Refuse)
    assert "different x and y in the journal is more; the limit LAST_VALUES_MAX" in turned.reason
    assert isinstance(detached, Detach)
    assert hub.looks() is None
    hub.validate()
