"""A content match at each hop: reverse path forwarding.

XSiena 2.3 (equation 2.15); Shen calls it Never-Reuse (2.3, algorithm 3.1), since no result of an
earlier hop is used.
"""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.sided_index import Matches, SidedIndex


def match_links(publication: Publication, arrival: str | None, index: SidedIndex) -> Matches:
    """To the neighbors that sent a subscription which accepts the publication."""
    return index.match(publication, arrival)
