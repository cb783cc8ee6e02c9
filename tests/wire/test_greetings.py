"""Greetings, and the greetings of others."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from sapwood.errors import HandshakeError
from sapwood.limits import GREETING_BYTES_MAX, NAME_CHARS_MAX
from sapwood.limits.structured import ADDRESS_CHARS_MAX
from sapwood.wire.greetings import (
    MAGIC,
    VERSION,
    Greeting,
    Hello,
    Refusal,
    RefusalCode,
    Role,
    VersionMismatchError,
    Welcome,
    decode_greeting,
    encode_greeting,
)

HELLO = Hello(
    role=Role.BROKER,
    name="r1",
    session="abc",
    routing="covering",
    frame_bytes_max=9,
    listens="north:7411",
)
WELCOME = Welcome(name="r2", session="def", received=7, routing="covering", frame_bytes_max=9)
REFUSAL = Refusal(code=RefusalCode.ITSELF, reason="no", name="r2")


@pytest.mark.parametrize("greeting", [HELLO, WELCOME, REFUSAL])
def test_a_greeting_is_read_as_it_was_written(greeting: Greeting) -> None:
    assert decode_greeting(encode_greeting(greeting)) == greeting


@pytest.mark.parametrize("greeting", [HELLO, WELCOME, REFUSAL])
def test_every_greeting_begins_with_magic_and_version(greeting: Greeting) -> None:
    assert msgspec.msgpack.decode(encode_greeting(greeting))[:2] == [MAGIC, VERSION]


def test_the_longest_greeting_fits_its_bound() -> None:
    name = "\U0001f600" * NAME_CHARS_MAX
    longest = Hello(role=Role.BROKER, name=name, session=name, routing="x" * 64, acknowledged=2**63)
    longest = replace(longest, listens="\U0001f600" * ADDRESS_CHARS_MAX)
    assert len(encode_greeting(longest)) <= GREETING_BYTES_MAX


def test_fields_that_a_later_release_adds_are_passed_over() -> None:
    fields = msgspec.msgpack.decode(encode_greeting(HELLO))
    assert decode_greeting(msgspec.msgpack.encode([*fields, "new"])) == HELLO


@pytest.mark.parametrize("rest", [[], ["hello"], ["welcome", 1], [{"anything": 1}]])
def test_another_version_is_told_from_its_first_two_fields(rest: list[Any]) -> None:
    body = msgspec.msgpack.encode([MAGIC, VERSION + 1, "hello", *rest])
    with pytest.raises(VersionMismatchError, match=f"speaks version {VERSION + 1}") as told:
        decode_greeting(body)
    assert told.value.version == VERSION + 1
    copy = pickle.loads(pickle.dumps(told.value))
    assert (copy.version, str(copy)) == (told.value.version, str(told.value))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no greeting of Sapwood"),
        (b"\x00", "no greeting of Sapwood"),
        (b"\xc1", "no greeting of Sapwood"),
        (b"\x93\xa1\xff\x01\xa1x", "no greeting of Sapwood"),
        (msgspec.msgpack.encode(["nats", 1, "hello"]), "its magic is wrong"),
        (msgspec.msgpack.encode([MAGIC, VERSION, "curse"]), "of an unknown kind"),
        (msgspec.msgpack.encode([MAGIC, VERSION, "hello", "client"]), "no greeting of Sapwood"),
        (
            msgspec.msgpack.encode([MAGIC, VERSION, "hello", "spy", "a", "b"]),
            "no greeting of Sapwood",
        ),
        (
            msgspec.msgpack.encode([MAGIC, VERSION, "hello", "client", "", "b"]),
            "no greeting of Sapwood",
        ),
        (encode_greeting(HELLO) + b"\x00", "no greeting of Sapwood"),
        (b"\x91" * 4000, "no greeting of Sapwood"),
    ],
)
def test_what_is_no_greeting_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(HandshakeError) as refused:
        decode_greeting(body)
    assert reason in str(refused.value)


def test_codes_say_whether_trying_again_has_a_point() -> None:
    assert {code for code in RefusalCode if code.final} == {RefusalCode.ITSELF, RefusalCode.BARRED}
    assert {code for code in RefusalCode if code.retryable} == {RefusalCode.FULL, RefusalCode.LATE}
