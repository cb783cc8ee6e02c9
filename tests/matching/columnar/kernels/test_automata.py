"""Automata, compiled, against their plain twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.columns import I64
from sapwood.matching.columnar.kernels import compiled
from sapwood.matching.columnar.literals import find_fail_states
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import made, measured
from tests.matching.columnar.patterned import pattern_texts


class Compared:
    """Both ways to find fail states, one after the other."""

    def __init__(self) -> None:
        self.states = 0
        self.fill_bitmaps = plain.fill_bitmaps

    def find_fail_states(self, parent: I64, label: I64, child: I64, fail: I64) -> None:
        twin = np.zeros_like(fail)
        compiled.find_fail_states(parent, label, child, twin)
        find_fail_states(parent, label, child, fail)
        assert fail.tolist() == twin.tolist()
        self.states += len(fail)


@settings(max_examples=examples(100))
@given(
    wanted=st.lists(st.text("aab", min_size=1, max_size=9), min_size=1, max_size=30),
    asked=st.lists(st.text("aabc", max_size=30) | pattern_texts(), min_size=1, max_size=5),
    names=st.lists(st.sampled_from(("a", "b", "lower(a)")), min_size=30, max_size=30),
)
def test_literals_lead_to_what_their_twins_lead_to(
    wanted: list[str], asked: list[str], names: list[str]
) -> None:
    texts = [f"{name} like '%{text}%'" for name, text in zip(names, wanted, strict=False)]
    whole, compared = made(texts), Compared()
    segment = whole.segment(compared)
    assert compared.states > 0
    records: list[Record] = [{"a": text, "b": text[1:] or 5} for text in asked]
    assert measured(compiled, whole, segment, records) == measured(plain, whole, segment, records)
    for at, record in enumerate(records):
        found = whole.found(compiled, segment, records[at : at + 1])
        slots = [slot for slot, one in enumerate(whole.conjunctions) if one.accepts(record)]
        assert sorted(found.slots.tolist()) == slots
