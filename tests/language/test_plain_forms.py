from __future__ import annotations

import pytest
from hypothesis import given

from sapwood import parse_xpath
from sapwood.errors import InputError
from sapwood.language.forms import encode_form
from sapwood.language.normal import normal_form
from sapwood.language.parser import parse
from sapwood.language.plain_forms import plain_form, written_form
from sapwood.language.written import canonical
from sapwood.model.filter import Filter
from tests.language.test_plain import PLAIN, WRITTEN
from tests.strategies import filters


def form(text: str) -> bytes | None:
    try:
        return encode_form(normal_form(parse(text)))
    except InputError:
        return None


@given(WRITTEN)
def test_what_is_read_off_a_text_is_what_the_parser_reads(text: str) -> None:
    plain = plain_form(text)
    assert plain is None or plain == form(text)


@given(filters())
def test_a_filter_is_written_from_its_form_as_it_writes_itself(filter_: Filter) -> None:
    written = encode_form(filter_)
    assert written_form(written) == canonical(filter_)
    plain = plain_form(str(filter_))
    assert plain is None or plain == written


@pytest.mark.parametrize("text", PLAIN)
def test_plain_filters_are_read_off_their_text(text: str) -> None:
    plain = plain_form(text)
    assert plain is not None
    assert plain == form(text)


def test_a_tree_pattern_is_written_with_its_prefixes() -> None:
    pattern = parse_xpath("//p:a[b]", {"p": "urn:x"})
    assert written_form(encode_form(pattern)) == canonical(pattern)
