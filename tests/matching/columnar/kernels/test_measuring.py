"""Counts by compiled code, against the plain twins."""

from __future__ import annotations

from contextlib import nullcontext

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.kernels import compiled
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import grids_everywhere, made, measured
from tests.strategies import filters, records


@settings(deadline=None)
@given(wanted=st.lists(filters(), max_size=8), asked=st.lists(records(), max_size=4))
def test_looked_up_and_touched_are_their_twins(wanted: list[Filter], asked: list[Record]) -> None:
    whole = made(wanted)
    for everywhere in (nullcontext(), grids_everywhere()):
        with everywhere:
            segment = whole.segment()
        assert measured(compiled, whole, segment, asked) == measured(plain, whole, segment, asked)
