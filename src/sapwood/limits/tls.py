"""Bounds of connections that speak TLS."""

from __future__ import annotations

from typing import Final

TLS_READ_BYTES: Final = 262_144
"""Bytes that are read at a time, into one buffer for all connections (`broker.tls_reading`): as
many as without TLS, since what a read brings is handled together."""

TLS_RECORD_BYTES: Final = 16_384
"""Bytes of a record of TLS, at most (RFC 8446, 5.1)."""

TLS_PART_BYTES: Final = 32_768
"""Bytes that are handed to OpenSSL at a time, whose buffer for a connection grows to a third more
than that and a record, 64 KiB, and stays so. With asyncio's 256 KiB, 500 connections that never
finished a handshake took 80 MiB."""
