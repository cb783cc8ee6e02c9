"""Content forwarding: only where the publication is wanted, never back."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.every_hop import match_links
from tests.routing.test_tables import tables


def test_match_links_are_those_that_want_the_publication_but_the_arrival() -> None:
    wanted, unwanted = Publication("p", {"a": 2}), Publication("q", {"a": 1})
    assert match_links(wanted, None, tables()) == ["r2", "r3"]
    assert match_links(wanted, "r2", tables()) == ["r3"]
    assert match_links(unwanted, None, tables()) == []
