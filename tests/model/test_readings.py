"""Readings of texts, such as integers and timestamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.matching.reference import _READ
from sapwood.model.readings import FUNCTIONS, integer_of, timestamp_of

ALMOST = st.one_of(
    st.from_regex(r"[+-]?0*[0-9]{0,20}", fullmatch=True),
    st.from_regex(
        r"(0000|2024|2100|9999)-(02|12|13)-(28|29|31)[Tt ]?(00|23|24):[05]9:(00|60|61)"
        r"(\.[0-9]{0,10})?([Zz]|[+-](00|23|24):(00|30|60))?",
        fullmatch=True,
    ),
    st.text("0123456789-+:TZ. ", max_size=24),
)


@given(ALMOST, st.sampled_from(sorted(FUNCTIONS)))
def test_texts_are_read_as_the_reference_reads_them(text: str, function: str) -> None:
    assert FUNCTIONS[function](text) == _READ[function](text)


@given(st.integers(-(2**70), 2**70), st.integers(0, 30))
def test_integers_are_read_up_to_64_bits(value: int, zeros: int) -> None:
    text = ("-" if value < 0 else "") + "0" * zeros + str(abs(value))
    assert integer_of(text) == (value if -(2**63) <= value < 2**63 else None)


@given(
    st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)),  # noqa: DTZ001 - the zone is added
    st.integers(-1439, 1439),
)
def test_timestamps_are_instants(moment: datetime, minutes: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    wanted = zoned.astimezone(UTC).strftime("%m-%dT%H:%M:%S.%f") + "000Z"
    found = timestamp_of(zoned.isoformat())
    assert found is not None
    assert found[5:] == wanted
    assert int(found[:4]) == zoned.astimezone(UTC).year


def test_readings_by_one_function_are_compared_by_their_values() -> None:
    wide, narrow = parse_filter("integer(a) > 1"), parse_filter("integer(a) between 2 and 5")
    assert wide.covers(narrow)
    assert not narrow.covers(wide)
    assert not narrow.intersects(parse_filter("integer(a) > 5"))
    assert parse_filter("exists integer(a)").covers(wide)
    assert parse_filter("lower(a) like '%x%'").covers(parse_filter("lower(a) like '%xy'"))
    assert parse_filter("lower(a) = 'ibm'").covers(parse_filter("a in ('IBM', 'Ibm')"))
    day = parse_filter("timestamp(t) >= '2026-01-31T00:00:00Z'")
    assert day.covers(parse_filter("timestamp(t) = '2026-01-30T23:30:00-01:00'"))
    assert day.intersects(parse_filter("integer(t) > 5")), "of two functions nothing is known"


def test_readings_by_one_function_are_united_and_become_one() -> None:
    assert str(parse_filter("lower(a) = 'x' or lower(a) = 'y'")) == "lower(a) in ('x', 'y')"
    assert str(parse_filter("integer(a) > 1 and integer(a) < 5")) == (
        "integer(a) > 1 and integer(a) < 5"
    )
    assert parse_filter("integer(a) > 5 and integer(a) < 1").accepts_nothing
    assert str(parse_filter("integer(a) <= 5 or integer(a) > 3")) == "exists integer(a)"
    assert str(parse_filter("lower(a) <= 'x' or lower(a) > 'x'")) == "a like '%'"
    merged = parse_filter("integer(a) < 5").merge(parse_filter("integer(a) between 5 and 9"))
    assert (str(merged.filter), merged.perfect) == ("integer(a) <= 9", True)
