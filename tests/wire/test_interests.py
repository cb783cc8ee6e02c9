"""Filters as parts of messages."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from sapwood.errors import InputError, LimitError
from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.model.interest import Interest
from sapwood.wire.interests import (
    AdvertisedText,
    InterestText,
    PathsText,
    XPathText,
    advertised_from_text,
    advertised_to_text,
    from_text,
    to_text,
)
from tests.wire.strategies import interests

DECODER = msgspec.msgpack.Decoder(InterestText)


@given(interests())
def test_an_interest_is_read_as_it_was_written(wanted: Interest) -> None:
    travelled = DECODER.decode(msgspec.msgpack.encode(to_text(wanted)))
    assert from_text(travelled) == wanted


def test_paths_travel_as_what_they_are() -> None:
    advertised = parse_advertisement("/a(/b)+|/c")
    text = advertised_to_text(advertised)
    assert text == PathsText("/a(/b)+|/c")
    decoder = msgspec.msgpack.Decoder(AdvertisedText)
    assert advertised_from_text(decoder.decode(msgspec.msgpack.encode(text))) == advertised
    with pytest.raises(msgspec.ValidationError):
        DECODER.decode(msgspec.msgpack.encode(text))


def test_filters_travel_as_plain_text_and_patterns_with_their_prefixes() -> None:
    assert to_text(parse_filter("not x <= 1")) == "x > 1"
    assert to_text(parse_xpath("/a[b]")) == XPathText("/a/b")
    assert to_text(parse_xpath("/p:a", {"p": "u"})) == XPathText("/n1:a", (("n1", "u"),))


def test_a_filter_that_is_too_long_to_be_read_again_is_refused() -> None:
    count = FILTER_TEXT_CHARS_MAX // 12 - 10
    one, other = (
        parse_filter("a in (" + ", ".join(f"'{start + n:08}'" for n in range(count)) + ")")
        for start in (0, count)
    )
    assert from_text(to_text(one)) == one
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        to_text(one.merge(other).filter)


@pytest.mark.parametrize("text", ["a >", XPathText("a["), XPathText("p:a", ())])
def test_what_is_no_filter_is_refused(text: InterestText) -> None:
    with pytest.raises(InputError):
        from_text(text)
