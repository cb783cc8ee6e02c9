"""Addresses as people write them: `host:port`, or one of the two alone.

The prefix `tls://` stands for TLS, and `udp://` for links by datagrams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Final

from sapwood.errors import InputError

HOST_DEFAULT: Final = "127.0.0.1"
"""The host of an address that is a port alone: this machine, reachable from nowhere else."""

PORT_DEFAULT: Final = 7411
PORT_MAX: Final = 65_535

UDP: Final = "udp://"
"""The prefix of an address for datagrams."""

TLS: Final = "tls://"
"""The prefix of an address for TLS."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host (a name or an IP address, without brackets) and a TCP port; 0 means any free one.

    Where it `is_datagram`, the port is UDP's; where it `is_tls`, the two ends speak TLS.
    """

    host: str
    port: int
    is_datagram: bool = False
    is_tls: bool = False

    def __str__(self) -> str:
        scheme = UDP if self.is_datagram else TLS if self.is_tls else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}{host}:{self.port}"


def parse_address(text: str, *, listening: bool = False, linking: bool = False) -> Address:
    """The address of `host:port`, `[ipv6]:port`, `host` (port 7411) or `port` (127.0.0.1).

    A number alone is a port: systems would take it for the address 0.0.29.187 or the like. Port 0
    is accepted only for `listening`. The prefix `tls://` is accepted from a program that connects,
    and `udp://` between brokers, which is `linking`. Raises `InputError` with the expected form.
    """
    if not isinstance(text, str):
        raise InputError(f"an address is a text such as '127.0.0.1:7411', not {text!r}")
    is_datagram = text.startswith(UDP)
    if is_datagram and not linking:
        raise InputError(f"{text!r}: links of brokers may be over UDP, clients need TCP: host:port")
    is_tls = text.startswith(TLS)
    if is_tls and listening:
        raise InputError(f"{text!r}: a broker listens by TLS where --tls-cert is given: host:port")
    host, port = _divide(text.removeprefix(TLS if is_tls else UDP))
    if not host or any(character.isspace() for character in host):
        raise InputError(f"{text!r} is no address: write host:port, such as 127.0.0.1:7411")
    if not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > PORT_MAX:
        raise InputError(f"{text!r}: the port is a number from 1 to {PORT_MAX}, not {port!r}")
    if int(port) == 0 and not listening:
        raise InputError(f"{text!r}: port 0 means any free port, which only a listener can ask for")
    return Address(host, int(port), is_datagram, is_tls)


def _divide(text: str) -> tuple[str, str]:
    """Host and port as texts; the host is empty where the text has no such form."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            return "", ""
        return host, rest[1:] if rest else str(PORT_DEFAULT)
    host, colon, port = text.rpartition(":")
    if not colon:
        is_port = text.isascii() and text.isdigit()
        return (HOST_DEFAULT, text) if is_port else (text, str(PORT_DEFAULT))
    # An IPv6 address without brackets would be cut at its last colon.
    return ("", "") if ":" in host else (host, port)


def as_seen(listens: str, peer: str) -> str:
    """The address of a broker, as a broker that is linked with it by `peer` may pass it on.

    A broker that listens at all addresses of its machine announces none of them: its address is
    then the one that its connection comes from. Empty where the address is unknown, or no address
    at all.
    """
    try:
        found, seen = parse_address(listens), parse_address(peer, listening=True)
        unspecified = ip_address(found.host).is_unspecified
    except InputError:
        return ""
    except ValueError:  # a name
        unspecified = False
    return str(replace(found, host=seen.host) if unspecified else found)


def is_loopback(host: str) -> bool:
    """True if only this machine reaches a host: loopback addresses, and the name for them."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
