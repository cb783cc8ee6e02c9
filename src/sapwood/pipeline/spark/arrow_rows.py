"""Arrow batches as rows, and large sets of values built from them.

A worker that builds an index of some hundred thousand filters makes millions of small objects, none
of which is garbage. Measured, the garbage collector takes two thirds of the time to find that out.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    """The rows of all batches, with the values of all columns; one batch at a time is held."""
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave the collector off for the length of a block, and as it was afterwards.

    For blocks whose size is bounded: circles of garbage stay until the end of the block.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
