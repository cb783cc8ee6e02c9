"""A few filters and publications with which an engine calls each of its compiled kernels once.

What is compiled depends on the types of the arguments alone, and each kernel is called with one
signature only: `tests/matching/test_exercises.py` has the conformance suites compile nothing more.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath

_FILTERS: Final = 128
"""Enough of one attribute for bitmaps (`columnar.bitmaps`)."""


def exercise_records() -> None:
    """Match, remove and fold in a columnar engine, and flatten a record."""
    from sapwood.matching.columnar import ColumnarEngine
    from sapwood.matching.columnar.flat_records import flattener_of
    from sapwood.matching.columnar.kernels.compiled import flatten_records
    from sapwood.matching.tables import Column, Kind, RecordTable

    engine = ColumnarEngine()
    for slot in range(_FILTERS):
        engine.add(slot, parse_filter(f"a > {slot} and b < {2 * slot}"))
    engine.match_slots([{"a": 1, "b": 0}] * _FILTERS)
    engine.fold()
    engine.match({"a": 5, "b": 1})
    engine.match_slots(RecordTable.of({"a": Column(Kind.INTEGER, np.arange(4))}, 4))
    engine.remove(0)
    engine.fold()
    flattener_of(flatten_records).flatten(b"\x80", np.zeros(1, np.int64), np.ones(1, np.int64))


def exercise_documents() -> None:
    """Match in a path automaton what needs a state, an equality and a condition."""
    from sapwood.matching.automaton import PathAutomatonEngine

    engine = PathAutomatonEngine()
    for slot, text in enumerate(("/a/b", "//b[@c = 'x']", "//a[b or d]/e[. > 1]")):
        engine.add(slot, parse_xpath(text))
    engine.match(b"<a><b c='x'/><e>2</e></a>")
