"""Foreign protocols that speak to us."""

from __future__ import annotations

import pytest

from sapwood.wire.codec import greeting_frame
from sapwood.wire.foreign import identify
from sapwood.wire.greetings import Hello, Role


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (b"GET / HTTP/1.1\r\n", "an HTTP client"),
        (b"POST /x HTTP/1.1\r\n", "an HTTP client"),
        (b"PRI * HTTP/2.0\r\n", "an HTTP client"),
        (b"HTTP/1.1 400 Bad Request\r\n", "an HTTP server"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "a TLS client hello"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "a TLS alert (who speaks TLS is at tls://HOST:PORT)"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"AMQP\x00\x01\x00\x00", "an AMQP client"),
        (b"CONNECT {}\r\n", "a NATS client or an HTTP proxy request"),
        (b"INFO {}\r\n", "a NATS server"),
        (b"220 mail ready\r\n", "a mail or FTP server"),
        (b"*1\r\n$4\r\nPING\r\n", "a Redis client"),
        (b"\x10\x0c\x00\x04MQTT\x05", "an MQTT client"),
        (b"\x10\x81\x01\x00\x06MQIsdp", "an MQTT client"),
        (b"\xff\xff\xff\xff", "no protocol known here"),
    ],
)
def test_identify_names_the_protocol_of_its_first_four_bytes(first: bytes, name: str) -> None:
    assert identify(first[:4]).name == name


def test_identify_has_an_answer_that_a_browser_shows() -> None:
    head, _, body = identify(b"GET ").reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"This is a Sapwood broker." in body


def test_identify_answers_tls_with_an_alert() -> None:
    assert identify(b"\x16\x03\x01\x00").reply == b"\x15\x03\x03\x00\x02\x02\x46"


def test_identify_knows_nothing_of_our_own_greeting() -> None:
    ours = greeting_frame(Hello(role=Role.CLIENT, name="c", session="1"))
    assert identify(ours[:4]).name == "no protocol known here"
