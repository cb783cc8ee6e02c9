"""The router that a protocol needs: for an overlay that is a tree, or for one with circles."""

from __future__ import annotations

from typing import TypeAlias

from sapwood.matching.choice import Engines
from sapwood.routing.membership.mesh.router import MeshRouter
from sapwood.routing.protocols import Protocol
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import DEFAULT_ENGINES, Router

AnyRouter: TypeAlias = Router | MeshRouter
"""Both are used alike."""


def make_router(
    name: str, protocol: str | Protocol, engines: Engines = DEFAULT_ENGINES, incarnation: int = 0
) -> AnyRouter:
    """A router of that protocol; see `Router` and `MeshRouter`."""
    chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
    kind = MeshRouter if chosen.meshed else Router
    return kind(name, chosen, engines, incarnation)
