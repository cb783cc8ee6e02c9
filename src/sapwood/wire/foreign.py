"""Foreign protocols, recognized by the first four bytes of a stream.

Four bytes are what a frame header has, so the answer does not depend on how the bytes arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_TEXT: Final = (
    "This is a Sapwood broker. It speaks Sapwood's own protocol only; "
    "use `sapwood publish`, `sapwood subscribe` or sapwood.connect().\n"
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """Another protocol: its common name, and an answer that its programs can show."""

    name: str
    reply: bytes


def _http(text: str) -> bytes:
    body = text.encode()
    head = (
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_PLAIN: Final = _TEXT.encode()

_TLS_ALERT: Final = bytes((21, 3, 3, 0, 2, 2, 70))
"""A fatal TLS alert, `protocol_version` (RFC 8446, section 6.2)."""

_HTTP: Final = Foreign("an HTTP client", _http(_TEXT))
_TLS: Final = Foreign("a TLS client hello", _TLS_ALERT)
_MQTT: Final = Foreign("an MQTT client", b"")
_UNKNOWN: Final = Foreign("no protocol known here", _PLAIN)

_BY_PREFIX: Final = (
    *((method, _HTTP) for method in (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI")),
    *((method, _HTTP) for method in (b"PATC", b"TRAC", b"PRI ")),
    (b"HTTP", Foreign("an HTTP server", b"")),
    (b"\x16\x03", _TLS),
    (b"\x15\x03", Foreign("a TLS alert (who speaks TLS is at tls://HOST:PORT)", b"")),
    (b"SSH-", Foreign("SSH", _PLAIN)),
    (b"AMQP", Foreign("an AMQP client", b"")),
    (b"CONN", Foreign("a NATS client or an HTTP proxy request", _PLAIN)),
    (b"INFO", Foreign("a NATS server", b"")),
    (b"220 ", Foreign("a mail or FTP server", b"")),
    (b"*", Foreign("a Redis client", b"-ERR " + _PLAIN.replace(b"\n", b"\r\n"))),
)


def identify(header: bytes) -> Foreign:
    """The protocol that a stream with these first four bytes seems to be.

    Meant for bytes that are no frame header of ours: for those that are, the answer is "no
    protocol known here" or chance.
    """
    for prefix, foreign in _BY_PREFIX:
        if header.startswith(prefix):
            return foreign
    if header[:1] == b"\x10" and (header[2:3] == b"\x00" or header[3:4] == b"\x00"):
        return _MQTT  # CONNECT, a length of one or two bytes, then the length of its name (4 or 6)
    return _UNKNOWN
