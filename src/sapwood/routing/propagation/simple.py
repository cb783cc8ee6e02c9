"""Simple routing: every subscription goes to every router.

XSiena 2.3 (equations 2.14 to 2.21), Shen 1.5 ("flooding" of subscriptions).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sapwood.errors import InvariantError
from sapwood.routing.propagation.protocol import Change, Unconditional
from sapwood.routing.propagation.telling import How, Reason, Reasons
from sapwood.routing.tables import W


class Simple(Unconditional[W]):
    """The state of a link that is told of every candidate.

    #: propagated == candidates
    """

    __slots__ = ("_propagated",)

    def __init__(self) -> None:
        self._propagated: dict[str, W] = {}

    def start(self, candidates: Iterable[tuple[str, W]]) -> Change:
        """Propagate all."""
        self._propagated = dict(candidates)
        return Change(propagate=tuple(self._propagated))

    def add(self, key: str, filter: W) -> Change:
        """Propagate it."""
        self._propagated[key] = filter
        return Change(propagate=(key,))

    def remove(self, key: str) -> Change:
        """Withdraw it."""
        del self._propagated[key]
        return Change(withdraw=(key,))

    def representative(self, key: str) -> str | None:
        """Each stands for itself."""
        return key

    def why(self, key: str) -> Reasons:
        """The neighbor was told of it."""
        told: Any = self._propagated[key]
        return (Reason(How.ITSELF, key, told),)

    @property
    def propagated(self) -> Mapping[str, W]:
        """All candidates."""
        return self._propagated

    def validate(self, candidates: Mapping[str, W]) -> None:
        """Check that the neighbor has been told of all."""
        if self._propagated != candidates:
            raise InvariantError("simple routing has not propagated exactly the candidates")
