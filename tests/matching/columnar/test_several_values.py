"""Records with several values: sorted values, and pattern checks of one value of each attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.matching.columnar.several_values import SortedRecord, SortedValues, verify_several
from sapwood.matching.columnar.trial import Trial
from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record
from tests.matching.columnar.made import made
from tests.strategies import filters, many_valued


def test_values_are_sorted_by_type() -> None:
    values = SortedValues((3, "b", True, 1.5, "a", True))
    assert values.numbers == [1.5, 3]
    assert values.texts == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("a >= 3 and a < 4", True),
        ("a > 3 and a < 7", False),
        ("a > 3 and a <= 7", True),
        ("a = true", False),
        ("a = false", True),
        ("a > 'f' and a < 'g'", False),
        ("a like 'f%'", True),
        ("a > 'zz'", False),
        ("a is null", False),
        ("b is null and a = 7", True),
        ("a > 8 or a >= 'x'", True),
        ("c = 1 and d = 'y'", True),
    ],
)
def test_a_filter_of_the_memtable_is_tried_on_sorted_values(text: str, accepted: bool) -> None:
    record = ManyValued({"a": (7, "f", 3, False, "x"), "c": 1, "d": ("y", 2)})
    assert Trial(parse_filter(text)).accepts_several(SortedRecord(record)) is accepted


@given(wanted=filters(), record=many_valued())
def test_a_trial_accepts_what_its_filter_accepts(wanted: Filter, record: Record) -> None:
    several = ManyValued(record)
    assert Trial(wanted).accepts_several(SortedRecord(several)) is wanted.accepts(several)


@pytest.mark.parametrize(
    ("values", "passing"),
    [
        (("axbyc",), [0, 3]),
        (("axb", "xby"), [2, 3]),
        (("zaxbyc", "q"), [2, 3]),
        ((1, "q"), [1, 2, 3]),
        (("q", "zq"), [2, 3]),
        ((), [1]),
    ],
)
def test_one_value_passes_all_checks_and_lies_within_the_ranks(
    values: tuple[Any, ...], passing: list[int]
) -> None:
    texts = (
        "a like '%x%y%' and a < 'n'",
        "(a is null or a = 1 or a like '%xxx%yyy%') and (b is null or b = 1)",
        "a not like '%a%c%' and a > 'n' or a = 'xby'",
        "a like '%x%y%' or a not like '%a_b%' and not a like '%z%'",
    )
    whole = made(texts)
    segment = whole.segment()
    record = ManyValued({"a": values} if values else {})
    names = list(whole.attributes)
    conjunctions = np.arange(segment.conjunctions, dtype=np.int32)
    found = verify_several(conjunctions, segment, names, whole.predicates.known(), record)
    slots = {*segment.slots_of(conjunctions[found]).tolist()}
    accepting = {at for at, text in enumerate(texts) if parse_filter(text).accepts(record)}
    assert slots == accepting == {*passing}
