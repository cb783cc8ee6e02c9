"""A content match for each link at each hop: reverse path forwarding.

XSiena 2.3 (equation 2.15); Shen calls it Never-Reuse (2.3, algorithm 3.1), since no result of an
earlier hop is used.
"""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.tables import Tables


def match_links(publication: Publication, arrival: str | None, tables: Tables) -> list[str]:
    """The neighbors that sent a subscription which accepts the publication."""
    return [
        neighbor
        for neighbor, index in tables.received.items()
        if neighbor != arrival and index.match_any(publication)
    ]
