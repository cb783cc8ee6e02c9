"""Bounds of records whose attributes have several values, the elements of arrays."""

from __future__ import annotations

from typing import Final

RECORD_ROWS_MAX: Final = 1024
"""Rows of one record whose attributes have several values: the product of the numbers of values
that filters read. Matching a row takes some microseconds. A record with more rows is compared with
each filter instead: so no record is refused, and the work grows with the filters and no product."""
