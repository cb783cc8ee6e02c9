"""Compiles all kernels, so that tests find them compiled.

Compiled code is kept beside the package (`__pycache__`), and one process compiles it while others
wait; this way nobody waits within a test. Users have `sapwood warm-up` for the same, which this
calls; the kernels of the space filling curves, which only comparisons use, are called here. Those
that tests call by themselves come in the same process, as they share functions with the sets.
"""

from __future__ import annotations

import sys
from typing import Final

from tests.matching.columnar.kernels.entries import LIBRARY

from sapwood import parse_filter
from sapwood.cli.warm_up import NAMES, kernel_sets, warm
from sapwood.covering.catalogue import COVERING_INDEXES
from sapwood.pipeline.spark.arrow_rows import uncollected

CURVES: Final = ("sfc-z", "sfc-hilbert", "sfc-z-cubes")

FILTERS: Final = 400
"""Enough for everything that begins to pay from some number of filters on."""


def main() -> int:
    """Have all kernels compiled; return the exit status."""
    with uncollected():  # also for the last ones, when there is much to look through
        for warmed in warm(kernel_sets(NAMES)):
            sys.stdout.write(f"{warmed.text()}\n")
        search_curves()
        if LIBRARY is not None:
            LIBRARY.load()
    return 0


def search_curves() -> None:
    """Look for covers along curves."""
    filters = [parse_filter(f"a between {-key} and {key}") for key in range(FILTERS)]
    for name in CURVES:
        index = COVERING_INDEXES[name].make()
        for key, wanted in enumerate(filters):
            index.add(key, wanted)
        index.cov(filters[0], 1)
        index.covered(filters[0])
        index.remove(0)


if __name__ == "__main__":
    sys.exit(main())
