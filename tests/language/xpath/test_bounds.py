"""Bounds of expressions: sensible, raisable, and named in errors."""

from __future__ import annotations

import pytest

from sapwood import limits
from sapwood.errors import InputError, LimitError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.language.xpath.bounds import DEFAULT_BOUNDS


def test_defaults_are_those_of_the_table_of_limits() -> None:
    assert (
        XPathBounds(
            limits.XPATH_TEXT_CHARS_MAX,
            limits.XPATH_STEPS_MAX,
            limits.XPATH_PREDICATES_MAX,
            limits.XPATH_NESTING_MAX,
            limits.XPATH_DESCENDANTS_MAX,
        )
        == DEFAULT_BOUNDS
    )


@pytest.mark.parametrize("name", ["text", "steps", "predicates", "nesting", "descendants"])
def test_bound_below_one_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=name):
        XPathBounds(**{name: 0})


@pytest.mark.parametrize(
    ("text", "name", "more"),
    [
        ("/a" * 33, "XPATH_STEPS_MAX", XPathBounds(steps=33)),
        (
            "/a" + "".join(f"[@x{at}]" for at in range(17)),
            "XPATH_PREDICATES_MAX",
            XPathBounds(predicates=17),
        ),
        ("//a//b//c//d//e", "XPATH_DESCENDANTS_MAX", XPathBounds(descendants=5)),
        ("a[b[c[d[e[f[g[h[i[j]]]]]]]]]", "XPATH_NESTING_MAX", XPathBounds(nesting=9)),
        ("/" + "a" * 1024, "XPATH_TEXT_CHARS_MAX", XPathBounds(text=1025)),
        ("a" * 1023, "XPATH_TEXT_CHARS_MAX", XPathBounds(text=1025)),
    ],
)
def test_each_bound_is_named_in_its_error_and_can_be_raised(
    text: str, name: str, more: XPathBounds
) -> None:
    with pytest.raises(LimitError) as caught:
        parse_xpath(text)
    assert caught.value.name == name
    assert parse_xpath(text, bounds=more).source == text


@pytest.mark.parametrize(
    "text",
    [
        "/a" * 32,
        "/a" + "".join(f"[@x{at}]" for at in range(16)),
        "//a[.//b]//c[.//d//e]",
        "a[b[c[d[e[f[g[h[i]]]]]]]]",
        "/" + "a" * 1023,
    ],
)
def test_expressions_at_the_bounds_are_read(text: str) -> None:
    assert parse_xpath(text).source == text
