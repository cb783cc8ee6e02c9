"""The sockets on which a broker listens."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable

from sapwood.broker.datagrams import DatagramPort
from sapwood.broker.datagrams import listen as listen_for_datagrams
from sapwood.broker.tls_reading import share_buffer
from sapwood.errors import EnvironmentMissingError
from sapwood.limits import GOODBYE_S, GREETING_S
from sapwood.wire.address import Address


async def bound(
    listen: Address,
    accept: Callable[[], asyncio.Protocol],
    context: ssl.SSLContext | None = None,
    handshake_s: float = GREETING_S,
) -> asyncio.Server:
    """A server at the address to listen on, which does not serve yet.

    With a context it speaks TLS; a handshake may take `handshake_s`. Raises
    `EnvironmentMissingError`.
    """
    if context is not None:
        share_buffer()
    try:
        return await asyncio.get_running_loop().create_server(
            accept,
            listen.host,
            listen.port,
            backlog=1,  # the number accepted at a time
            start_serving=False,
            ssl=context,
            ssl_handshake_timeout=None if context is None else handshake_s,
            ssl_shutdown_timeout=None if context is None else GOODBYE_S,
        )
    except (OSError, UnicodeError) as error:  # the latter for an impossible host
        raise cannot_listen(listen, error) from error


async def bound_for_datagrams(
    listen: Address, accept: Callable[[], asyncio.Protocol]
) -> tuple[DatagramPort, Address]:
    """A UDP socket at the address to listen on, with the address; raises as `bound`."""
    try:
        made, (host, port) = await listen_for_datagrams(listen.host, listen.port, accept)
    except (OSError, UnicodeError) as error:
        raise cannot_listen(listen, error) from error
    return made, Address(host, port, is_datagram=True)


def cannot_listen(
    address: Address, error: OSError | UnicodeError, option: str = "--listen"
) -> EnvironmentMissingError:
    """The error of an address that cannot be listened on."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        remedy = "stop what listens there, or choose another port (0 picks a free one)"
        return EnvironmentMissingError(f"{option} {address}: the port is in use; {remedy}")
    return EnvironmentMissingError(f"{option} {address}: cannot listen there: {error}")
