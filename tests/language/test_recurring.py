"""Parts that come again."""

from __future__ import annotations

import pytest

from sapwood.language import recurring
from sapwood.language.recurring import Recurring


def read(part: str) -> int | None:
    return int(part) if part.isdigit() else None


def looked(parts: Recurring[str, int], *some: str) -> list[int] | None:
    """The known values of some parts, once no look at them is passed over."""
    while not parts.is_looking:
        pass
    return parts.known(some)


def test_a_part_is_known_from_the_third_time_on() -> None:
    parts = Recurring(read)
    assert [looked(parts, "1", "2") for _ in range(3)] == [None, None, [1, 2]]
    assert looked(parts, "2", "1", "2") == [2, 1, 2]
    assert looked(parts, "2", "3") is None
    assert looked(parts) == []


def test_what_cannot_be_read_is_never_known() -> None:
    parts = Recurring(read)
    assert [looked(parts, "1", "x") for _ in range(9)] == [None] * 9
    assert looked(parts, "1") == [1]


def test_some_are_passed_over_after_one_that_is_not_known() -> None:
    parts = Recurring(read)
    assert parts.is_looking
    assert parts.known(["1"]) is None
    assert [parts.is_looking for _ in range(5)] == [False, False, False, True, True]


def test_all_is_forgotten_where_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurring, "_REMEMBERED_MAX", 4)
    parts = Recurring(read)
    for number in range(20):
        for _ in range(2):
            looked(parts, str(number))
    assert max(len(parts._known), len(parts._met)) == 4
    assert looked(parts, "19") == [19]
    assert looked(parts, "3") is None
