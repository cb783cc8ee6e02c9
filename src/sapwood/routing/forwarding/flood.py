"""Send every publication over every link: XSiena 2.2, equation 2.13."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.sided_index import Matches, SidedIndex


def flood(publication: Publication, arrival: str | None, index: SidedIndex) -> Matches:
    """To all neighbors but the one it came from; content decides for clients alone."""
    onward = [neighbor for neighbor in index.neighbors if neighbor != arrival]
    return Matches(index.match_clients(publication), onward)
