"""Flooding: everywhere but back, whatever the content."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.flood import flood
from tests.routing.test_tables import tables


def test_flood_goes_everywhere_but_back() -> None:
    unwanted = Publication("q", {"a": 1})
    assert flood(unwanted, None, tables()) == ["r2", "r3"]
    assert flood(unwanted, "r3", tables()) == ["r2"]
