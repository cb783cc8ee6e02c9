"""Tree patterns: the filters of XML documents, as values."""

from sapwood.model.patterns.pattern import TreePattern

__all__ = ["TreePattern"]
