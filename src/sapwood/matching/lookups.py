"""What an index finds a filter by: what engines say if they are asked what a filter costs."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Way(StrEnum):
    """How a conjunction, or a tree pattern, is found."""

    HASH = "hash"
    """By one of finitely many values: one lookup leads to those that ask for it."""
    INTERVAL = "interval"
    """By a range, among ranges sorted by an end."""
    PAIR = "pair"
    """By two constraints at once, in the bucket of a grid."""
    PRESENCE = "presence"
    """By any value of a type: every record that has one there is a candidate."""
    SUFFIX = "suffix"
    """By how a text ends, among endings sorted backwards."""
    LITERAL = "literal"
    """By a text within a text: all those asked for are found at once, in one pass."""
    PATH = "path"
    """By a path of elements: all paths of all patterns are walked at once."""
    SCAN = "scan"
    """Every record is a candidate."""


class Lookup(NamedTuple):
    """One conjunction of a filter, or a tree pattern.

    `by` is what is looked up, in the filter language (an attribute, where only its presence is),
    and `compared` what candidates are compared with afterwards; `patterns` of it take a search in a
    text each. `share` of the records are candidates, as far as the filters let one guess; `None`
    where they do not.
    """

    text: str
    way: Way
    by: tuple[str, ...]
    compared: tuple[str, ...]
    patterns: tuple[str, ...]
    share: float | None
