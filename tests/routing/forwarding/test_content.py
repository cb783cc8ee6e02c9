"""Content forwarding: only where the publication is wanted, never back."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.content import match_links
from tests.routing.test_tables import index


def test_match_links_are_those_that_want_the_publication_but_the_arrival() -> None:
    wanted, unwanted = Publication("p", {"a": 2}), Publication("q", {"a": 1})
    assert match_links(wanted, None, index()) == (["k1"], ["r2", "r3"])
    assert match_links(wanted, "r2", index()) == (["k1"], ["r3"])
    assert match_links(unwanted, None, index()) == ([], [])
