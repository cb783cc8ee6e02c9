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
    InterestForm,
    InterestText,
    PathsText,
    XPathText,
    advertised_from_form,
    advertised_from_text,
    advertised_to_form,
    advertised_to_text,
    from_form,
    from_text,
    to_form,
    to_text,
    unread,
)
from tests.wire.strategies import interests

DECODER = msgspec.msgpack.Decoder(InterestText)


@given(interests())
def test_an_interest_is_read_as_it_was_written(wanted: Interest) -> None:
    travelled = DECODER.decode(msgspec.msgpack.encode(to_text(wanted)))
    assert from_text(travelled) == wanted


@given(interests())
def test_an_interest_is_read_as_a_broker_wrote_it(wanted: Interest) -> None:
    assert from_form(to_form(wanted)) == wanted
    assert advertised_from_form(advertised_to_form(wanted)) == wanted


def test_a_filter_with_more_bytes_than_a_text_may_have_characters_travels_as_its_text() -> None:
    count = FILTER_TEXT_CHARS_MAX // 8
    wanted = parse_filter("a in (" + ", ".join(f"{n}.5" for n in range(count // 2)) + ")")
    assert wanted.packed is not None
    assert len(wanted.packed) > FILTER_TEXT_CHARS_MAX
    assert to_form(wanted) == to_text(wanted)
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        from_form(wanted.packed)


def test_many_forms_are_read_when_somebody_asks_for_it() -> None:
    forms: list[InterestForm] = [b"\xc0", "a = 1"]
    given_forms = unread(forms)
    assert len(given_forms) == 2
    with pytest.raises(InputError, match="a packed filter is none"):
        given_forms.read()
    good = unread([to_form(parse_filter("b > 1")), "a = 1"])
    good.read()
    assert good.values == (parse_filter("b > 1"), parse_filter("a = 1"))


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
