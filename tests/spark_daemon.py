"""The process from which Spark's Python workers are forked in tests, with all that they import.

Spark's own imports nothing: each worker spends two seconds of processor time on pandas, Arrow,
numba and our kernels, and looks for garbage among all that after every task (what is there when it
is forked is put aside here). A worker ends with each task that fails, which those of many tests do.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

LOADED: Final = (
    "pandas",
    "pyarrow",
    "pyspark.worker",
    "sapwood.pipeline.ingest.lines",
    "sapwood.pipeline.matching.workers",
    "tests.kernels_at_hand",
)


def main() -> None:
    """Load them, and do what Spark's own does."""
    for name in LOADED:
        import_module(name)
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
