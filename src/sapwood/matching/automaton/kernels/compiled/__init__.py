"""Kernels of the path automaton, compiled by numba and cached on disk.

Everything is a free function on arrays. The marks that a kernel keeps between documents are an
array of round numbers, so that nothing has to be cleared.

1. `bits.py`        sets of small numbers, one bit each.
2. `growth.py`      states are brought up to date with the trie's nodes.
3. `finding.py`     targets that a document's paths and equalities lead to.
4. `checking.py`    the candidates that satisfy their conditions.
5. `collecting.py`  the marked slots.
"""

from typing import Final

from sapwood.matching.automaton.kernels.compiled.checking import check_candidates
from sapwood.matching.automaton.kernels.compiled.collecting import collect, count
from sapwood.matching.automaton.kernels.compiled.finding import (
    find_candidates,
    group_elements,
    mark_plain,
)
from sapwood.matching.automaton.kernels.compiled.growth import join_nodes
from sapwood.matching.compiling.libraries import library

__all__ = [
    "check_candidates",
    "collect",
    "count",
    "find_candidates",
    "group_elements",
    "join_nodes",
    "mark_plain",
]

LIBRARY: Final = library(
    "documents",
    check_candidates,
    collect,
    count,
    find_candidates,
    group_elements,
    join_nodes,
    mark_plain,
)
