"""Filters of either language as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.written import Written, as_given, canonical, read_advertised, read_interest
from sapwood.language.xpath import parse_xpath
from tests.strategies import filters
from tests.xpaths import bounded_expressions


@given(filters())
def test_a_filter_is_read_from_either_text(wanted: object) -> None:
    read = parse_filter(str(wanted))
    for written in (canonical(read), as_given(read)):
        assert written.language == "filter"
        assert read_interest(written) == wanted


@given(bounded_expressions(), st.sampled_from((None, {}, {"p": "urn:x"})))
def test_a_pattern_is_read_from_either_text(text: str, namespaces: dict[str, str] | None) -> None:
    pattern = parse_xpath(text, namespaces)
    for written in (canonical(pattern), as_given(pattern)):
        assert written.language == "xpath"
        assert read_interest(written) == pattern
    assert as_given(pattern) == Written("xpath", text, pattern.bindings)


def test_equal_interests_are_written_alike() -> None:
    assert canonical(parse_filter("not x <= 1")) == canonical(parse_filter("x > 1"))
    one, other = parse_xpath("/p:a", {"p": "urn:x"}), parse_xpath("/q:a", {"q": "urn:x"})
    assert canonical(one) == canonical(other)
    assert canonical(one).namespaces == {"n1": "urn:x"}


def test_paths_are_read_as_advertised_content_only() -> None:
    advertised = parse_advertisement("/a (/b)+")
    assert as_given(advertised) == Written("paths", "/a (/b)+")
    assert canonical(advertised) == Written("paths", "/a(/b)+")
    assert read_advertised(canonical(advertised)) == advertised
    with pytest.raises(InputError, match="advertise"):
        read_interest(canonical(advertised))


def test_the_language_decides_what_a_text_means() -> None:
    assert read_interest(Written("filter", "a")) == parse_filter("a = true")
    assert read_interest(Written("xpath", "a")) == parse_xpath("//a")


@pytest.mark.parametrize("written", [Written("filter", "a ="), Written("xpath", "a[")])
def test_what_is_no_filter_is_refused_with_its_position(written: Written) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        read_interest(written)
    assert caught.value.text == written.text
