"""Bounds of links over UDP."""

from __future__ import annotations

from typing import Final

DATAGRAM_BYTES: Final = 1_200
"""Bytes of a datagram with several frames: the size that every path of the Internet takes without
fragments. Precedent: QUIC (RFC 9000) begins with 1,200."""

DATAGRAM_BYTES_MAX: Final = 65_000
"""Bytes of a datagram with one frame that is longer: the size that IPv4 and IPv6 carry, in
fragments, less some for headers. A frame that is longer still is not sent, and counted."""

DATAGRAM_WINDOW: Final = 1_024
"""Datagrams by which one may be late and is still distinguished from a duplicate. Precedent:
IPsec's receivers remember 64 to 1,024."""

DATAGRAM_RETRY_S: Final = 0.2
"""Seconds after which the beginning of a connection is repeated. Precedent: TCP begins with 1 s,
QUIC with a third of that; brokers know each other's address and are few."""

DATAGRAM_COOKIE_S: Final = 10
"""Seconds for which the cookie of a stranger is valid, at least."""

DATAGRAM_QUEUE_BYTES_MAX: Final = 1 << 20
"""Bytes that wait for the socket; further datagrams are lost, as at a full router on the way."""

DATAGRAM_FIRST_MAX: Final = 256
"""Datagrams that wait until the other end has taken the link into use; the rest is lost."""
