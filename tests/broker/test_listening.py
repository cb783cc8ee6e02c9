"""The buffers of TLS connections: bounded, and never made larger."""

from __future__ import annotations

from asyncio.sslproto import SSLProtocol

import pytest

from sapwood.broker.listening import bound_buffers
from sapwood.limits.tls import TLS_READ_BYTES


def test_the_buffer_of_a_connection_is_bounded_and_never_made_larger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for size, wanted in ((262_144, TLS_READ_BYTES), (1000, 1000)):
        monkeypatch.setattr(SSLProtocol, "max_size", size)
        bound_buffers()
        assert SSLProtocol.max_size == wanted
