"""Counts in words."""

from __future__ import annotations


def amount(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: `1 line`, `2,000 lines`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
