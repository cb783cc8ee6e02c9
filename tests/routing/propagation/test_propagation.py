"""The laws every propagation strategy keeps, and what each one saves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.protocol import Change, Propagation, net_change
from sapwood.routing.propagation.reasons import Reason, Treatment
from sapwood.routing.propagation.simple import Simple

TELLING: tuple[Callable[[], Propagation[Interest]], ...] = (
    Simple,
    Identity,
    Covering,
    *(lambda pair=pair: Covering(covering_manager(pair)) for pair in COVERINGS),
)
COVERING_PAIRS = pytest.mark.parametrize("pair", COVERINGS)

WIDE = parse_filter("price > 10")
MIDDLE = parse_filter("price > 20")
NARROW = parse_filter("price > 30")
APART = parse_filter("color = 'red'")

FILTERS = st.sampled_from(
    [
        parse_filter(text)
        for text in (
            "true",
            "a > 0",
            "a > 1",
            "a > 1 and b = 1",
            "a > 2",
            "b = 1",
            "b in (1, 2)",
            "a > 0 or b = 1",
            "not a > 1",
        )
    ]
)


def replay(neighbor: dict[str, Interest], change: Change, link: Propagation[Interest]) -> None:
    """Apply a change to the neighbor's filters, checking the promise between any two messages."""
    for key in change.propagate:
        assert key not in neighbor
        neighbor[key] = link.propagated[key]
    for key in change.withdraw:
        del neighbor[key]


@given(
    early=st.lists(FILTERS, max_size=4),
    steps=st.lists(st.tuples(st.booleans(), FILTERS, st.integers(0, 15)), max_size=12),
)
def test_propagation_keeps_every_candidate_covered_at_all_times(
    early: list[Filter], steps: list[tuple[bool, Filter, int]]
) -> None:
    """One history for all strategies, whatever finds the covers."""
    for make in TELLING:
        tell(make(), early, steps)


def tell(
    link: Propagation[Interest], early: list[Filter], steps: list[tuple[bool, Filter, int]]
) -> None:
    """Let candidates come and go, as each step says, or come where none is left to go."""
    alive: dict[str, Filter] = {f"early{i}": wanted for i, wanted in enumerate(early)}
    neighbor: dict[str, Interest] = {}
    replay(neighbor, link.start(alive.items()), link)
    for step, (goes, wanted, number) in enumerate(steps):
        if alive and goes:
            key = sorted(alive)[number % len(alive)]
            del alive[key]
            change = link.remove(key)
            for told in change.propagate:
                neighbor[told] = link.propagated[told]
            assert all(any(n.covers(f) for n in neighbor.values()) for f in alive.values())
            for gone in change.withdraw:
                del neighbor[gone]
        else:
            alive[f"s{step}"] = wanted
            replay(neighbor, link.add(f"s{step}", wanted), link)
        link.validate(alive)
        assert neighbor == dict(link.propagated)
        for key, candidate in alive.items():
            representative = link.representative(key)
            assert representative is not None
            assert neighbor[representative].covers(candidate)
            (reason,) = link.why(key)
            assert (reason.key, reason.filter) == (representative, neighbor[representative])
            assert (reason.how is Treatment.ITSELF) == (representative == key)
            assert (reason.filter == candidate) == (reason.how is not Treatment.COVERED)
    for key in list(alive):
        replay(neighbor, link.remove(key), link)
    assert neighbor == {}


def test_net_change_says_nothing_that_it_would_take_back() -> None:
    changes = (
        Change(propagate=("a",), withdraw=("w",)),
        Change(propagate=("b",), withdraw=("a", "v")),
        Change(propagate=("v",)),
    )
    assert net_change(changes) == Change(propagate=("b",), withdraw=("w",))
    assert net_change(()) == Change()


def test_flooding_tells_nothing() -> None:
    link = Flooding[Interest]()
    assert link.start([("a", WIDE)]) == link.add("b", WIDE) == link.remove("a") == Change()
    assert link.representative("b") is None
    assert link.why("b") == (Reason(Treatment.NOWHERE),)
    assert link.propagated == {}
    link.validate({"b": WIDE})


def test_identity_propagates_the_heir_before_it_withdraws_the_leader() -> None:
    link = Identity()
    assert link.start([("a", WIDE), ("b", WIDE), ("c", APART)]).propagate == ("a", "c")
    assert link.remove("a") == Change(propagate=("b",), withdraw=("a",))
    assert link.add("d", parse_filter("not price <= 10")) == Change()
    assert link.remove("d") == Change()
    assert link.remove("b") == Change(withdraw=("b",))


@COVERING_PAIRS
def test_covering_propagates_the_uncovered_most_general_before_it_withdraws(pair: str) -> None:
    link = Covering(covering_manager(pair))
    assert link.start([("w", WIDE)]).propagate == ("w",)
    assert link.add("n", NARROW) == link.add("m", MIDDLE) == Change()
    assert link.remove("w") == Change(propagate=("m",), withdraw=("w",))
    assert link.representative("n") == "m"


@COVERING_PAIRS
def test_covering_starts_with_the_most_general_whatever_the_order(pair: str) -> None:
    link = Covering(covering_manager(pair))
    said = link.start([("n", NARROW), ("m", MIDDLE), ("r", APART), ("w", WIDE)])
    assert said.propagate == ("r", "w")


def test_covering_starts_with_the_patterns_that_ask_for_the_fewest_levels() -> None:
    # By its text, which is longer, the cover would come last.
    covered, cover = parse_xpath("/a/b[@m='1']"), parse_xpath("//b[@m='1' or @m='2']")
    assert len(str(cover)) > len(str(covered))
    assert Covering[Interest]().start([("n", covered), ("w", cover)]).propagate == ("w",)


def test_covering_keeps_narrow_ones_that_were_propagated_before_the_wide_one() -> None:
    link = Covering[Interest]()
    link.start([("n", NARROW)])
    assert link.add("w", WIDE) == Change(propagate=("w",))
    assert set(link.propagated) == {"n", "w"}
    assert link.remove("n") == Change(withdraw=("n",))


def test_covering_propagates_the_next_of_equal_filters_before_it_withdraws() -> None:
    link = Covering[Interest]()
    link.start([("a", WIDE), ("b", WIDE), ("n", NARROW)])
    assert set(link.propagated) == {"a"}
    assert link.remove("a") == Change(propagate=("b",), withdraw=("a",))
    assert [link.representative(key) for key in ("b", "n")] == ["b", "b"]
    assert link.remove("n") == Change()
    assert link.remove("b") == Change(withdraw=("b",))
    link.validate({})


def test_covering_keeps_a_representative_while_it_is_propagated() -> None:
    """The cover that a subscription waits for must not change behind its confirmation's back."""
    link = Covering[Interest]()
    link.start([("w", WIDE)])
    link.add("m", MIDDLE)
    link.add("n", NARROW)
    link.add("e", parse_filter("true"))
    assert set(link.propagated) == {"w", "e"}
    assert link.remove("m") == Change()
    assert link.representative("n") == "w"
    assert link.remove("w") == Change(withdraw=("w",))
    assert link.representative("n") == "e"
    link.validate({"n": NARROW, "e": parse_filter("true")})


def test_covering_validate_finds_tables_that_disagree() -> None:
    def fresh() -> Covering[Interest]:
        link = Covering[Interest]()
        link.start([("w", WIDE), ("n", NARROW), ("r", APART)])
        return link

    truth = {"w": WIDE, "n": NARROW, "r": APART}
    fresh().validate(truth)
    link = fresh()
    link._members[WIDE] = {"w": None, "n": None}
    with pytest.raises(InvariantError, match="members are not"):
        link.validate(truth)
    link = fresh()
    link._manager.subscribe(MIDDLE)
    with pytest.raises(InvariantError, match="manager does not know"):
        link.validate(truth)
    link = fresh()
    link._leaders[WIDE] = "n"
    with pytest.raises(InvariantError, match="not exactly the leaders"):
        link.validate(truth)
    link = fresh()
    del link._leaders[APART], link._propagated["r"]
    with pytest.raises(InvariantError, match="leaders are not those"):
        link.validate(truth)
    for representative, complaint in (("n", "not propagated"), ("r", "does not cover")):
        link = fresh()
        link._representatives["n"] = representative
        with pytest.raises(InvariantError, match=complaint):
            link.validate(truth)
    link = fresh()
    link._dependents["w"].clear()
    with pytest.raises(InvariantError, match="dependents are not"):
        link.validate(truth)


@pytest.mark.parametrize("make", TELLING)
def test_propagation_validate_notices_candidates_it_does_not_know(
    make: Callable[[], Propagation[Interest]],
) -> None:
    link = make()
    link.start([("a", WIDE)])
    with pytest.raises(InvariantError):
        link.validate({"a": WIDE, "b": APART})
    with pytest.raises(InvariantError):
        link.validate({})
