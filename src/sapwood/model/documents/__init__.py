"""Tree patterns: what a subscription to XML documents accepts, as values."""

from sapwood.model.documents.pattern import TreePattern

__all__ = ["TreePattern"]
