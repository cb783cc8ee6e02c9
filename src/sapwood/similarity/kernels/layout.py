"""The layout of patterns in arrays while they are compared.

*Places* (`knowledge.Place`) and *steps* (`steps.Step`) have numbers; equal steps have one, and the
steps below a step have smaller ones. A *test* is a name that steps require, or `*`, of elements or
of attributes. The pattern `/a[b]//c` with the expansion a ─ (b, c) is, as one that is searched::

    step     test  deep  below           steps of the root, those below a step before it
    0  b     b     no    -               0 1 2
    1  c     c     yes   -
    2  a     a     no    0 1

and as one that is searched in::

    node     kids   number  probability  place
    0  ""    1      -       1            the document
    1  a     2 3    1       1            /a
    2  b     -      1       1            /a/b
    3  c     -      2       1            /a/c

Nodes lie level by level, so that kids of one node lie side by side, and those of one number too.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import TwoDimensional

U8: TypeAlias = npt.NDArray[np.uint8]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
U64: TypeAlias = npt.NDArray[np.uint64]
F64: TypeAlias = npt.NDArray[np.float64]
U8Table: TypeAlias = TwoDimensional[U8]
F64Table: TypeAlias = TwoDimensional[F64]
U64Table: TypeAlias = TwoDimensional[U64]

NONE = -1
"""No number: of a text that is not compared, of a name that is not tested."""


class PlaceArrays(NamedTuple):
    """The elements and attributes that can be below each place, with their shares.

    Kids of place p are `kids[starts[p] : starts[p + 1]]`, elements before the attributes, which
    begin at `attributes[p]`. Kids have larger numbers than their parents.
    """

    starts: I64
    attributes: I64
    kids: I32
    shares: F64
    depths: I32
    holds_text: U8


class StepArrays(NamedTuple):
    """Steps by number. `texts` are the numbers of the conditions on a text, `NONE` for nothing.

    `doubts` is the probability of a text that nothing is known of. `below[below_starts[s] : ...]`
    are the steps below step s. `names` are those of tests, `NONE` for `*` and attributes.
    """

    tests: I32
    deep: U8
    attributes: U8
    needs_text: U8
    texts: I32
    doubts: F64
    below_starts: I64
    below: I32
    names: I32


class SearchedArrays(NamedTuple):
    """Patterns that are looked for: `roots` of pattern p, and all `steps` of each, last the root.

    `chances` has a row for each step and a column for each place.
    """

    root_starts: I64
    step_starts: I64
    steps: I32
    chances: F64Table


class GivenArrays(NamedTuple):
    """An expansion that is looked into. `opposed` is the row of opposed tests of a node.

    `pairs[pair_starts[v] : ...]` are two of the kids of v each, in one number, that are opposed.
    """

    kid_starts: I64
    kid_ends: I64
    places: I32
    numbers: I32
    probabilities: F64
    texts: I32
    attributes: U8
    below: U64Table
    opposed: I32
    pair_starts: I64
    pairs: I64


class TableArrays(NamedTuple):
    """Tables that every comparison looks up.

    `accepted`, by test and place: whether the name passes. `excluded`, by test and row: whether a
    certain child excludes it. `texts`, by the known sets of a text and the conditions on it: the
    probability.
    """

    accepted: U8Table
    excluded: U8Table
    texts: F64Table


class Scratch(NamedTuple):
    """Room for one comparison: tables by step and node, a queue of them, ways to combine."""

    needed: U8Table
    weights: F64Table
    values: F64Table
    flags: U8Table
    queue_steps: I32
    queue_nodes: I32
    spots: I32
    ways: I64
    way_weights: F64
    sums: F64
