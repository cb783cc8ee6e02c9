"""The choice of a universe for a set of filters: the axes that distinguish most of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sapwood.covering.hull import ANY_VALUE, NUMBER, TEXT, hull_of
from sapwood.covering.published.sfc.axes import Axis, NumberAxis, TextAxis
from sapwood.covering.published.sfc.scales import ranks
from sapwood.covering.published.sfc.universe import Universe
from sapwood.limits import CURVE_DIMENSIONS_MAX
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number

FITTED_BITS: Final = 10
"""Bits of a coordinate of a fitted universe: a thousand cells keep two hulls apart in nearly all
cases, and the keys of three attributes still fit one 64-bit word."""


def fitted(filters: Iterable[Filter], bits: int = FITTED_BITS) -> Universe | None:
    """A universe whose axes are the attributes that most of the filters bound.

    Up to `limits.CURVE_DIMENSIONS_MAX` / 2 axes; among equally useful ones the order of names
    decides. The cells follow the distribution of the hulls' ends. `None` if no filter bounds any
    attribute.
    """
    numbers: defaultdict[str, list[Number]] = defaultdict(list)
    texts: defaultdict[str, list[str]] = defaultdict(list)
    #: (attribute, true for its texts) -> the number of filters that bound it
    uses: defaultdict[tuple[str, bool], int] = defaultdict(int)
    _, _, lowest, highest, _, first_text, no_end, _ = ANY_VALUE
    for hull in map(hull_of, filters):
        for attribute, kinds, low, high, _, text, text_end, _ in hull.sides:
            if kinds & NUMBER and (low, high) != (lowest, highest):
                uses[attribute, False] += 1
                numbers[attribute] += (end for end in (low, high) if not math.isinf(end))
            if kinds & TEXT and (text, text_end) != (first_text, no_end):
                uses[attribute, True] += 1
                texts[attribute] += (end for end in (text, text_end) if end is not None)
    chosen = sorted(uses, key=lambda use: (-uses[use], use))[: CURVE_DIMENSIONS_MAX // 2]
    axes: list[Axis] = []
    for attribute, is_text in chosen:
        if is_text:
            axes.append(TextAxis(attribute, ranks(texts[attribute], 1 << bits)))
        else:
            axes.append(NumberAxis(attribute, ranks(numbers[attribute], 1 << bits)))
    return Universe(tuple(axes), bits) if axes else None
