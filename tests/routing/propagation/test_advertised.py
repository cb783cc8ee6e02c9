"""Advertised links: candidates wait until an advertisement from there intersects them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.propagation.advertised import Advertised
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.protocol import Change, Propagation
from sapwood.routing.propagation.reasons import Reason, Treatment
from sapwood.routing.propagation.simple import Simple

INNER: tuple[Callable[[], Propagation[Interest]], ...] = (Simple, Identity, Covering)

WIDE = parse_filter("price > 10")
NARROW = parse_filter("price > 30")
RED = parse_filter("color = 'red'")
CHEAP = parse_filter("price < 5")
ANYTHING = parse_filter("true")

FILTERS = st.sampled_from(
    [
        parse_filter(text)
        for text in ("true", "a > 0", "a > 1", "a = 1", "a > 1 and b = 1", "b = 1", "not exists a")
    ]
)


def test_advertised_lets_candidates_wait_until_an_advertisement_intersects_them() -> None:
    link = Advertised(Simple)
    assert link.start([("w", WIDE), ("r", RED)]) == Change()
    assert link.add("n", NARROW) == Change()
    assert link.representative("w") is None
    assert link.advertised("A", parse_filter("price > 0 and not exists color")) == Change(
        propagate=("w", "n")
    )
    assert link.add("c", CHEAP) == Change(propagate=("c",))
    assert link.representative("r") is None
    assert link.representative("c") == "c"
    assert link.why("r") == (Reason(Treatment.UNWANTED),)
    assert link.why("c") == (Reason(Treatment.ITSELF, "c", CHEAP),)
    assert set(link.propagated) == {"w", "n", "c"}
    assert link.remove("r") == Change()
    assert link.remove("c") == Change(withdraw=("c",))


def test_advertised_lets_the_inner_strategy_choose_among_all_that_an_advertisement_frees() -> None:
    link = Advertised(Covering)
    link.start([("n", NARROW), ("w", WIDE)])
    assert link.advertised("A", ANYTHING) == Change(propagate=("w",))
    assert link.representative("n") == "w"


def test_advertised_withdraws_what_only_the_withdrawn_advertisement_wanted() -> None:
    link = Advertised(Simple)
    link.start([("w", WIDE), ("r", RED)])
    link.advertised("A", ANYTHING)
    link.advertised("B", RED)
    assert link.unadvertised("A") == Change(), "B may publish what is red and dear"
    assert link.unadvertised("B") == Change(withdraw=("w", "r"))
    assert link.advertised("C", NARROW) == Change(propagate=("w", "r"))
    link.validate({"w": WIDE, "r": RED})


def test_advertised_propagates_the_heir_when_the_one_that_stood_for_it_waits_again() -> None:
    link = Advertised(Covering)
    link.start([("both", parse_filter("a > 0 or b > 0")), ("b", parse_filter("b > 1"))])
    link.advertised("A", parse_filter("a > 0 and not exists b"))
    link.advertised("B", parse_filter("b > 0 and not exists a"))
    assert link.representative("b") == "both"
    assert link.unadvertised("A") == Change(), "both is wanted because of B as well"
    assert link.unadvertised("B") == Change(withdraw=("both",))
    assert link.representative("b") is None


def test_advertised_says_nothing_only_to_take_it_back() -> None:
    link = Advertised(Covering)
    chain = {"w": WIDE, "m": parse_filter("price > 20"), "n": NARROW}
    link.start(chain.items())
    link.advertised("A", WIDE)
    assert link.unadvertised("A") == Change(withdraw=("w",))
    link.validate(chain)


@pytest.mark.parametrize("make", INNER)
@given(data=st.data())
def test_advertised_keeps_every_wanted_candidate_covered_and_tells_of_no_other(
    make: Callable[[], Propagation[Interest]], data: st.DataObject
) -> None:
    link = Advertised(make)
    alive: dict[str, Filter] = {f"e{i}": f for i, f in enumerate(data.draw(st.lists(FILTERS)))}
    heard: dict[str, Filter] = {}
    neighbor: set[str] = set()
    link.start(alive.items())

    def replay(change: Change) -> None:
        assert neighbor.isdisjoint(change.propagate)
        neighbor.update(change.propagate)
        assert neighbor.issuperset(change.withdraw)
        neighbor.difference_update(change.withdraw)
        assert neighbor == set(link.propagated)

    for step in range(data.draw(st.integers(0, 12))):
        act = data.draw(st.sampled_from(("add", "remove", "advertise", "unadvertise")))
        if act == "add":
            alive[f"s{step}"] = data.draw(FILTERS)
            replay(link.add(f"s{step}", alive[f"s{step}"]))
        elif act == "remove" and alive:
            key = data.draw(st.sampled_from(sorted(alive)))
            del alive[key]
            replay(link.remove(key))
        elif act == "unadvertise" and heard:
            key = data.draw(st.sampled_from(sorted(heard)))
            del heard[key]
            replay(link.unadvertised(key))
        else:
            heard[f"a{step}"] = data.draw(FILTERS)
            replay(link.advertised(f"a{step}", heard[f"a{step}"]))
        link.validate(alive)
        for key, wanted in alive.items():
            representative = link.representative(key)
            if any(wanted.intersects(one) for one in heard.values()):
                assert representative is not None
                assert link.propagated[representative].covers(wanted)
            else:
                assert representative is None
                assert key not in neighbor
    for key in list(heard):
        replay(link.unadvertised(key))
    assert neighbor == set()


def test_advertised_validate_notices_what_is_wanted_wrongly() -> None:
    link = Advertised(Simple)
    link.start([("w", WIDE)])
    link.validate({"w": WIDE})
    with pytest.raises(InvariantError, match="exactly the candidates"):
        link.validate({"w": WIDE, "r": RED})
    link.advertisements["A"] = WIDE
    with pytest.raises(InvariantError, match="wanted that an advertisement intersects"):
        link.validate({"w": WIDE})
    link.advertised("A", WIDE)
    link.validate({"w": WIDE})
    link.advertisements["A"] = CHEAP
    link.advertisements["B"] = WIDE
    with pytest.raises(InvariantError, match="because of A, which is apart"):
        link.validate({"w": WIDE})
    del link.advertisements["A"]
    with pytest.raises(InvariantError, match="because of A, which is gone"):
        link.validate({"w": WIDE})


def test_advertised_makes_an_inner_strategy_for_each_link() -> None:
    make = partial(Advertised, Simple)
    one, other = make(), make()
    one.start([("w", WIDE)])
    other.start([("w", WIDE)])
    one.advertised("A", WIDE)
    assert set(one.propagated) == {"w"}
    assert set(other.propagated) == set()
