"""Drawn subscriptions that count: all filters, and patterns that name two elements."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood_lab.experiments.particular import is_particular


@pytest.mark.parametrize(
    ("text", "counts"),
    [("//*", False), ("/a/*", False), ("/a//a", False), ("/a/b", True), ("//*[a]/b", True)],
)
def test_patterns_count_that_name_two_elements(text: str, counts: bool) -> None:
    assert is_particular(parse_xpath(text)) is counts


def test_filters_always_count() -> None:
    assert is_particular(parse_filter("true"))
