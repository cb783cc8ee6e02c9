"""What a world drives: a router, or something that stands in for one in a test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import fewest_links
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


@runtime_checkable
class _OnTrees(Protocol):
    """What says itself how the trees of a source are found."""

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """One for each way that publications take; see `sapwood.routing.membership.protocol`."""


def finds_of(machine: Machine) -> tuple[FindTree, ...]:
    """How trees are found: as the machine says, else the one with the fewest links, if any."""
    if isinstance(machine, _OnTrees):
        return machine.finds
    return () if machine.is_tree else (fewest_links,)


MakeRouter: TypeAlias = Callable[[str, int], Machine]
"""Makes the router of a name and an incarnation (0, and one more each time it starts again)."""
