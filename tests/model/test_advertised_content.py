"""The content of advertisements."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Final

import pytest

from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication


@pytest.mark.parametrize(
    ("advertised", "accepted", "refused"),
    [
        (parse_filter("x > 1"), Publication("p", {"x": 2}), Publication("p", {"x": 1})),
        (parse_xpath("/a/b"), Publication("p", None, b"<a><b/></a>"), Publication("p", {})),
        (
            parse_advertisement("/a(/b)+"),
            Publication("p", {}, b"<a><b><b/></b><b/></a>"),
            Publication("p", {}, b"<a><b/><c/></a>"),
        ),
        (parse_advertisement("/a"), Publication("p", None, b"<a/>"), Publication("p", {})),
    ],
)
def test_advertised_content_accepts_what_was_announced_and_nothing_else(
    advertised: AdvertisedContent, accepted: Publication, refused: Publication
) -> None:
    assert advertised.matches(accepted)
    assert not advertised.matches(refused)


def test_paths_meet_patterns_that_a_document_of_theirs_can_match() -> None:
    paths = parse_advertisement("/a/b|/a/c(/d)+")
    assert paths.intersects(parse_xpath("//d/d"))
    assert paths.intersects(parse_xpath("/a[b]/c"))
    assert not paths.intersects(parse_xpath("//b/d"))
    assert not paths.intersects(parse_filter("true"))


KINDS: Final[tuple[Callable[[str], AdvertisedContent], ...]] = (
    parse_filter,
    parse_xpath,
    parse_advertisement,
)
SAME: Final = (("not x > 1", "x <= 1"), ("/a[b]", "/a/b"), ("/a|/b", "/b|/a"))
OTHER: Final = ("x < 1", "/a[c]", "/a|/c")


@pytest.mark.parametrize(("read", "same", "other"), list(zip(KINDS, SAME, OTHER, strict=True)))
def test_advertised_contents_are_equal_iff_their_normal_forms_are(
    read: Callable[[str], AdvertisedContent], same: tuple[str, str], other: str
) -> None:
    one, again = map(read, same)
    assert one == again
    assert one is not again
    assert hash(one) == hash(again)
    assert (one.source, again.source) == same
    assert one != read(other)
    assert repr(one) == repr(again) != repr(read(other))


def test_advertised_contents_of_two_kinds_are_never_equal() -> None:
    advertised = [parse_xpath("/a"), parse_advertisement("/a"), parse_filter("a")]
    assert len(set(advertised)) == len(advertised)
    assert parse_xpath("/a") != "/a"


@pytest.mark.parametrize(("read", "text"), list(zip(KINDS, OTHER, strict=True)))
def test_advertised_content_does_not_change_and_is_copied_without_its_hash(
    read: Callable[[str], AdvertisedContent], text: str
) -> None:
    one = read(text)
    hash(one)
    with pytest.raises(FrozenInstanceError, match="cannot assign to 'source'"):
        one.source = None
    for again in (copy.copy(one), pickle.loads(pickle.dumps(one))):
        assert (again, again.source) == (one, text)
        assert again._hash is None
