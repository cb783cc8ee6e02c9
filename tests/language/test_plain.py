from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InputError
from sapwood.language import plain
from sapwood.language.normal import normal_form
from sapwood.language.parser import parse
from sapwood.language.plain import plain_filter, read_plain
from sapwood.language.recurring import Recurring
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.model.filter import Filter
from tests.strategies import filters

NAMES = st.sampled_from(("a", "b", "a.b", "_x1", "in", "Not", "é", '"q"'))
NUMBERS = st.sampled_from(
    (
        *("0", "1", "-1", "+2", "1.0", "1.5", ".5", "5.", "-0.0", "1e3", "1e18", "1e19", "1e400"),
        *(str(2**53 + 1), str(2**63 - 1), str(2**63), str(-(2**63)), "1 ", "1a", "0x1"),
    )
)
TEXTS = st.sampled_from(
    ("'x and y'", "' and '", "''", "'a'", "'it''s'", "'ä'", "'\0'", "'a", "true")
)
OPERATORS = st.sampled_from(("=", "<", "<=", ">", ">=", "<>", "=="))
SPACES = st.sampled_from(("", " ", "  ", "\t", "\x1f", "\u00a0"))
PREDICATES = st.one_of(
    st.tuples(NAMES, SPACES, OPERATORS, SPACES, NUMBERS),
    st.tuples(NAMES, SPACES, st.just("="), SPACES, TEXTS),
    st.tuples(
        NAMES, SPACES, st.sampled_from((" between ", "Between")), NUMBERS, st.just(" and "), NUMBERS
    ),
).map("".join)
JOINED = st.sampled_from((" and ", " AND ", "and ", " or ", "  and  "))
WRITTEN = st.lists(st.tuples(PREDICATES, JOINED), min_size=1, max_size=4).map(
    lambda parts: "".join(text for part in parts for text in part)[: -len(parts[-1][1])]
)


PLAIN = (
    "x > 1",
    " x>1 AND x<5 ",
    "x >= 1 and x <= 1.0",
    "x > 1 and x >= 1 and y = 'a'",
    "x between -.5 and 1e3 and a.b = ''",
    "x < 1e19",
    "x = -0.0\n",
    "x = 'a and b' and y = ' and ' and z = 1",
    "y = 1 AND x = 2 and z = 3",
    " and ".join(f"a{number} = {number}" for number in range(20)),
)


def parsed(text: str) -> Filter | None:
    """The filter that the parser and the rewrites make of a text, or `None` if it is bad."""
    try:
        return normal_form(parse(text), text)
    except InputError:
        return None


def is_same(one: Filter, other: Filter | None) -> bool:
    """True if two filters are equal in all that can be seen, such as the types of numbers."""
    return one == other and repr(one) == repr(other) and one.source == other.source


@given(WRITTEN)
def test_what_is_read_off_a_text_is_what_the_parser_reads(text: str) -> None:
    read = plain_filter(text)
    assert read is None or is_same(read, parsed(text))


@given(WRITTEN)
def test_known_predicates_are_put_together_to_the_bytes_of_the_whole(text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plain, "_PREDICATES", Recurring(plain._predicate))
        found = {plain._put_together(text) for _ in range(9)}
    assert found <= {None, plain._read_whole(text)}
    assert plain.plain_packed(text) == plain._read_whole(text)


def test_predicates_that_were_met_twice_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "_PREDICATES", Recurring(plain._predicate))
    text = "b = 2 and a = 'x'"
    assert [plain._put_together(text) for _ in range(8)] == [None] * 8
    assert plain._put_together(text) == plain._read_whole(text) is not None
    assert plain._put_together("a = 'x' and b = 2") == plain._read_whole(text)
    assert plain._put_together("b = 2 and b = 2") is None


@given(filters())
def test_what_filters_write_is_read_as_the_parser_reads_it(filter_: Filter) -> None:
    read = plain_filter(str(filter_))
    assert read is None or is_same(read, parsed(str(filter_)))
    assert parse_filter(str(filter_)) == filter_


@pytest.mark.parametrize("text", PLAIN)
def test_plain_filters_are_read_off_their_text(text: str) -> None:
    read = plain_filter(text)
    assert read is not None
    assert is_same(read, parsed(text))
    assert is_same(parse_filter(text), read)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "x = 1 or y = 2",
        "not x = 1",
        "x <> 1",
        "x in (1, 2)",
        "x = 'it''s'",
        "x = 'é'",
        "x > 5 and x < 5",
        "x > 5 and x <= 5",
        "x = 1 and x = 'a'",
        "x = 'a' and x = 'b'",
        "x between 2 and 1",
        "x = 1and y = 2",
        "x = 1 and ",
        "and = 1",
        "x = 9223372036854775808",
        "x = 1e400",
        "x = 123456789012345678901234567890",
        f"x = '{'a' * FILTER_TEXT_CHARS_MAX}'",
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser(text: str) -> None:
    assert read_plain(text) is None
    assert plain_filter(text) is None
