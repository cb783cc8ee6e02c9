"""Links are given from outside and form a tree: every neighbor is one for every source."""

from __future__ import annotations

from sapwood.overlay.disjoint import FindTree
from sapwood.routing.core import RoutingCore


class Given(RoutingCore):
    """The core of a router whose links are all there is."""

    @property
    def is_tree(self) -> bool:
        """They have to be one: a circle is detected, and the link that closes it is closed."""
        return True

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """None: links are the tree."""
        return ()

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """All whose links are up, in the order in which they came up."""
        return tuple(self.subscriptions.entries.received)

    def tells_over(self) -> frozenset[str] | None:
        """All links are on the tree."""
        return None

    def next_deadline(self) -> float | None:
        """Never: links are given."""
        return None
