"""Explanations hop by hop: they are what happened, for every pair of publication and filter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.routing.explaining import accounts, journeys
from sapwood.routing.propagation.reasons import Treatment
from sapwood.simulation.explaining import Explained, Passage, Witness
from sapwood.simulation.scenario import (
    Action,
    CrashRouter,
    FailLink,
    Scenario,
    subscribe_then_publish,
)
from sapwood.simulation.simulator import protocol_on, router_maker, simulate
from sapwood.simulation.world import World
from tests.examples import examples

TREES = (
    "covering",
    "maximal",
    "covering+merging:0.5",
    "advertisement+covering",
    "identity",
    "xroute",
    "flooding",
    "simple+bloom",
    "simple+reuse:always",
    "advertisement+identity",
    "advertisement+xroute",
)
MESHES = ("mesh+covering", "mesh+xroute", "redundant+covering")
ROUTERS = ("r0", "r1", "r2", "r3", "r4")
TEXTS = ("a > 0", "a > 1", "a > 1 and b = 1", "a > 1 and b = 2", "b = 1", "a = 3 or b = 2", "a < 0")
FILTERS = tuple(map(parse_filter, TEXTS))
RECORDS = ({"a": 1}, {"a": 2, "b": 1}, {"b": 2}, {"a": 3})


def tree(parents: Sequence[int]) -> Topology:
    """One on which each router hangs below an earlier one."""
    links = tuple(Link(ROUTERS[parent % n], ROUTERS[n]) for n, parent in enumerate(parents, 1))
    return Topology(ROUTERS, links)


def ring(parents: Sequence[int]) -> Graph:
    """A circle, and one link across."""
    around = [Link(a, b) for a, b in pairwise((*ROUTERS, ROUTERS[0]))]
    return Graph(ROUTERS, (*around, Link("r0", ROUTERS[2 + parents[0] % 2])))


PARENTS = st.lists(st.integers(0, 4), min_size=4, max_size=4)
PLACED = st.lists(
    st.tuples(st.sampled_from(FILTERS), st.sampled_from(ROUTERS)), min_size=1, max_size=8
)
HOMES = st.lists(st.sampled_from(ROUTERS), min_size=len(RECORDS), max_size=len(RECORDS))
LIMITS = st.lists(st.sampled_from(("a > 0", "a > 1", "b = 1", "true")), min_size=5, max_size=5)


def scenario_of(
    overlay: Overlay,
    placed: Sequence[tuple[Interest, str]],
    homes: Sequence[str],
    promised: Sequence[str] = (),
    faults: Sequence[tuple[float, Action]] = (),
) -> Scenario:
    """Subscriptions s0, s1, ... and publications p0, p1, ..., with homes, and who promises what."""
    subscriptions = [Subscription(f"s{n}", f, home) for n, (f, home) in enumerate(placed)]
    publications = [(Publication(f"p{n}", RECORDS[n]), home) for n, home in enumerate(homes)]
    promises = [("all", parse_filter(text), r) for text, r in zip(promised, ROUTERS, strict=False)]
    return subscribe_then_publish(
        "explained", overlay, subscriptions, publications, advertisements=promises, faults=faults
    )


def explained(scenario: Scenario, protocol: str) -> tuple[World, tuple[Explained, ...]]:
    """All pairs of a scenario, followed in one run."""
    subscriptions = {f"s{n}" for n in range(8)} & {
        one.action.name.id for one in scenario.steps if hasattr(one.action, "name")
    }
    pairs = product([f"p{n}" for n in range(len(RECORDS))], sorted(subscriptions))
    witness = Witness(scenario, pairs)
    chosen = protocol_on(scenario.topology, protocol)
    outcome = simulate(
        scenario,
        router_maker(chosen, "counting"),
        validate=False,
        traced=False,
        attend=witness.attend,
    )
    return outcome.world, witness.explained()


def came_to(world: World, found: Explained, path: tuple[str, ...]) -> str:
    """The last router of a path that the publication came to, by what crossed the links."""
    crossed = world.tally.crossings.get(found.publication, [])
    for here, there in pairwise(path):
        if (here, there) not in crossed:
            return here
    return path[-1]


def check(world: World, found: Explained) -> None:
    """One pair, without faults: what is said of it against what was seen."""
    publication = world.history.publications[found.publication].publication
    (epoch,) = world.history.subscriptions[found.subscription]
    matches = epoch.filter.matches(publication)
    assert found.match.matches == matches
    if found.refused is not None:
        assert not found.passages
        assert not found.delivered
        return
    assert found.passages
    assert found.delivered == matches
    for passage in found.passages:
        journey = passage.journey
        assert journey.delivered == matches
        assert journey.ended == passage.ended
        assert journey.ended == came_to(world, found, journey.path) or len(found.passages) > 1
        check_reasons(journey, publication)


def check_reasons(journey: journeys.Journey, publication: Publication) -> None:
    """Check that each filter that is named accepts what it is named for."""
    assert journey.standing is not None
    wanted = journey.standing.filter
    for hop in journey.hops:
        assert hop.link is journeys.Link.UP
        for one in hop.because:
            assert one.filter.matches(publication)
            assert one.filter.covers(wanted) or not one.stands
        for reason in hop.telling.reasons:
            assert reason.filter is None or reason.filter.covers(wanted)
        if hop.telling.is_own and hop.telling.reasons[0].how is Treatment.ITSELF:
            assert hop.telling.reasons[0].filter == wanted


@pytest.mark.parametrize("protocol", TREES)
@pytest.mark.one_in(3)
@settings(max_examples=examples(30))
@given(parents=PARENTS, placed=PLACED, homes=HOMES, promised=LIMITS)
def test_what_is_explained_on_a_tree_is_what_happened(
    protocol: str,
    parents: list[int],
    placed: list[tuple[Interest, str]],
    homes: list[str],
    promised: list[str],
) -> None:
    limits = promised if "advertisement" in protocol else ()
    world, found = explained(scenario_of(tree(parents), placed, homes, limits), protocol)
    assert len(found) == len(placed) * len(homes)
    for one in found:
        check(world, one)


@pytest.mark.parametrize("protocol", MESHES)
@pytest.mark.one_in(3)
@settings(max_examples=examples(10))
@given(parents=PARENTS, placed=PLACED, homes=HOMES)
def test_what_is_explained_on_circles_is_what_happened(
    protocol: str, parents: list[int], placed: list[tuple[Interest, str]], homes: list[str]
) -> None:
    world, found = explained(scenario_of(ring(parents), placed, homes), protocol)
    for one in found:
        check(world, one)
        assert len(one.passages) == 1 + protocol.startswith("redundant")


@settings(max_examples=examples(30))
@given(
    parents=PARENTS,
    placed=PLACED,
    homes=HOMES,
    failing=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=2),
    crash=st.tuples(st.integers(0, 40), st.sampled_from((None, *ROUTERS))),
)
def test_what_fails_is_where_it_is_said_to_have_ended(
    parents: list[int],
    placed: list[tuple[Interest, str]],
    homes: list[str],
    failing: list[tuple[int, int]],
    crash: tuple[int, str | None],
) -> None:
    overlay = tree(parents)
    faults: list[tuple[float, Action]] = [
        (at / 1000, FailLink(overlay.links[n].a, overlay.links[n].b)) for at, n in failing
    ]
    if crash[1] is not None:
        faults.append((crash[0] / 1000, CrashRouter(crash[1])))
    world, found = explained(scenario_of(overlay, placed, homes, (), faults), "covering")
    for one in found:
        assert one.sent == (one.publication in world.history.publications)
        for passage in one.passages:
            path, ended = passage.journey.path, passage.ended
            assert ended == came_to(world, one, path)
            # Tables may send what a link loses, and never less than what came.
            assert path.index(ended) <= path.index(passage.journey.ended)
            is_lost = path.index(ended) < path.index(passage.journey.ended)
            assert not is_lost or faults
            if one.match.matches and ended == path[-1]:
                assert one.delivered or crash[1] == path[-1]
            assert not one.delivered or passage.journey.delivered


def test_who_says_otherwise_than_routers_do_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(tree([0, 1, 2, 3]), [(FILTERS[0], "r4")], ["r0"] * 4)
    world, right = explained(scenario, "covering")
    for one in right:
        check(world, one)
    monkeypatch.setattr(accounts, "_routed", lambda *_: set())
    world, wrong = explained(scenario, "covering")
    matching = next(one for one in wrong if one.match.matches)
    with pytest.raises(AssertionError):
        check(world, matching)


def only(found: tuple[Explained, ...], publication: str, subscription: str) -> Passage:
    """The one way of a pair."""
    (passage,) = (
        passage
        for one in found
        if (one.publication, one.subscription.id) == (publication, subscription)
        for passage in one.passages
    )
    return passage


LINE = tree([0, 1, 2, 3])


def test_a_cover_that_holds_a_subscription_back_is_named() -> None:
    placed = [(FILTERS[0], "r3"), (FILTERS[2], "r4")]
    _, found = explained(scenario_of(LINE, placed, ["r0"] * 4), "covering")
    hops = only(found, "p1", "s1").journey.hops
    told = [hop.telling.reasons[0].how for hop in hops]
    assert told == [Treatment.ITSELF, Treatment.ITSELF, Treatment.COVERED, Treatment.ITSELF]
    assert [hop.telling.is_own for hop in hops] == [False, False, True, True]
    assert {one.filter for one in hops[0].because if one.stands} == {FILTERS[0]}
    assert found[0].names[hops[0].because[0].key] == "s0"


def test_a_link_over_which_nothing_was_advertised_is_where_a_subscription_waits() -> None:
    placed = [(parse_filter("a > 0 or b = 1"), "r4")]
    promised = ("b = 1", "true", "true", "true", "true")
    _, found = explained(scenario_of(LINE, placed, ["r1"] * 4, promised), "advertisement")
    assert only(found, "p0", "s0").journey.delivered
    unwanted = scenario_of(LINE, [(parse_filter("a < 0"), "r4")], ["r0"] * 4, ("a > 0",))
    _, found = explained(unwanted, "advertisement")
    last = only(found, "p1", "s0").journey.hops[-1]
    assert [one.how for one in last.telling.reasons] == [Treatment.UNWANTED]
    assert not last.telling.stands


def test_a_merger_lets_through_what_nobody_wants() -> None:
    placed = [(parse_filter(f"a >= {n} and a < {n + 1}"), "r4") for n in (0, 1, 3, 4) * 2]
    placed += [(parse_filter(f"b = {n}"), "r4") for n in range(8)]
    scenario = subscribe_then_publish(
        "merged",
        LINE,
        [Subscription(f"s{n}", f, home) for n, (f, home) in enumerate(placed)],
        [(Publication("p0", {"a": 1.5}), "r0"), (Publication("p1", {"b": 41}), "r0")],
    )
    witness = Witness(scenario, [("p0", "s1"), ("p0", "s2")])
    chosen = protocol_on(LINE, "covering+merging:0.5")
    simulate(scenario, router_maker(chosen, "counting"), traced=False, attend=witness.attend)
    one, other = witness.explained()
    assert one.delivered
    assert not other.delivered
    for found in (one, other):
        (passage,) = found.passages
        last = passage.journey.hops[-1]
        assert last.goes
        assert any(because.is_merger for because in last.because)
        assert passage.ended == "r4"


def test_what_is_not_there_is_refused() -> None:
    scenario = scenario_of(LINE, [(FILTERS[0], "r4")], ["r0"] * 4)
    with pytest.raises(InputError, match="no publication has the id 'p9'"):
        Witness(scenario, [("p9", "s0")])
    with pytest.raises(InputError, match="no subscription has the id 's9'"):
        Witness(scenario, [("p0", "s9")])


def test_protocols_that_route_by_ranges_are_refused() -> None:
    scenario = scenario_of(LINE, [(FILTERS[0], "r4")], ["r0"] * 4)
    witness = Witness(scenario, [("p0", "s0")])
    chosen = protocol_on(LINE, "irbr")
    with pytest.raises(InputError, match="without pastry"):
        simulate(scenario, router_maker(chosen, "counting"), attend=witness.attend)
