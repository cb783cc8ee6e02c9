"""What a world drives: a router, or something that stands in for one in a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol, TypeAlias

from sapwood.overlay.topology import Overlay
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Input
from sapwood.routing.tables import LinkSubscription


class Machine(Protocol):
    """What the world needs of a router."""

    @property
    def is_tree(self) -> bool:
        """Whether the links of all routers together have to form a tree."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        """Take one input; say what is to be done."""

    def next_deadline(self) -> float | None:
        """When to give it a `Tick`, by its own clock; `None` for never."""

    def behind(self) -> Collection[str]:
        """The neighbors that are not told everything yet: each is given `Drained` in time."""

    def validate(self) -> None:
        """Raise `InvariantError` if the state is one that must never be."""

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table."""

    def received(self) -> Iterable[LinkSubscription]:
        """The subscriptions that came over links."""


MakeRouter: TypeAlias = Callable[[str, int], Machine]
"""Makes the router of a name and an incarnation (0, and one more each time it starts again)."""


def keep(machines: Collection[Machine]) -> bool:
    """Whether all machines, and some, ask for a place where what they know survives a crash."""
    return bool(machines) and all(getattr(one, "persists", False) for one in machines)


def owe(machines: Mapping[str, Machine], overlay: Overlay) -> bool:
    """Whether something is kept for a neighbor, or for the router itself that is down."""
    if len(machines) < len(overlay.routers):
        return True
    return any(machine.table_sizes().get("owed", 0) for machine in machines.values())


def absent_from(machine: Machine) -> frozenset[str]:
    """The clients that a machine which was restored has, and that have not come back to it."""
    return frozenset(getattr(machine, "absent", ()))
