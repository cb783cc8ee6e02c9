"""No propagation: publications are flooded, so no router needs to know of remote subscriptions.

XSiena 2.2 (event flooding). Cheapest for subscriptions, dearest for publications.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sapwood.routing.propagation.protocol import NOTHING_TO_SAY, Change, Unconditional
from sapwood.routing.propagation.telling import How, Reason, Reasons
from sapwood.routing.tables import W


class Flooding(Unconditional[W]):
    """The state of a link that is told nothing."""

    __slots__ = ()

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:  # noqa: ARG002
        """Say nothing."""
        return NOTHING_TO_SAY

    def add(self, key: str, filter: W) -> Change:  # noqa: ARG002
        """Say nothing."""
        return NOTHING_TO_SAY

    def remove(self, key: str) -> Change:  # noqa: ARG002
        """Say nothing."""
        return NOTHING_TO_SAY

    def representative(self, key: str) -> str | None:  # noqa: ARG002
        """Nothing stands for a candidate, and nothing needs to."""
        return None

    def why(self, key: str) -> Reasons:  # noqa: ARG002
        """Nothing is told."""
        return (Reason(How.NOWHERE),)

    @property
    def is_gradual(self) -> bool:
        """Nothing is told."""
        return False

    @property
    def propagated(self) -> Mapping[str, W]:
        """Nothing."""
        return MappingProxyType({})

    def validate(self, candidates: Mapping[str, W]) -> None:  # noqa: ARG002
        """There is no state to be wrong."""
        return
