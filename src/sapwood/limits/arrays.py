"""Bounds of records whose attributes have several values, the elements of arrays."""

from __future__ import annotations

from typing import Final

RECORD_ROWS_MAX: Final = 1024
"""Rows of one record whose attributes have several values: the product of the numbers of values
that filters read. Matching a row takes some microseconds. Engines match a record with more as it
is (the columnar one from fewer rows on, where it has few filters): a step for each value and each
filter, whatever the product, and nothing is refused."""
