"""Flooding: everywhere but back, whatever the content."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.flood import flood
from tests.routing.test_tables import index


def test_flood_goes_everywhere_but_back() -> None:
    wanted, unwanted = Publication("p", {"a": 2}), Publication("q", {"a": 1})
    assert flood(unwanted, None, index()) == ([], ["r2", "r3"])
    assert flood(wanted, "r3", index()) == (["k1"], ["r2"])
