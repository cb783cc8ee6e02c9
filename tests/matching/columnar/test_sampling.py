"""Samples of matched records: the constraints that they satisfy, and the access that follows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar import access
from sapwood.matching.columnar.ranking import rank
from sapwood.matching.columnar.sampling import Sample, sampled
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar.made import made
from tests.strategies import filters, records


@settings(deadline=None)
@given(wanted=st.lists(filters(patterns=False), max_size=5), asked=st.lists(records(), max_size=6))
def test_accepted_counts_the_records_that_satisfy_each_constraint(
    wanted: list[Filter], asked: list[Record]
) -> None:
    whole = made(wanted)
    ranked = rank(whole.rows, len(whole.attributes))
    counts = sampled(Sample(asked, whole.attributes), ranked.domains).accepted(
        whole.rows.outline, ranked
    )
    expected = [
        sum(constraint.accepts(record.get(name)) for record in asked)
        for conjunction in whole.conjunctions
        for name, constraint in conjunction.constraints
    ]
    assert counts.tolist() == expected


def test_what_was_matched_changes_the_access_constraint() -> None:
    whole = made(["a = 1 and b = 1", *(f"a = {value}" for value in range(50)), "b = 2"])
    ranked = rank(whole.rows, len(whole.attributes))
    chosen = []
    for asked in ([], [{"a": 1, "b": number} for number in range(200)]):
        seen = sampled(Sample(asked, whole.attributes), ranked.domains) if asked else None
        shapes = access.shape(whole.rows.outline, ranked, len(whole.attributes), seen)
        choice = access.choose(whole.rows.outline, shapes)
        chosen.append(int(shapes.attribute[choice.constraint[0]]))
        assert np.all((shapes.chance > 0) & (shapes.chance <= 1))
    assert chosen == [whole.attributes["a"], whole.attributes["b"]]
