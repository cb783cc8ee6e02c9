"""Tree patterns: what a subscription to XML documents accepts, as values."""

from sapwood.model.patterns.pattern import TreePattern

__all__ = ["TreePattern"]
