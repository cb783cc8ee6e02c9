"""Machines: a world drives routers, or stand-ins for routers in tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol, TypeAlias, cast

from sapwood.errors import InputError
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import fewest_links
from sapwood.overlay.topology import Overlay
from sapwood.routing.counting import Counting
from sapwood.routing.effects import Connect, Disconnect, Effect, Measure
from sapwood.routing.inputs import ClientInput, Input
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.tables import LinkSubscription
from sapwood.simulation.network import Network
from sapwood.simulation.tally import Tally


class Machine(Protocol):
    """The part of a router that a world uses."""

    @property
    def is_tree(self) -> bool:
        """True if the links of all routers together have to form a tree."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        """Take one input and return its effects."""

    def next_deadline(self) -> float | None:
        """The time of its next `Tick`, by its own clock; `None` for never."""

    def behind(self) -> Collection[str]:
        """The neighbors to which messages are still held back: each is given `Drained` in time."""

    def validate(self) -> None:
        """Raise `InvariantError` if the state is one that must never be."""

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table."""

    def received(self) -> Iterable[LinkSubscription]:
        """The subscriptions that came over links."""


def counted_by(machine: Machine) -> Mapping[str, int]:
    """The counters of a machine, if it has any: see `Router.counters`."""
    return cast("Counting", machine).counters() if hasattr(machine, "counters") else {}


class _OnTrees(Protocol):
    """A machine that states how the trees of a source are found."""

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """One for each way that publications take; see `sapwood.routing.membership.protocol`."""


def finds_of(machine: Machine) -> tuple[FindTree, ...]:
    """The functions that find trees: the machine's own, else the one of fewest links, if any."""
    if hasattr(machine, "finds"):  # and no `isinstance`, which takes long: every world calls this
        return cast("_OnTrees", machine).finds
    return () if machine.is_tree else (fewest_links,)


class _Remembering(Protocol):
    """A machine that holds statements of clients."""

    @property
    def membership(self) -> Membership:
        """The membership that holds them."""


class Rewirable(Protocol):
    """An overlay whose links may be changed; `routers` has those that run."""

    topology: Overlay
    network: Network
    routers: dict[str, Machine]
    tally: Tally

    def add_link(self, a: str, b: str, latency_s: float) -> None:
        """Link two routers."""

    def remove_link(self, a: str, b: str) -> None:
        """Take a link away."""


def rewire(
    world: Rewirable,
    router: str,
    effect: Connect | Disconnect | Measure,
    refused: Callable[[str], None],
) -> None:
    """Carry out a router's `Connect` or `Disconnect`; an impossible link is reported as refused.

    A `Measure` is answered by the network.
    """
    if isinstance(effect, Measure):
        is_there = effect.router in world.routers
        world.network.measure(router, effect.router, effect.address, answers=is_there)
        return
    neighbor = effect.neighbor
    is_linked = neighbor in world.topology.neighbors(router)
    if isinstance(effect, Disconnect) and is_linked:
        world.tally.links_rewired += 1
        world.remove_link(router, neighbor)
    elif isinstance(effect, Connect) and not is_linked and neighbor in world.topology:
        try:
            world.add_link(router, neighbor, world.network.delay(router, neighbor))
            world.tally.links_rewired += 1
        except InputError as error:
            refused(str(error))


MakeRouter: TypeAlias = Callable[[str, int], Machine]
"""Makes the router of a name and an incarnation (0, and one more each time it starts again)."""


def keep(machines: Collection[Machine]) -> bool:
    """True if all machines, at least one, need storage that survives a crash."""
    return bool(machines) and all(getattr(one, "persists", False) for one in machines)


def owe(machines: Mapping[str, Machine], overlay: Overlay) -> bool:
    """True if messages are kept for a neighbor, or a router itself is down."""
    if len(machines) < len(overlay.routers):
        return True
    return any(machine.table_sizes().get("owed", 0) for machine in machines.values())


def stated_at(machine: Machine) -> list[ClientInput]:
    """The statements of a machine's clients, where it has a membership."""
    if not hasattr(machine, "membership"):  # and no `isinstance`: see `finds_of`
        return []
    return list(cast("_Remembering", machine).membership.statements())


def absent_from(machine: Machine) -> frozenset[str]:
    """The clients that a machine which was restored has, and that have not come back to it."""
    return frozenset(getattr(machine, "absent", ()))
