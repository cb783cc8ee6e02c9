"""The lookups by which an index finds a filter, as engines report them to explain its cost."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class LookupKind(StrEnum):
    """The kind of lookup that finds a conjunction, or a tree pattern."""

    HASH = "hash"
    """By one of finitely many values: one lookup leads to the conjunctions that require it."""
    INTERVAL = "interval"
    """By a range, among ranges sorted by an end."""
    PAIR = "pair"
    """By two constraints at once, in the bucket of a grid."""
    PRESENCE = "presence"
    """By any value of a type: every record that has one there is a candidate."""
    SUFFIX = "suffix"
    """By the end of a text, among endings sorted backwards."""
    LITERAL = "literal"
    """By a text within a text: one pass finds the texts of all conjunctions."""
    PATH = "path"
    """By a path of elements: all paths of all patterns are walked at once."""
    SCAN = "scan"
    """Every record is a candidate."""


class Lookup(NamedTuple):
    """One conjunction of a filter, or a tree pattern.

    `way` is the kind of lookup that finds it. `by` is what is looked up, in the filter language (an
    attribute, where only its presence is), and `compared` the predicates that candidates are
    compared with afterwards; `patterns` are those of them that search a text. `share` is the
    estimated share of records that are candidates; `None` where the filters allow no estimate.
    """

    text: str
    way: LookupKind
    by: tuple[str, ...]
    compared: tuple[str, ...]
    patterns: tuple[str, ...]
    share: float | None
