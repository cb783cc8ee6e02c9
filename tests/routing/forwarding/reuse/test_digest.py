"""Digests of lookup reuse: what they look like, and what is none."""

from __future__ import annotations

import pytest

from sapwood.limits import DIGEST_BYTES_MAX
from sapwood.routing.forwarding.reuse.digest import (
    ALL,
    HEAD_BYTES,
    KEY_BYTES,
    KEYS_MAX,
    SOME,
    hash_of,
    is_whole,
)


def test_the_hash_of_a_key_is_the_same_everywhere() -> None:
    assert hash_of("r1.0.7") == 0xB38FC7875C932203
    assert hash_of("r1.0.7") != hash_of("r1.0.8")


def test_as_many_keys_as_are_allowed_fit() -> None:
    assert HEAD_BYTES + KEYS_MAX * KEY_BYTES <= DIGEST_BYTES_MAX
    assert HEAD_BYTES + (KEYS_MAX + 1) * KEY_BYTES > DIGEST_BYTES_MAX


@pytest.mark.parametrize(
    ("digest", "whole"),
    [
        (SOME, True),
        (ALL + bytes(16), True),
        (ALL + bytes(15), False),
        (SOME[:1], False),
        (SOME[:1] + b"\x02" + bytes(8), False),
        (b"k\x01" + bytes(8), False),
    ],
)
def test_only_what_has_a_head_and_whole_keys_is_one(digest: bytes, whole: bool) -> None:
    assert is_whole(digest) is whole
