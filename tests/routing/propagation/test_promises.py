"""Of advertisements the maximal ones travel, whatever comes, goes and breaks in whatever order.

What covers what is judged here by what is accepted, publication by publication: nothing is asked of
`covers`, which is what routers ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import MERGING_PASS_MIN
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientSubscribe,
    ClientUnadvertise,
    DetachClient,
)
from sapwood.routing.messages import Advertise, Unadvertise
from sapwood.routing.propagation.promises import maximal_promises
from sapwood.routing.propagation.protocol import Change
from sapwood.routing.tables import CLIENTS
from tests.examples import examples
from tests.routing.wiring import LINE, Wiring, core_of

FILTERS = tuple(
    map(
        parse_filter,
        ("true", "x > 1", "x > 2", "x > 2 and y = 1", "y = 1", "x = 0", "x > 1 or y = 1"),
    )
)
PATTERNS = tuple(map(parse_xpath, ("//b", "/a", "/a/b", "//a//b")))
PATHS = tuple(map(parse_advertisement, ("/a(/b)+", "/a/b", "/a/b|/a/b/b", "/*/b", "/a(/b|/c)+")))
CONTENTS: tuple[AdvertisedContent, ...] = (*FILTERS, *PATTERNS, *PATHS)

RECORDS = tuple(
    Publication("r", {name: value for name, value in (("x", x), ("y", y)) if value is not None})
    for x, y in product((None, 0, 1, 2, 3), (None, 0, 1))
)
DOCUMENTS = tuple(
    Publication("d", document=f"{'<' + '><'.join(path)}></{'></'.join(path[::-1])}>".encode())
    for length in (1, 2, 3, 4)
    for path in product("abc", repeat=length)
)

Accepted = tuple[int, frozenset[int]]
"""The kind of some content, and which of the publications above it accepts."""


def accepted(content: AdvertisedContent) -> Accepted:
    kind = 0 if content in FILTERS else 1 if content in PATTERNS else 2
    publications = RECORDS if kind == 0 else DOCUMENTS
    return kind, frozenset(n for n, one in enumerate(publications) if content.matches(one))


ACCEPTED: Mapping[AdvertisedContent, Accepted] = {one: accepted(one) for one in CONTENTS}


def maximal(contents: Iterable[AdvertisedContent]) -> list[Accepted]:
    """The sets that the maximal ones among some contents accept, each once."""
    sets = {ACCEPTED[one] for one in contents}
    return sorted(
        (one for one in sets if not any(one[0] == kind and one[1] < wide for kind, wide in sets)),
        key=repr,
    )


def sizes(contents: Iterable[AdvertisedContent]) -> list[Accepted]:
    """The set that each of some contents accepts."""
    return sorted((ACCEPTED[one] for one in contents), key=repr)


# One link -----------------------------------------------------------------------------------------


@given(
    early=st.lists(st.sampled_from(CONTENTS), max_size=6),
    steps=st.lists(
        st.one_of(
            st.lists(st.sampled_from(CONTENTS), min_size=1, max_size=3),
            st.lists(st.integers(0, 99), min_size=1, max_size=3),
        ),
        max_size=14,
    ),
)
@settings(max_examples=examples(300))
def test_a_link_is_told_of_exactly_the_maximal_and_of_each_once(
    early: list[AdvertisedContent], steps: list[list[AdvertisedContent] | list[int]]
) -> None:
    link = maximal_promises()
    there = {f"e{number}": one for number, one in enumerate(early)}
    told: dict[str, AdvertisedContent] = {}
    follow(link.propagated, told, link.start(there.items()), there)
    for number, step in enumerate(steps):
        fresh = [one for one in step if not isinstance(one, int)]
        gone = [sorted(there)[one % len(there)] for one in step if isinstance(one, int) and there]
        gone = list(dict.fromkeys(gone))
        named = [(f"s{number}.{place}", one) for place, one in enumerate(fresh)]
        there.update(named)
        for key in gone:
            del there[key]
        change = link.add_many(named) if fresh else link.remove_many(gone) if gone else Change()
        follow(link.propagated, told, change, there)
        link.validate(there)
        assert sizes(told.values()) == maximal(there.values())
        for key, one in there.items():
            found = link.representative(key)
            assert found is not None
            assert found in told
            assert ACCEPTED[told[found]][0] == ACCEPTED[one][0]
            assert ACCEPTED[told[found]][1] >= ACCEPTED[one][1]


def follow(
    propagated: Mapping[str, AdvertisedContent],
    told: dict[str, AdvertisedContent],
    change: Change,
    there: Mapping[str, AdvertisedContent],
) -> None:
    """A neighbor hears of a change: in between it knows what covers all that is there."""
    for key in change.propagate:
        assert key not in told
        told[key] = propagated[key]
    knows = sizes(told.values())
    for one in map(ACCEPTED.__getitem__, there.values()):
        assert any(kind == one[0] and wide >= one[1] for kind, wide in knows)
    for key in change.withdraw:
        del told[key]


def test_the_first_of_equal_ones_is_told_and_its_heir_before_it_goes() -> None:
    link = maximal_promises()
    assert link.add("a", FILTERS[1]) == Change(propagate=("a",))
    assert link.add("b", parse_filter("not x <= 1")) == Change()
    assert link.remove("a") == Change(propagate=("b",), withdraw=("a",))
    assert link.add("p", PATHS[1]) == Change(propagate=("p",))
    assert link.add("w", PATHS[0]) == Change(propagate=("w",), withdraw=("p",))
    assert link.representative("p") == "w"
    assert link.remove("w") == Change(propagate=("p",), withdraw=("w",))


# Overlays -----------------------------------------------------------------------------------------

TREE = (("r1", "r2"), ("r2", "r3"), ("r2", "r4"), ("r4", "r5"))
ROUTERS = tuple(f"r{number}" for number in range(1, 6))

PLACES = st.tuples(st.sampled_from(ROUTERS), st.integers(0, 1))
ACTS = st.one_of(
    st.tuples(st.just("advertise"), PLACES, st.integers(0, 2), st.sampled_from(CONTENTS)),
    st.tuples(st.just("advertise"), PLACES, st.integers(0, 2), st.sampled_from(FILTERS)),
    st.tuples(st.just("unadvertise"), PLACES, st.integers(0, 2), st.just(FILTERS[0])),
    st.tuples(st.just("leave"), PLACES, st.just(0), st.just(FILTERS[0])),
    st.tuples(st.just("steps"), PLACES, st.integers(1, 12), st.just(FILTERS[0])),
)
BREAKS = st.tuples(st.just("break"), PLACES, st.integers(0, 3), st.just(FILTERS[0]))
Act = tuple[str, tuple[str, int], int, AdvertisedContent]


class Overlay(Wiring):
    """Five routers on a tree, whose clients advertise; one at each router subscribes to much."""

    def __init__(self, *, subscribes: bool = True, protocol: str = "advertisement") -> None:
        super().__init__(protocol, TREE)
        self.up = set(TREE)
        for router in ROUTERS:
            for client in ("c0", "c1", "s"):
                self.attach(router, client)
            wanted: tuple[Interest, ...] = (*FILTERS[2:5], *PATTERNS[:2]) if subscribes else ()
            for number, one in enumerate(wanted):
                self.give(router, ClientSubscribe("s", f"s{number}", one))

    def do(self, act: Act) -> None:
        what, (router, client), number, content = act
        name = f"c{client}"
        match what:
            case "advertise":
                self.give(router, ClientAdvertise(name, f"a{number}", content))
            case "unadvertise":
                self.give(router, ClientUnadvertise(name, f"a{number}"))
            case "leave":
                self.give(router, DetachClient(name))
                self.give(router, AttachClient(name))
            case "break":
                link = TREE[number]
                if link in self.up:
                    self.up.remove(link)
                    self.cut(*link)
                else:
                    self.up.add(link)
                    self.link(*link)
            case _:
                for _ in range(number):
                    self.step()

    def behind(self, sender: str, holder: str) -> set[str]:
        """The routers that `sender` reaches without `holder`."""
        reached, ahead = {sender, holder}, [sender]
        while ahead:
            here = ahead.pop()
            for a, b in self.up:
                for one, other in ((a, b), (b, a)):
                    if one == here and other not in reached:
                        reached.add(other)
                        ahead.append(other)
        return reached - {holder}

    def promised(self, routers: Iterable[str]) -> dict[str, AdvertisedContent]:
        """The advertisements of some routers' clients, by key."""
        return {
            key: content
            for router in routers
            for key, content in core_of(self.routers[router])
            .advertisements.entries.sides()[CLIENTS]
            .items()
        }

    def edges(self) -> list[tuple[str, str]]:
        return [edge for a, b in self.up for edge in ((a, b), (b, a))]


@given(acts=st.lists(st.one_of(ACTS, BREAKS), max_size=40))
@settings(max_examples=examples(40))
def test_at_rest_every_link_has_the_maximal_of_what_is_advertised_behind_it(
    acts: list[Act],
) -> None:
    overlay = Overlay()
    for act in acts:
        overlay.do(act)
    overlay.settle()
    for sender, holder in overlay.edges():
        here = core_of(overlay.routers[holder])
        held = here.advertisements.entries.sides()[sender]
        behind = overlay.promised(overlay.behind(sender, holder))
        assert held.items() <= behind.items()
        assert sizes(held.values()) == maximal(behind.values())
        # and subscriptions are where they would be if all had been told
        before = overlay.promised(overlay.behind(holder, sender)).values()
        wanted = {
            key: interest
            for router in overlay.behind(sender, holder)
            for key, interest in core_of(overlay.routers[router])
            .subscriptions.entries.sides()[CLIENTS]
            .items()
            if any(one.intersects(interest) for one in before)
        }
        assert here.subscriptions.entries.sides()[sender] == wanted
    assert all(router.table_sizes()["unconfirmed"] == 0 for router in overlay.routers.values())


@given(acts=st.lists(ACTS, max_size=30))
@settings(max_examples=examples(100))
def test_what_is_in_force_is_known_everywhere_or_something_that_covers_it(acts: list[Act]) -> None:
    """At every moment, and what it makes wanted is where it was advertised."""
    overlay = Overlay(subscribes=False)
    for router in ROUTERS[::2]:
        overlay.give(router, ClientSubscribe("s", "s", FILTERS[3]))
    overlay.settle()
    cores = {name: core_of(router) for name, router in overlay.routers.items()}
    for act in acts:
        moments = act[2] if act[0] == "steps" else 1
        for _ in range(moments):
            overlay.do((*act[:2], 1, act[3]) if act[0] == "steps" else act)
            for home, core in cores.items():
                for key, content in overlay.promised((home,)).items():
                    if core.advertisements.in_force(key):
                        assert_known(overlay, home, ACCEPTED[content])


def assert_known(overlay: Overlay, home: str, own: Accepted) -> None:
    """Every router has it or a cover from where it came; home has all that it has to answer."""
    for a, b in overlay.edges():
        if home in overlay.behind(a, b):
            held = core_of(overlay.routers[b]).advertisements.entries.sides()[a]
            covers = map(ACCEPTED.__getitem__, held.values())
            assert any(kind == own[0] and wide >= own[1] for kind, wide in covers)
    wanted = FILTERS[3]
    if own[0] == 0 and own[1] & ACCEPTED[wanted][1]:
        sides = core_of(overlay.routers[home]).subscriptions.entries.sides()
        homes = [home, *(a for a, b in overlay.edges() if b == home)]
        for side, name in zip([CLIENTS, *homes[1:]], homes, strict=True):
            others = {home} if side == CLIENTS else overlay.behind(name, home)
            if others & set(ROUTERS[::2]):
                assert wanted in sides[side].values()


def test_what_was_held_back_comes_out_before_what_held_it_back_is_withdrawn() -> None:
    overlay = Wiring("advertisement", LINE)
    overlay.attach("r3", "ann")
    overlay.subscribe("r3", "ann", "s", "x > 2")
    overlay.attach("r1", "bob")
    overlay.advertise("r1", "bob", "wide", "x > 0")
    overlay.advertise("r1", "bob", "narrow", "x > 1")
    assert overlay.sent(Advertise) == 2, "one over each link, and nothing of the narrow one"
    assert [r.table_sizes()["advertisements"] for r in overlay.routers.values()] == [2, 1, 1]
    overlay.log.clear()
    overlay.unadvertise("r1", "bob", "wide")
    messages = [type(e.message) for _, e in overlay.log if hasattr(e, "message")]
    told = [one for one in messages if one in (Advertise, Unadvertise)]
    assert told == [Advertise, Unadvertise] * 2
    assert len(messages) == len(told) + 2, "two confirmations, and no subscription moves"


@pytest.mark.parametrize(("protocol", "sent"), [("", 4), (":simple", 8)])
def test_an_equal_or_covered_advertisement_travels_only_where_all_do(
    protocol: str, sent: int
) -> None:
    overlay = Wiring(f"advertisement{protocol}", (*LINE, ("r3", "r4"), ("r4", "r5")))
    overlay.attach("r1", "bob")
    overlay.advertise("r1", "bob", "a", "x > 0")
    overlay.advertise("r1", "bob", "b", "x > 0")
    assert overlay.sent(Advertise) == sent
    assert len(overlay.answers()) == 2


def test_a_link_that_relies_on_nothing_is_noticed() -> None:
    link = maximal_promises()
    link.add("a", FILTERS[1])
    with pytest.raises(InvariantError, match="exactly the candidates"):
        link.validate({})


# Merged -------------------------------------------------------------------------------------------


@given(acts=st.lists(st.one_of(ACTS, BREAKS), max_size=40))
@settings(max_examples=examples(40))
def test_merged_at_rest_every_link_has_what_is_advertised_behind_it_and_no_more(
    acts: list[Act],
) -> None:
    overlay = Overlay(protocol="advertisement+covering+merging")
    for act in acts:
        overlay.do(act)
    overlay.settle()
    for sender, holder in overlay.edges():
        held = core_of(overlay.routers[holder]).advertisements.entries.sides()[sender].values()
        behind = overlay.promised(overlay.behind(sender, holder)).values()
        for publication in (*RECORDS, *DOCUMENTS):
            assert any(one.matches(publication) for one in held) is any(
                one.matches(publication) for one in behind
            )
        assert len(held) <= len(maximal(behind))
    assert all(router.table_sizes()["unconfirmed"] == 0 for router in overlay.routers.values())


def test_filters_that_are_advertised_travel_as_one_where_subscriptions_are_merged() -> None:
    overlay = Wiring("advertisement+covering+merging", LINE)
    overlay.attach("r1", "bob")
    for number in range(MERGING_PASS_MIN):
        overlay.advertise("r1", "bob", f"a{number}", f"x = {number}")
    [held] = core_of(overlay.routers["r3"]).advertisements.entries.sides()["r2"].values()
    whole = parse_filter(f"x in ({', '.join(map(str, range(MERGING_PASS_MIN)))})")
    assert held == whole
    assert len(overlay.answers()) == MERGING_PASS_MIN
    overlay.unadvertise("r1", "bob", "a0")
    told = core_of(overlay.routers["r3"]).advertisements.entries.sides()["r2"].values()
    assert not any(one.matches(Publication("p", {"x": 0})) for one in told)
    assert all(
        any(one.matches(Publication("p", {"x": x})) for one in told)
        for x in range(1, MERGING_PASS_MIN)
    )
