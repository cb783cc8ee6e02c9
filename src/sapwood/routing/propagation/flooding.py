"""No propagation: publications are flooded, so no router needs remote subscriptions.

XSiena 2.2 (event flooding). Cheapest for subscriptions, dearest for publications.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sapwood.routing.propagation.protocol import NO_CHANGE, Change, Unconditional
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import W


class Flooding(Unconditional[W]):
    """The state of a link on which nothing is propagated."""

    __slots__ = ()

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:  # noqa: ARG002
        """Propagate nothing."""
        return NO_CHANGE

    def add(self, key: str, filter: W) -> Change:  # noqa: ARG002
        """Propagate nothing."""
        return NO_CHANGE

    def remove(self, key: str) -> Change:  # noqa: ARG002
        """Withdraw nothing."""
        return NO_CHANGE

    def representative(self, key: str) -> str | None:  # noqa: ARG002
        """`None`: a candidate needs no representative."""
        return None

    def why(self, key: str) -> Reasons:  # noqa: ARG002
        """One reason: nothing is propagated."""
        return (Reason(Treatment.NOWHERE),)

    @property
    def is_gradual(self) -> bool:
        """False: there is nothing to send."""
        return False

    @property
    def propagated(self) -> Mapping[str, W]:
        """Empty."""
        return MappingProxyType({})

    def validate(self, candidates: Mapping[str, W]) -> None:  # noqa: ARG002
        """Do nothing: there is no state to be wrong."""
        return
