"""Errors carry the place and the remedy, and survive copying."""

from __future__ import annotations

import copy
import inspect

import pytest

from sapwood import errors
from sapwood.errors import (
    ConfigurationError,
    DocumentError,
    DuplicateIdError,
    FileFormatError,
    FilterSyntaxError,
    InputError,
    InvalidValueError,
    LimitError,
    SapwoodError,
    UnknownIdError,
    UnknownNameError,
)

EXAMPLES = (
    FilterSyntaxError("a == 1", 2, "equality is written ="),
    LimitError("HOPS_MAX", 5, 7, "the number of hops"),
    LimitError("HOPS_MAX", 5, None, "the number of hops"),
    InvalidValueError("a.b", "NaN"),
    DuplicateIdError("subscription", "s1"),
    UnknownIdError("subscription", "s1"),
    UnknownNameError("engine", "colunmar", ["columnar", "counting"]),
    FileFormatError("f.jsonl", "is not there", 3),
    DocumentError(3, 14, "the tag b is never closed"),
    ConfigurationError(["sapwood.toml, line 3: keep_bites is no option of a broker"]),
)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_is_an_input_error_and_copies_to_an_equal_one(error: InputError) -> None:
    assert isinstance(error, ValueError)
    again = copy.copy(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_errors_drawn_in_the_tree_are_all_there_are() -> None:
    assert errors.__doc__ is not None
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, SapwoodError):
            assert name in errors.__doc__


def test_syntax_error_points_at_the_position() -> None:
    assert str(EXAMPLES[0]).splitlines() == [
        "equality is written =, at position 3",
        "  a == 1",
        "    ^",
    ]


def test_syntax_error_shows_only_the_part_around_the_position() -> None:
    text = "x" * 200 + "?" + "y" * 200
    _, shown, caret = str(FilterSyntaxError(text, 200, "no")).splitlines()
    assert shown[caret.index("^")] == "?"
    assert shown.startswith("  …")
    assert shown.endswith("…")
    assert len(shown) < 80


def test_syntax_error_keeps_the_caret_under_tabs_and_newlines() -> None:
    _, shown, caret = str(FilterSyntaxError("a\t\n= ?", 5, "no")).splitlines()
    assert shown[caret.index("^")] == "?"


def test_limit_error_says_what_how_much_and_which_limit() -> None:
    assert str(EXAMPLES[1]) == "the number of hops is 7; the limit HOPS_MAX is 5"
    assert str(EXAMPLES[2]) == "the number of hops is more; the limit HOPS_MAX is 5"


def test_unknown_name_suggests_the_nearest() -> None:
    assert "did you mean 'columnar'?" in str(EXAMPLES[6])
    assert "did you mean" not in str(UnknownNameError("engine", "zzz", ["columnar"]))


def test_file_error_names_the_line_where_there_is_one() -> None:
    assert str(EXAMPLES[7]) == "f.jsonl, line 3: is not there"
    assert str(FileFormatError("f.jsonl", "is not there")) == "f.jsonl: is not there"
