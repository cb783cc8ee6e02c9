"""Bounds of records whose attributes have several values, the elements of arrays."""

from __future__ import annotations

from typing import Final

RECORD_ROWS_MAX: Final = 1024
"""Rows of one record whose attributes have several values: the product of how many values each has
that a filter reads. Matching a row takes some microseconds. A record with more is compared with
each filter instead: so nothing is refused, and what it takes grows with the filters and no
product."""
