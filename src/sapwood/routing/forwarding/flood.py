"""Send every publication over every link: XSiena 2.2, equation 2.13."""

from __future__ import annotations

from sapwood.model.publication import Publication
from sapwood.routing.tables import Tables


def flood(publication: Publication, arrival: str | None, tables: Tables) -> list[str]:  # noqa: ARG001
    """All neighbors but the one it came from; content is not looked at."""
    return [neighbor for neighbor in tables.received if neighbor != arrival]
