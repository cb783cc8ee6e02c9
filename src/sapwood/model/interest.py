"""Interests: filters of either language."""

from __future__ import annotations

from typing import TypeAlias

from sapwood.model.filter import Filter
from sapwood.model.patterns.pattern import TreePattern

Interest: TypeAlias = Filter | TreePattern
"""What a subscription asks for.

Both kinds have `matches` (a publication), `covers`, `intersects` (an interest), equality of normal
forms and a canonical text. Nothing is covered or intersected across kinds: a filter of records
looks at the record of a publication, a tree pattern at its document.
"""
