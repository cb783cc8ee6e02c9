"""Bounds of connections that speak TLS."""

from __future__ import annotations

from typing import Final

TLS_READ_BYTES: Final = 65_536
"""Bytes that are deciphered at a time, and of the buffer that each connection has for that, from
its first byte on: four records of TLS (16 KiB each). asyncio has 256 KiB, so that 500 connections
which never finish a handshake took 80 MiB."""
