"""A line of routers that becomes a circle, message by message."""

from __future__ import annotations

from collections.abc import Iterable

from sapwood.model.publication import Publication
from sapwood.routing.inputs import ClientPublish, Receive
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.tree_set import TreeSet
from tests.routing.wiring import Wiring

LINE = (("r1", "r2"), ("r2", "r3"))
SLOW = (("r2", "r3"),)
"""The way on which what r1 has published stays, while others go on."""


def mesh(overlay: Wiring, name: str) -> Mesh:
    membership = overlay.router(name).membership
    assert isinstance(membership, Mesh)
    return membership


def forest(overlay: Wiring, name: str) -> TreeSet:
    return mesh(overlay, name).forest


def wired(protocol: str, edges: Iterable[tuple[str, str]] = LINE) -> Wiring:
    """Routers that follow links at once, and have settled, with a client each."""
    overlay = Wiring(f"mesh:0+{protocol}", edges)
    overlay.settle()
    for name in overlay.routers:
        overlay.attach(name, "ann")
    return overlay


def arrive(overlay: Wiring, way: tuple[str, str]) -> None:
    """Let the first message on a way arrive."""
    sender, receiver = way
    overlay.give(receiver, Receive(sender, overlay.queues[way].popleft()))


def settle_but(overlay: Wiring, slow: Iterable[tuple[str, str]]) -> None:
    """Let everything arrive that does not come over some ways."""
    slow = set(slow)
    while ways := [way for way, queue in overlay.queues.items() if queue and way not in slow]:
        arrive(overlay, ways[0])


def publish(overlay: Wiring, name: str, id_: str, **attributes: object) -> None:
    """Publish; nothing arrives anywhere yet."""
    overlay.give(name, ClientPublish("ann", Publication(id_, attributes)))


def overtaken() -> Wiring:
    """r1 has published p on the way over r2, which is slow, and q on a new one straight to r3."""
    overlay = wired("covering")
    overlay.subscribe("r3", "ann", "s", "x > 1")
    publish(overlay, "r1", "p", x=2)
    settle_but(overlay, SLOW)
    overlay.link("r1", "r3")
    settle_but(overlay, SLOW)
    publish(overlay, "r1", "q", x=2)
    settle_but(overlay, SLOW)
    return overlay
