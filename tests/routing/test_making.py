"""The router that a protocol needs."""

from __future__ import annotations

from sapwood.routing.making import make_router
from sapwood.routing.membership.mesh.router import MeshRouter
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router


def test_make_router_makes_what_the_protocol_routes_on() -> None:
    assert isinstance(make_router("r1", "covering"), Router)
    assert isinstance(make_router("r1", "mesh+covering"), MeshRouter)
    made = make_router("r1", protocol("mesh+xroute"), incarnation=3)
    assert (made.name, made.protocol.name) == ("r1", "mesh+xroute")
