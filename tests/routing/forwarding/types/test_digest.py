"""The names of types beside a document."""

from __future__ import annotations

import pytest

from sapwood.language.advertisements import parse_advertisement
from sapwood.limits import DIGEST_BYTES_MAX
from sapwood.routing.forwarding.types.digest import (
    MARK,
    NAME_BYTES,
    NAMES_MAX,
    decode,
    encode,
    name_of,
)

NAMES = [bytes(range(first, first + NAME_BYTES)) for first in range(0, 160, 16)]


@pytest.mark.parametrize("count", [1, 2, NAMES_MAX])
def test_a_digest_has_the_mark_and_the_names(count: int) -> None:
    digest = encode(NAMES[:count])
    assert digest == bytes((MARK,)) + b"".join(NAMES[:count])
    assert decode(digest) == NAMES[:count]
    assert len(digest) <= DIGEST_BYTES_MAX


def test_of_many_names_the_first_travel_and_of_none_nothing() -> None:
    assert decode(encode(NAMES)) == NAMES[:NAMES_MAX]
    assert encode([]) == b""


@pytest.mark.parametrize(
    "digest", [b"", b"\x74", encode(NAMES)[:-1], encode(NAMES) + NAMES[0], b"\x72" + NAMES[0]]
)
def test_what_is_none_of_this_strategy_says_nothing(digest: bytes) -> None:
    assert decode(digest) is None


def test_a_name_is_that_of_what_is_advertised_however_it_is_written() -> None:
    one, same, other = map(parse_advertisement, ("/a/b|/a/c", "/a/c | /a/b", "/a/b"))
    assert (one == same) is (name_of(one) == name_of(same))
    assert name_of(one) != name_of(other)
    assert len(name_of(one)) == NAME_BYTES
