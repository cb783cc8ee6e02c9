"""One connection that asks: how long it waits."""

from __future__ import annotations

import socket

import pytest

from sapwood.asking.asker import Asker
from sapwood.errors import ConnectionLostError

pytestmark = pytest.mark.network


def test_who_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ConnectionLostError, match=f"broker {address}: timed out"):
            Asker(address, answer_s=0.01)
