"""Subscriptions are values."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InvalidValueError
from sapwood.language import parse_filter
from sapwood.model.subscription import Subscription


def test_subscriptions_with_equal_filters_are_equal() -> None:
    one = Subscription("s", parse_filter("x > 1"), "r1")
    assert one == Subscription("s", parse_filter("not x <= 1"), "r1")
    assert one != Subscription("s", parse_filter("x > 1"))


@pytest.mark.parametrize("wrong", ["", None, 7])
def test_subscription_needs_an_id(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="non-empty text"):
        Subscription(wrong, parse_filter("true"))


@pytest.mark.parametrize("wrong", ["a = 1", None, 5])
def test_subscription_needs_a_filter_that_was_read(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="what parse_filter or parse_xpath returns, not"):
        Subscription("s1", wrong)
