"""Routers that ask for the time: when a world gives them ticks, and when it is quiet with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import ClassVar

import pytest

from sapwood.errors import InvariantError, LimitError
from sapwood.limits import SIMULATION_CALM_ROUNDS
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input, LinkDown, LinkUp, Receive, Tick
from sapwood.routing.messages import Confirm
from sapwood.routing.tables import LinkSubscription
from sapwood.simulation import world as module
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.machine import Machine
from sapwood.simulation.scenario import Until, WaitAction
from sapwood.simulation.simulator import carry_out, router_maker
from sapwood.simulation.world import World
from tests.simulation.helpers import subscribe

LINE = Topology(("a", "b", "c"), (Link("a", "b", 0.1), Link("b", "c", 0.1)))
LONE = Topology(("a",), ())
MISSES = 3


class Beat(Confirm, frozen=True):
    """A sign of life."""

    periodic: ClassVar[bool] = True


class Clockwork:
    """A router that beats every second, and forgets who has not beaten for three."""

    def __init__(self, name: str, life: int = 0) -> None:
        self.name = name
        self.life = life
        self.deadline: float | None = None
        self.links: dict[str, None] = {}
        self.heard: dict[str, float] = {}
        self.taken: list[tuple[float, Input]] = []

    def handle(self, event: Input, now: float) -> list[Effect]:
        self.taken.append((now, event))
        match event:
            case LinkUp(neighbor):
                self.links[neighbor] = None
                self.deadline = now + 1 if self.deadline is None else self.deadline
            case LinkDown(neighbor):
                del self.links[neighbor]
            case Receive(neighbor, Beat()):
                self.heard[neighbor] = now
            case Tick():
                self.deadline = now + 1
                heard = self.heard.items()
                self.heard = {name: at for name, at in heard if now - at <= MISSES}
                return [Send(neighbor, Beat("", 0)) for neighbor in self.links]
        return []

    @property
    def is_tree(self) -> bool:
        return True

    def next_deadline(self) -> float | None:
        return self.deadline

    def behind(self) -> Collection[str]:
        return ()

    def validate(self) -> None:
        """All is well."""

    def table_sizes(self) -> dict[str, int]:
        return {"heard": len(self.heard)}

    def received(self) -> Iterable[LinkSubscription]:
        return ()

    @property
    def ticks(self) -> list[float]:
        return [now for now, event in self.taken if isinstance(event, Tick)]


class Lone(Clockwork):
    """A router whose first tick is due at 5, and that does not ask for another by itself."""

    def __init__(self, name: str, life: int = 0) -> None:
        super().__init__(name, life)
        self.deadline = 5.0

    def handle(self, event: Input, now: float) -> list[Effect]:
        self.taken.append((now, event))
        if isinstance(event, Tick):
            self.deadline = None
        return []


def clockworks(world: World) -> dict[str, Clockwork]:
    return {name: one for name, one in world.routers.items() if isinstance(one, Clockwork)}


def test_a_router_has_its_tick_at_the_time_it_asks_for() -> None:
    world = World(LONE, Lone)
    world.run_until(4.9)
    assert clockworks(world)["a"].ticks == []
    world.run_until(9.0)
    assert clockworks(world)["a"].ticks == [5.0]
    assert world.now == 9.0
    assert world.tally.ticks == 1
    assert list(world.trace.story) == ["5.0 a: tick => "]


@pytest.mark.parametrize(
    ("answer", "ticks"), [(7.0, [7.0]), (3.0, [3.0]), (None, []), (0.0, [1.0])]
)
def test_a_later_answer_supersedes_the_one_before(answer: float | None, ticks: list[float]) -> None:
    world = World(LONE, Lone)
    world.run_until(1.0)
    lone = clockworks(world)["a"]
    lone.deadline = answer
    subscribe(world, "a", "s", "true")
    world.run_until(9.0)
    assert lone.ticks == ticks


def test_what_arrives_at_the_time_of_a_tick_comes_first() -> None:
    class Answers(Clockwork):
        def handle(self, event: Input, now: float) -> list[Effect]:
            super().handle(event, now)
            if isinstance(event, LinkUp) and self.name == "a":
                return [Send("b", Confirm("", 0))]
            self.deadline = 0.1 if now < 0.1 else None
            return []

    world = World(LINE, Answers)
    world.run_until(1.0)
    kinds = [type(event) for now, event in clockworks(world)["b"].taken if now > 0]
    assert kinds == [Receive]
    assert clockworks(world)["c"].ticks == [0.1]


def test_a_crash_forgets_the_deadline_and_the_next_life_has_its_own() -> None:
    world = World(LONE, Lone)
    first = clockworks(world)["a"]
    world.crash_router("a")
    world.run_until(6.0)
    assert first.ticks == []
    world.return_router("a")
    world.run_until(8.0)
    second = clockworks(world)["a"]
    assert (second.life, second.ticks) == (1, [6.0])


def test_a_router_that_joins_has_its_ticks_until_it_leaves() -> None:
    world = World(LINE, Clockwork)
    world.run_until(5.5)
    world.add_router("d")
    world.add_link("c", "d")
    world.run_until(8.0)
    joined = clockworks(world)["d"]
    assert joined.ticks == [6.5, 7.5]
    world.remove_router("d")
    world.run_until(12.0)
    assert joined.ticks == [6.5, 7.5]
    world.drain()
    assert set(clockworks(world)["c"].heard) == {"b"}


def test_a_router_that_asks_for_the_same_tick_again_and_again_is_wrong() -> None:
    class Impatient(Lone):
        def handle(self, event: Input, now: float) -> list[Effect]:
            return []

    world = World(LONE, Impatient)
    with pytest.raises(InvariantError, match=r"a asks for a tick by 5\.0, when it has just had it"):
        world.run_until(6.0)


def test_heartbeats_for_ever_leave_the_world_quiet() -> None:
    world = World(LINE, Clockwork)
    assert not world.quiet
    world.drain()
    assert world.quiet
    assert not world.step()
    for one in clockworks(world).values():
        assert SIMULATION_CALM_ROUNDS <= len(one.ticks) <= SIMULATION_CALM_ROUNDS + 3
    ticks = world.tally.ticks
    world.run_until(world.now + 10)
    assert world.tally.ticks == ticks + 30
    assert world.quiet


def test_quiet_waits_for_what_only_time_brings_about() -> None:
    world = World(LINE, Clockwork)
    world.drain()
    assert set(clockworks(world)["b"].heard) == {"a", "c"}
    world.crash_router("c")
    assert not world.quiet
    world.drain()
    assert set(clockworks(world)["b"].heard) == {"a"}


def test_quiet_waits_for_timers_that_are_slower_than_ticks_are() -> None:
    quick, slow = World(LONE, Clockwork), World(LONE, Clockwork, calm_s=60.0)
    for world in (quick, slow):
        clockworks(world)["a"].deadline = 1.0
        subscribe(world, "a", "s", "true")
        world.drain()
    assert quick.now == SIMULATION_CALM_ROUNDS
    assert slow.now == 60.0


def test_outages_are_settled_only_when_ticks_change_nothing_either() -> None:
    world = World(LINE, Clockwork)
    world.drain()
    world.fail_link("a", "b")
    world.return_link("a", "b")
    world.run_until(world.now + 1)
    assert world.network.control_pending == 0
    assert world.history.settling
    world.drain()
    assert not world.history.settling


def test_timers_that_change_something_for_ever_end_as_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Restless(Clockwork):
        def table_sizes(self) -> dict[str, int]:
            return {"taken": len(self.taken)}

    monkeypatch.setattr(module, "SIMULATION_RESTLESS_TICKS_MAX", 20)
    with pytest.raises(LimitError, match="SIMULATION_RESTLESS_TICKS_MAX is 20"):
        World(LINE, Restless).drain()


def test_whoever_waits_for_answers_does_not_wait_for_ever() -> None:
    world = World(LINE, Clockwork)
    subscribe(world, "a", "s", "true")
    carry_out(world, WaitAction(Until.CONFIRMED))
    assert world.history.unanswered() == ("a/ann/s: true",)
    assert world.quiet


def test_a_clock_may_run_at_another_speed_than_the_world() -> None:
    world = World(LINE, Clockwork)
    world.set_clock(SetClock("b", 1_000_000))
    world.run_until(2.0)
    assert clockworks(world)["b"].ticks == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("protocol", ["covering", "mesh+covering"])
def test_routers_without_timers_ask_for_no_tick_and_take_one_calmly(protocol: str) -> None:
    make: Callable[[str, int], Machine] = router_maker(protocol)
    router = make("a", 0)
    assert router.next_deadline() is None
    assert router.handle(Tick(), 1.0) == []
    router.validate()


def test_a_subscription_that_is_renewed_for_ever_can_be_told_from_one_that_is_new() -> None:
    """Traffic that is marked as periodic does not keep the network busy; other traffic does."""

    class Chatty(Clockwork):
        def handle(self, event: Input, now: float) -> list[Effect]:
            effects = super().handle(event, now)
            if isinstance(event, Tick) and now < 20:
                return [Send(neighbor, Confirm("", 0)) for neighbor in self.links]
            return effects

    world = World(LINE, Chatty)
    world.drain()
    assert world.now >= 20 + SIMULATION_CALM_ROUNDS - 1
