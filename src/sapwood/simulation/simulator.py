"""The simulator: carries out a scenario under a protocol, then lets the overlay come to rest.

Two phases, as in TigerBeetle's simulator: in the first the scenario does its worst (safety: nothing
wrong is delivered), in the second all faults end and whatever is still owed must be done
(liveness: nothing is stuck).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

from sapwood.errors import InputError
from sapwood.limits import SIMULATION_INPUTS_MAX
from sapwood.matching.engine_names import Engines
from sapwood.overlay.plane import Plane
from sapwood.overlay.topology import Overlay
from sapwood.routing.protocols import meshed
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.routing.upkeep.failover.choice import has_plans, is_planned, planned
from sapwood.routing.upkeep.failover.plans import plans_for
from sapwood.simulation.channels import SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.corruption import corrupt
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Delay, default_delay
from sapwood.simulation.scenario import (
    Action,
    AddLink,
    AddRouter,
    AdvertiseAction,
    Change,
    ChangeAction,
    CorruptTables,
    CrashRouter,
    DetachAction,
    FailLink,
    PublishAction,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Scenario,
    SubscribeAction,
    SubscribeManyAction,
    Suspect,
    UnadvertiseAction,
    UnsubscribeAction,
    UnsubscribeManyAction,
    Until,
    WaitAction,
)
from sapwood.simulation.tampering import StallTimer, Tamper
from sapwood.simulation.world import World


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a scenario: the world after it, at rest, and what was still owed then."""

    world: World
    stuck: tuple[str, ...]


def router_maker(
    protocol: str | Protocol, engine: str = "auto", documents: str = "auto"
) -> MakeRouter:
    """Makes real routers of a protocol, or the name of one, and of matching engines by name."""
    engines = Engines(engine, documents)
    chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
    return lambda name, incarnation: Router(name, chosen, engines, incarnation)


def protocol_on(
    overlay: Overlay,
    protocol: str | Protocol,
    backups: Mapping[str, Iterable[str]] | None = None,
) -> Protocol:
    """A protocol, or the one of a name, as it routes on this overlay: on one tree, or on many.

    Under `failover` routers hang where the tree from the first router has them, and have `backups`;
    plans that a protocol has are kept.
    """
    chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
    if is_planned(chosen) and not overlay.is_tree:
        raise InputError(
            f"protocol {chosen.name!r} routes on one tree, and the overlay has circles: take one "
            "without, or leave out failover"
        )
    if is_planned(chosen):
        known = has_plans(chosen) and backups is None
        return chosen if known else planned(chosen, plans_for(overlay, backups))
    if backups:
        raise InputError(f"protocol {chosen.name!r} knows no backups: put failover into its name")
    return chosen if overlay.is_tree else meshed(chosen)


def delay_for(protocol: Protocol, seed: int) -> Delay:
    """The delays between routers without a link; drawn places, where a protocol uses proximity."""
    return Plane(seed).delay_s if protocol.propagation.by_proximity else default_delay


def simulate(
    scenario: Scenario,
    make_router: MakeRouter,
    *,
    validate: bool = True,
    inputs_max: int = SIMULATION_INPUTS_MAX,
    calm_s: float = 0.0,
    traced: bool = True,
    delay: Delay = default_delay,
    progress: Callable[[int], None] = lambda _: None,
    attend: Callable[[World], None] = lambda _: None,
) -> Outcome:
    """Carry out a scenario, end all faults, and drain the overlay.

    With `validate` every router checks itself after every input (see `World`), else only when all
    is at rest. `progress` is called with the number of steps done after each one. Where routers
    have timers of very different periods, `calm_s` is the longest: see `World.quiet`. `delay` is
    the latency of links that routers request, and the delay that they measure to routers without a
    link. Unless `traced`, the world has no story and no digest. `attend` is called with the world
    when it begins.

    Raises `LimitError` after `inputs_max` inputs, and `InvariantError` for a wrong router.
    """
    world = World(
        scenario.topology,
        make_router,
        seed=scenario.seed,
        timing=scenario.timing,
        validate=validate,
        inputs_max=inputs_max,
        calm_s=calm_s,
        lossy=has_datagrams(scenario),
        traced=traced,
        delay=delay,
    )
    attend(world)
    for number, step in enumerate(scenario.steps, 1):
        if step.after_s:
            world.run_until(world.now + step.after_s)
        carry_out(world, step.action)
        progress(number)
    world.heal()
    _rest(world)
    world.validate()
    world.watch = None  # probes of the world are not watched
    return Outcome(world, world.history.unanswered())


def carry_out(world: World, action: Action) -> None:
    """Let one action of a scenario happen now, or wait for the state that it names."""
    match action:
        case SubscribeAction(name, wanted) | ChangeAction(name, wanted):
            world.subscribe(name, wanted)
        case UnsubscribeAction(name):
            world.unsubscribe(name)
        case SubscribeManyAction(client, subscriptions):
            world.subscribe_many(client, subscriptions)
        case UnsubscribeManyAction(client, ids):
            world.unsubscribe_many(client, ids)
        case AdvertiseAction(advertisement, promised):
            world.advertise(advertisement, promised)
        case UnadvertiseAction(advertisement):
            world.unadvertise(advertisement)
        case PublishAction(publisher, publication):
            world.publish(publisher, publication)
        case DetachAction(client):
            world.detach(client)
        case Suspect(router, neighbor, seconds):
            world.suspect(router, neighbor, seconds)
        case FailLink() | ReturnLink() | CrashRouter() | ReturnRouter():
            _fail_or_return(world, action)
        case SetChannel() | SetClock() | Tamper() | StallTimer() | CorruptTables():
            _set(world, action)
        case AddRouter() | RemoveRouter() | AddLink() | RemoveLink():
            _rewire(world, action)
        case WaitAction(until):
            _wait(world, until)
        case _:
            assert_never(action)


def _fail_or_return(
    world: World, fault: FailLink | ReturnLink | CrashRouter | ReturnRouter
) -> None:
    """Let a fault begin or end."""
    match fault:
        case FailLink(a, b):
            world.fail_link(a, b)
        case ReturnLink(a, b):
            world.return_link(a, b)
        case CrashRouter(router, tail, steps):
            world.crash_router(router, tail, steps)
        case ReturnRouter(router):
            world.return_router(router)
        case _:
            assert_never(fault)


def _set(world: World, change: SetChannel | SetClock | Tamper | StallTimer | CorruptTables) -> None:
    """Let a link or a clock be another one, or something happen to messages, timers or tables."""
    match change:
        case SetChannel():
            world.set_channel(change)
        case SetClock():
            world.set_clock(change)
        case Tamper() | StallTimer():
            world.tampering.begin(change, world.now)
            world.history.disturb(world.now)
        case CorruptTables():
            corrupt(world, change)
            world.history.disturb(world.now)
        case _:
            assert_never(change)


def check_loss(scenario: Scenario, protocol: Protocol) -> None:
    """See that links lose nothing where a protocol rests on that; raises `InputError`."""
    if not protocol.allows_loss and has_datagrams(scenario):
        raise InputError(
            f"scenario {scenario.name!r}: links lose, repeat or reorder messages, and protocol "
            f"{protocol.name!r} rests on links that do not: take one that allows loss "
            "(`sapwood protocols`), or leave `loss`, `duplication` and `reordering` out"
        )


def has_datagrams(scenario: Scenario) -> bool:
    """True if some link may ever lose, repeat or reorder messages; then all routers know it."""
    changes = (step.action for step in scenario.steps if isinstance(step.action, SetChannel))
    return any(change.channel.is_datagram for change in changes)


def _rewire(world: World, change: Change) -> None:
    """Let a router or a link come or go."""
    match change:
        case AddRouter(router):
            world.add_router(router)
        case RemoveRouter(router):
            world.remove_router(router)
        case AddLink(a, b, latency_s):
            world.standing_by.add(world, a, b, latency_s)
        case RemoveLink(a, b):
            world.standing_by.remove(a, b)
            is_rewired = world.tally.links_rewired > 0  # routers may do without this link
            if not is_rewired or b in world.topology.neighbors(a):
                world.remove_link(a, b)
        case _:
            assert_never(change)


def _rest(world: World) -> None:
    """Let everything happen, until links that stand by come up no more."""
    world.drain()
    while not world.history.is_mesh and world.standing_by.come_up(world):
        world.drain()


def _wait(world: World, until: Until) -> None:
    """Let time pass until the state is reached, or nothing can happen any more."""
    match until:
        case Until.QUIET:
            _rest(world)
        case Until.CONFIRMED:
            while world.history.owed and world.step():  # until all are answered, or it is quiet
                pass
        case _:
            assert_never(until)
