"""Bounds of documents beside those in `sapwood.limits` itself."""

from __future__ import annotations

from typing import Final

DOCUMENT_REMARKS_MAX: Final = 10_000
"""Comments and processing instructions of one document; can be raised. Each is a node, and parts
the text that it stands in: 100,000 in one text of a megabyte held up a broker for a quarter of a
second. As many as elements."""
