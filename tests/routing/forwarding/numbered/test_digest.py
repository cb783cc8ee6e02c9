"""Digests beside publications that are numbered."""

from __future__ import annotations

from sapwood.routing.forwarding.numbered.digest import Numbered, decode, encode


def test_a_digest_says_what_was_said_and_others_say_nothing() -> None:
    assert encode(Numbered(0, 7, is_spread=False)) == bytes.fromhex("d4930007c2")
    assert decode(bytes.fromhex("d4930007c3")) == Numbered(0, 7, is_spread=True)
    for other in (b"", b"\xd3\x93\x00\x07\xc2", b"\xd4", b"\xd4\x93\x00\xff\xc2"):
        assert decode(other) is None
