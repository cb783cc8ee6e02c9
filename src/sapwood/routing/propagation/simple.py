"""Simple routing: every subscription goes to every router.

XSiena 2.3 (equations 2.14 to 2.21), Shen 1.5 ("flooding" of subscriptions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sapwood.errors import InvariantError
from sapwood.routing.propagation.protocol import Change, Unconditional
from sapwood.routing.propagation.reasons import Reason, Reasons, Treatment
from sapwood.routing.tables import W


class Simple(Unconditional[W]):
    """The state of a link on which every candidate is propagated.

    #: propagated == candidates
    """

    __slots__ = ("_propagated",)

    def __init__(self) -> None:
        self._propagated: dict[str, W] = {}

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Propagate all candidates."""
        self._propagated = dict(candidates)
        return Change(propagate=tuple(self._propagated))

    def add(self, key: str, filter: W) -> Change:
        """Add a candidate, and propagate it."""
        self._propagated[key] = filter
        return Change(propagate=(key,))

    def remove(self, key: str) -> Change:
        """Remove a candidate, and withdraw it."""
        del self._propagated[key]
        return Change(withdraw=(key,))

    def representative(self, key: str) -> str | None:
        """The candidate itself."""
        return key

    def why(self, key: str) -> Reasons:
        """The reason: the candidate itself was propagated."""
        told: Any = self._propagated[key]
        return (Reason(Treatment.ITSELF, key, told),)

    @property
    def propagated(self) -> Mapping[str, W]:
        """All candidates."""
        return self._propagated

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check that exactly the candidates are propagated."""
        if self._propagated != candidates:
            raise InvariantError("simple routing has not propagated exactly the candidates")
