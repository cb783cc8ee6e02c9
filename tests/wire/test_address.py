"""Addresses as people write them."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError
from sapwood.wire.address import Address, as_seen, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7411", Address("127.0.0.1", 7411)),
        ("localhost", Address("localhost", 7411)),
        ("broker.example:1", Address("broker.example", 1)),
        ("[::1]:65535", Address("::1", 65535)),
        ("[::1]", Address("::1", 7411)),
        ("7611", Address("127.0.0.1", 7611)),
        ("7611.example", Address("7611.example", 7411)),
    ],
)
def test_parse_address_reads(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "write host:port"),
        (":7411", "write host:port"),
        ("a b:1", "write host:port"),
        ("::1", "write host:port"),
        ("[::1:7411", "write host:port"),
        ("[::1]7411", "write host:port"),
        ("host:", "a number from 1 to 65535, not ''"),
        ("host:http", "a number from 1 to 65535, not 'http'"),
        ("host:65536", "a number from 1 to 65535"),
        ("host:" + "9" * 5000, "a number from 1 to 65535"),
        ("host:-1", "a number from 1 to 65535"),
        ("host:٣", "a number from 1 to 65535"),
        ("host:0", "only a listener"),
        ("0", "only a listener"),
        ("65536", "a number from 1 to 65535, not '65536'"),
    ],
)
def test_parse_address_refuses_with_the_expected_form(text: str, reason: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_address(text)
    assert reason in str(refused.value)


def test_parse_address_lets_a_listener_ask_for_any_free_port() -> None:
    assert parse_address("host:0", listening=True) == Address("host", 0)
    assert parse_address("0", listening=True) == Address("127.0.0.1", 0)


def test_parse_address_refuses_what_is_no_text() -> None:
    with pytest.raises(InputError, match=r"such as '127.0.0.1:7411', not 7611"):
        parse_address(7611)  # type: ignore[arg-type]  # what a caller may do all the same


@pytest.mark.parametrize("text", ["127.0.0.1:7411", "[::1]:1"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_address(text)) == text


@pytest.mark.parametrize(
    ("listens", "peer", "seen"),
    [
        ("10.0.0.5:7411", "10.0.0.9:50000", "10.0.0.5:7411"),
        ("tls://north:7411", "10.0.0.9:50000", "tls://north:7411"),
        ("0.0.0.0:7412", "10.0.0.9:50000", "10.0.0.9:7412"),
        ("tls://[::]:7412", "[fd00::9]:50000", "tls://[fd00::9]:7412"),
        ("", "10.0.0.9:50000", ""),
        ("a b", "10.0.0.9:50000", ""),
    ],
)
def test_a_broker_is_told_of_where_it_says_or_where_it_is_seen(
    listens: str, peer: str, seen: str
) -> None:
    assert as_seen(listens, peer) == seen
