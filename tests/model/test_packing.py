"""Bytes of normal forms: equal for equal filters, read back as they were, asked like the filter."""

from __future__ import annotations

import math
import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InputError, LimitError
from sapwood.limits import ATTRIBUTE_NAME_CHARS_MAX, CONJUNCTIONS_MAX
from sapwood.model import packing
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import EVERYTHING, NOTHING, Filter
from sapwood.model.numbers import Interval, Number
from sapwood.model.publication import Record
from tests.strategies import filters, records


def of_number(value: Number) -> Filter:
    return Filter((Conjunction((("a", Constraint(numbers=(Interval(value, value),))),)),))


@given(filters())
def test_a_filter_of_bytes_is_the_filter(wanted: Filter) -> None:
    afresh = Filter(wanted.conjunctions)
    assert afresh == wanted
    assert hash(afresh) == hash(wanted)
    if wanted.packed is not None:
        again = Filter.of_packed(wanted.packed, "as it was written")
        assert (again, again.source) == (wanted, "as it was written")
        assert again.conjunctions == wanted.conjunctions
        assert str(again) == str(wanted)


@given(filters(), filters())
def test_bytes_are_equal_where_normal_forms_are(one: Filter, other: Filter) -> None:
    assert (one == other) == (one.conjunctions == other.conjunctions)


@given(filters())
def test_a_form_has_the_extent_of_the_filter(wanted: Filter) -> None:
    if wanted.packed is not None:
        assert Filter.of_packed(wanted.packed).extent == Filter(wanted.conjunctions).extent


@given(filters(), records())
def test_a_form_accepts_what_the_filter_accepts(wanted: Filter, record: Record) -> None:
    if wanted.packed is not None:
        conjunctions = wanted.conjunctions
        accepted = any(part.accepts(record) for part in conjunctions)
        assert packing.accepts(packing.read(wanted.packed), record) == accepted
        assert packing.packed_form(packing.form_of(conjunctions)) == wanted.packed


ENDS = st.sampled_from([-math.inf, -2, -0.5, 0, 0.5, 1, 3, 3.0, math.nan, math.inf, 1 << 63])
CONSTRAINTS = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([0, 0, 1, 2, 4, 7, 8, -1]),
    st.lists(st.tuples(ENDS, ENDS, st.sampled_from([0, 0, 1, 2, 3, 4])), max_size=2),
    st.lists(
        st.tuples(st.sampled_from(["", "x", "x\0", "y"]), st.sampled_from([None, "x", "x\0", "z"])),
        max_size=2,
    ),
)


@given(filters())
def test_bytes_of_filters_are_bytes_of_forms(wanted: Filter) -> None:
    if wanted.packed is not None:
        assert packing.checked(wanted.packed) == wanted.packed


@given(st.lists(CONSTRAINTS, max_size=2))
def test_a_conjunction_from_elsewhere_is_accepted_in_its_one_form_alone(part: list[object]) -> None:
    given_bytes = msgspec.msgpack.encode([part])
    try:
        # What is accepted can be written down, and is the form of the filter that is read then.
        expected = parse_filter(str(Filter(packing.unpacked(given_bytes)))).packed == given_bytes
    except (InputError, IndexError, ValueError, OverflowError):
        expected = False
    try:
        accepted = packing.checked(given_bytes) == given_bytes
    except InputError:
        accepted = False
    assert accepted == expected


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [[]],
        [[["a", 4, [], []]], [["b", 4, [], []]]],
    ],
)
def test_nothing_everything_and_several_conjunctions_have_forms(sent: object) -> None:
    packing.checked(msgspec.msgpack.encode(sent))


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "is none"),
        (b"\xc1", "is none"),
        (b"\x91" * 100_000, "is none"),
        (msgspec.msgpack.encode("a = 1"), "is none"),
        (msgspec.msgpack.encode([[["a", 0, [[1, 1, 0]], [["x", 1]]]]]), "is none"),
        (msgspec.msgpack.encode([[["a", 0, [[True, True, 0]], []]]]), "is none"),
        (msgspec.msgpack.encode([[], [["a", 4, [], []]]]), "accepts everything"),
        (b"\x91\x91\x94\xa1a\xcc\x04\x90\x90", "at more length"),
        (msgspec.msgpack.encode([[["a", 4, [], []], ["a", 4, [], []]]]), "no attribute"),
        (
            msgspec.msgpack.encode([[["a" * (1 + ATTRIBUTE_NAME_CHARS_MAX), 4, [], []]]]),
            "where no attribute",
        ),
    ],
)
def test_what_is_no_form_is_refused(sent: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        packing.checked(sent)


def test_too_many_conjunctions_are_refused() -> None:
    sent = msgspec.msgpack.encode([[["a", 4, [], []]]] * (CONJUNCTIONS_MAX + 1))
    with pytest.raises(LimitError, match="CONJUNCTIONS_MAX"):
        packing.checked(sent)


def test_the_worked_example() -> None:
    wanted = parse_filter("b = 'x' and not a <= 1")
    assert wanted == parse_filter("a > 1 and b = 'x'")
    assert wanted.packed is not None
    form: object = packing.read(wanted.packed)
    assert form == [[["a", 0, [[1, float("inf"), 1]], []], ["b", 0, [], [["x", "x\0"]]]]]
    assert len(wanted.packed) < 40


@pytest.mark.parametrize("text", ["a like 'x_y'", "a like '\ud7ff%' and not a like '%z%'"])
def test_general_patterns_have_no_bytes(text: str) -> None:
    wanted = parse_filter(text)
    assert wanted.packed is None
    assert wanted == Filter(wanted.conjunctions)
    assert hash(wanted) == hash(Filter(wanted.conjunctions))
    assert pickle.loads(pickle.dumps(wanted)) == wanted


def test_whole_numbers_beyond_64_bits_have_the_bytes_of_their_float_or_none() -> None:
    assert of_number(1 << 70).packed == of_number(float(1 << 70)).packed is not None
    assert of_number(1 << 70) == of_number(float(1 << 70))
    for value in ((1 << 70) + 1, 10**400):
        assert of_number(value).packed is None
        assert of_number(value) == of_number(value)
        assert of_number(value) != of_number(1 << 70)


def test_half_of_a_surrogate_pair_has_no_bytes() -> None:
    wanted = Filter((Conjunction((("a", equal_to("\ud800")),)),))
    assert wanted.packed is None
    assert wanted.compact() is wanted


def test_a_compact_filter_has_no_source_and_no_conjunctions_until_it_is_asked() -> None:
    wanted = parse_filter("not (a > 1 and b = 2)")
    kept = wanted.compact()
    assert (kept, kept.source, kept._conjunctions) == (wanted, None, None)
    assert kept.compact() is kept
    assert kept.matches({"a": 0})
    assert kept.conjunctions is kept.conjunctions
    pattern = parse_filter("a like '%x%'")
    assert pattern.compact() == pattern
    assert pattern.compact().source is None


@pytest.mark.parametrize("wanted", [EVERYTHING, NOTHING])
def test_the_extremes_have_bytes(wanted: Filter) -> None:
    assert wanted.packed is not None
    assert Filter.of_packed(wanted.packed) == wanted
    assert packing.accepts(packing.read(wanted.packed), {}) == (wanted is EVERYTHING)
