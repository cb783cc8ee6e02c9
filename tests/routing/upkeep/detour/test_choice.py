"""Protocols with detours: those that recover where links may form circles."""

from __future__ import annotations

import pytest

from sapwood.routing.protocols import meshed, protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.detour.detour import Detour


@pytest.mark.parametrize(
    ("name", "there"),
    [("mesh+covering+recover", True), ("covering+recover", False), ("mesh+covering", False)],
)
def test_links_are_gone_round_where_they_form_circles_and_routers_recover(
    name: str, *, there: bool
) -> None:
    assert isinstance(Router("r", name).upkeep, Detour) == there


def test_an_overlay_that_turns_out_to_have_circles_has_detours() -> None:
    made = meshed(protocol("covering+recover"))
    assert isinstance(Router("r", made).upkeep, Detour)
    assert made.name == "mesh+recover+covering" or "recover" in made.name
