"""Tables that are compared on request: what is wrong is found, and nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.model.kept import content_of
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Compare, Input, Receive
from sapwood.routing.messages import Subscribe, UpkeepNote
from sapwood.routing.router import Router
from sapwood.routing.upkeep.protocol import Compared
from sapwood.routing.upkeep.stabilize import edges
from sapwood.routing.upkeep.stabilize.edges import Difference, difference
from sapwood.routing.upkeep.stabilize.monitor import Edge, Monitor
from sapwood.routing.upkeep.stabilize.notes import Correct, note_of
from sapwood.simulation.corruption import corrupt
from sapwood.simulation.history import AdvertisementName, SubscriptionName
from sapwood.simulation.scenario import CorruptTables
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.tampering import How, Tamper
from sapwood.simulation.vocabulary import draw_filter
from sapwood.simulation.world import World
from tests.simulation.helpers import subscribe

PROTOCOLS = (
    "simple",
    "identity",
    "covering",
    "covering+merging",
    "advertisement+covering",
    "covering+recover",
    "covering+leases",
    "covering+failover",
)
ANSWERED_S = 0.3
"""Two comparisons are done by then, and no lease has run out."""


def overlay(name: str, seed: int) -> World:
    """A random tree with clients, some time after they came."""
    draw = Random(seed)
    topology = parse_topology(f"random:{draw.randint(3, 6)}", draw.randrange)
    world = World(topology, router_maker(name), seed=seed, validate=False)
    for number in range(12):
        wanted = SubscriptionName(draw.choice(topology.routers), "ann", f"s{number}")
        world.subscribe(wanted, parse_filter(draw_filter(draw)))
    if name.startswith("advertisement"):
        for number in range(4):
            promise = AdvertisementName(draw.choice(topology.routers), "bob", f"a{number}")
            world.advertise(promise, parse_filter(draw_filter(draw)))
    world.run_until(2.0)
    return world


def compared(world: World, routers: Iterable[str] | None = None) -> dict[tuple[str, str], Compared]:
    """The results of comparisons that some routers are asked for, or all."""
    found: dict[tuple[str, str], Compared] = {}
    for name in world.topology.routers if routers is None else routers:
        world._feed(name, Compare())
        world.run_until(world.now + ANSWERED_S)
        found |= {(one.sender, one.holder): one for one in compared_now(world, name)}
    return found


Entry = tuple[str, str, str]


def entries(world: World, name: str, side: str, neighbor: str) -> set[Entry]:
    """The entries that a router was told by a neighbor, or has told it."""
    router = world.routers[name]
    assert isinstance(router, Router)
    return {
        (noun, one.key, str(content_of(one.content)))
        for noun, table in router.tables.items()
        for one in (table.sent_to if side == "told" else table.held_from)(neighbor)
    }


def differing(world: World) -> dict[tuple[str, str], int]:
    """The number of keys that differ on each edge, by looking at both tables at once."""
    pairs = [(link.a, link.b) for link in world.topology.links]
    return {
        (a, b): len(
            {one[:2] for one in entries(world, a, "told", b) ^ entries(world, b, "held", a)}
        )
        for a, b in (*pairs, *((b, a) for a, b in pairs))
    }


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.one_in(4)
def test_what_was_damaged_is_found_and_stays_as_it_is(name: str) -> None:
    for seed in range(2):
        world = overlay(name, seed)
        fine = compared(world)
        assert len(fine) == 2 * len(world.topology.links)
        assert all(one.rounds for one in fine.values())
        assert {one.wrong for one in fine.values()} == {0}
        assert sum(one.entries for one in fine.values()) > 0
        struck = max(world.topology.routers, key=lambda one: len(world.topology.neighbors(one)))
        corrupt(world, CorruptTables(struck, ("drop", "insert"), 0.5, seed))
        expected = differing(world)
        assert any(expected.values())
        assert {edge: one.wrong for edge, one in compared(world).items()} == expected
        assert differing(world) == expected
        assert world.tally.links_closed == 0


def line(name: str) -> World:
    world = World(parse_topology("line:2", lambda n: 0), router_maker(name), validate=False)
    for number in range(5):
        subscribe(world, "r1", f"s{number}", f"x > {number}")
    world.run_until(1.0)
    return world


def test_what_is_told_while_tables_are_compared_is_not_wrong() -> None:
    world = line("simple")
    for number in range(40):
        subscribe(world, "r1", f"t{number}", f"y > {number}")
        if number % 3 == 0:
            world._feed("r2", Compare())
        if number % 2:
            world.unsubscribe(SubscriptionName("r1", "ann", f"t{number}"))
        world.run_until(world.now + 0.004)
        assert {one.wrong for one in compared_now(world, "r2")} <= {0}
    world.run_until(world.now + ANSWERED_S)
    assert {one.wrong for one in compared_now(world, "r2")} == {0}


def compared_now(world: World, name: str) -> list[Compared]:
    router = world.routers[name]
    assert isinstance(router, Router)
    answer = router.compared()
    assert answer is not None
    return [*answer]


def test_a_link_that_is_down_or_lost_answers_leaves_the_edge_unanswered() -> None:
    world = line("simple")
    world.tampering.begin(Tamper(0.2, ("r1", "r2"), 1.0, How.DROP), world.now)
    assert {one.rounds for one in compared(world, ["r1"]).values()} == {0}
    assert {one.rounds for one in compared(world, ["r1"]).values()} == {1}
    world.fail_link("r1", "r2")
    world.run_until(world.now + 1.0)
    assert compared(world, ["r1"]) == {}
    world.return_link("r1", "r2")
    world.run_until(world.now + 1.0)
    assert {one.rounds for one in compared(world, ["r1"]).values()} == {1}


def test_what_recover_holds_back_is_not_compared_until_it_has_gone() -> None:
    world = line("covering+recover")
    world.fail_link("r1", "r2")
    world.run_until(world.now + 0.5)
    subscribe(world, "r1", "late", "z > 1")
    assert {one.rounds for one in compared(world, ["r1"]).values()} == {0}
    world.return_link("r1", "r2")
    world.run_until(world.now + 1.0)
    assert {(one.rounds, one.wrong) for one in compared(world, ["r1"]).values()} == {(1, 0)}


def test_what_neighbors_have_wrong_is_among_the_sizes_once_somebody_has_asked() -> None:
    world = line("covering")
    assert "wrong" not in world.routers["r1"].table_sizes()
    corrupt(world, CorruptTables("r2", ("drop",), 1.0, 1))
    compared(world, ["r2"])
    assert world.routers["r1"].table_sizes()["wrong"] > 0
    assert world.routers["r2"].table_sizes()["wrong"] == 0


def test_on_many_trees_there_is_nothing_to_compare() -> None:
    router = router_maker("mesh+covering")("r1", 0)
    assert isinstance(router, Router)
    router.handle(Compare(), 0.0)
    assert router.compared() is None


def test_notes_of_a_stranger_and_corrections_change_nothing() -> None:
    world = line("covering")
    router = world.routers["r2"]
    assert isinstance(router, Router)
    monitor = Monitor(router)
    correct = note_of(Correct(("sr1.0.1",)))
    assert monitor.heard(Receive("r1", correct)) == []
    assert monitor.heard(Receive("nobody", correct)) == []
    assert monitor.heard(Receive("r1", UpkeepNote(b"X"))) is None
    assert monitor.heard(Receive("r1", Subscribe("k", parse_filter("x > 1"), 1))) is None
    assert {(one.rounds, one.wrong) for one in monitor.compared() or ()} == {(0, 0)}


def test_what_was_only_on_its_way_the_first_time_is_not_wrong() -> None:
    world = line("simple")
    late = world.routers["r2"]
    handle = late.handle
    held: list[Receive] = []

    def slow(event: Input, now: float) -> list[Effect]:
        if isinstance(event, Receive) and isinstance(event.message, Subscribe):
            held.append(event)
            return []
        return handle(event, now)

    late.handle = slow  # type: ignore[method-assign]
    subscribe(world, "r1", "late", "x > 100")
    world.run_until(world.now + 0.1)
    world._feed("r1", Compare())
    world.run_until(world.now + 0.045)  # two questions of a first comparison, each way
    late.handle = handle  # type: ignore[method-assign]
    world._feed("r2", held[0])
    world.run_until(world.now + ANSWERED_S)
    assert [one.wrong for one in compared_now(world, "r1") if one.sender == "r1"] == [0]


# Planted bugs -----------------------------------------------------------------------------------


def never_looks_twice(patch: pytest.MonkeyPatch) -> None:
    """A key that differs in the first comparison is wrong."""
    before = Monitor._differs

    def differs(self: Monitor, neighbor: str, edge: Edge, found: Difference) -> list[Effect]:
        edge.suspects = frozenset((*found.missing, *found.surplus))
        return before(self, neighbor, edge, found)

    patch.setattr(Monitor, "_differs", differs)


def overlooks_what_is_too_much(patch: pytest.MonkeyPatch) -> None:
    """Only what a holder lacks is wrong."""
    patch.setattr(edges, "difference", lambda *it: difference(*it)._replace(surplus=()))


def looks_at_the_wrong_side(patch: pytest.MonkeyPatch) -> None:
    """The told entries are compared with told ones, not with those that are held."""
    patch.setattr(edges, "held", edges.sent)


def compares_numbers(patch: pytest.MonkeyPatch) -> None:
    """Statements that were numbered again by a later upkeep are said to be wrong."""
    patch.setattr(Monitor, "_entries", lambda self, look, one: look(self._router.tables, one))


def renumbered() -> None:
    world = line("simple")
    router = world.routers["r2"]
    assert isinstance(router, Router)
    router.tables["subscription"].renumber("r1", "r1.0.1", 99)
    assert {one.wrong for one in compared(world, ["r1"]).values()} == {0}


def damaged() -> None:
    test_what_was_damaged_is_found_and_stays_as_it_is("simple")


BUGS = (
    (never_looks_twice, test_what_was_only_on_its_way_the_first_time_is_not_wrong),
    (overlooks_what_is_too_much, damaged),
    (looks_at_the_wrong_side, damaged),
    (compares_numbers, renumbered),
)


@pytest.mark.parametrize(("bug", "check"), BUGS, ids=lambda it: it.__name__)
def test_a_planted_bug_is_found(
    bug: Callable[[pytest.MonkeyPatch], None],
    check: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if check is renumbered:
        check()
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        check()
