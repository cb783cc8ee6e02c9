"""Names and ids that can travel."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, LimitError
from sapwood.limits import ID_CHARS_MAX, NAME_CHARS_MAX
from sapwood.wire.names import check_id, check_name


@pytest.mark.parametrize("name", ["r1", "host-7411", "größe", "a/b:c.d", "x" * NAME_CHARS_MAX])
def test_check_name_takes(name: str) -> None:
    assert check_name("broker", name) == name


@pytest.mark.parametrize("name", ["", " ", "two words", "line\n", "tab\t", "\x1b[31m", "a\u00a0b"])
def test_check_name_refuses_what_would_break_a_line(name: str) -> None:
    with pytest.raises(InputError, match="is no name for a broker"):
        check_name("broker", name)


def test_check_name_refuses_a_long_one() -> None:
    with pytest.raises(LimitError, match="NAME_CHARS_MAX"):
        check_name("client", "x" * (NAME_CHARS_MAX + 1))


@pytest.mark.parametrize("id_", ["p1", "with spaces\n", "\U0001f600", "x" * ID_CHARS_MAX])
def test_check_id_takes(id_: str) -> None:
    assert check_id("publication", id_) == id_


def test_check_id_refuses_an_empty_one() -> None:
    with pytest.raises(InputError, match="a subscription needs a non-empty text"):
        check_id("subscription", "")


def test_check_id_refuses_a_long_one() -> None:
    with pytest.raises(LimitError, match="the length of the publication id is 513"):
        check_id("publication", "x" * (ID_CHARS_MAX + 1))


def test_check_id_refuses_half_a_surrogate_pair() -> None:
    with pytest.raises(InputError, match="no Unicode character"):
        check_id("publication", "\ud800")
