"""Bounds of the gateway: requests and streams over HTTP."""

from __future__ import annotations

from typing import Final

GATEWAY_STREAMS_MAX: Final = 1024
"""Subscriptions by HTTP at a time (event streams and WebSockets), each of which holds a connection
and an open file; can be set. Beside them there is room for `HTTP_CONNECTIONS_MAX` requests."""

GATEWAY_REFUSED_MAX: Final = 10_000
"""Lines of one request that are listed as refused, some hundred bytes each. A request with more is
not read on: its answer says from which line."""

GATEWAY_BODY_IDLE_S: Final = 30.0
"""Seconds without a byte of a body after which a request is given up. Precedent: nginx waits for
60."""

GATEWAY_BODIES_BYTES_MAX: Final = 16_777_216
"""Bytes of all bodies that are being read, 16 MiB: eight of the longest, or some long lines. A
request that needs more room than is left is answered with 503: 200 clients that began a body of 2
MiB and stopped in the middle took 160 MiB."""

HTTP_HEAD_S: Final = 10.0
"""Seconds, twice at most, that the head of a request may take, and a connection without one.
Precedent: nginx waits 60 s for a head."""

HTTP_UNREAD_S: Final = 60.0
"""Seconds for which an HTTP client may read nothing of the bytes sent, after which the system
closes the connection (where it can: `TCP_USER_TIMEOUT`)."""

GATEWAY_PUBLISHERS_MAX: Final = 256
"""Sessions that the gateway keeps for publishers, one for each identity and machine; the one
without a publication for longest goes first. Some 20 KB each."""

GATEWAY_PUBLISHER_IDLE_S: Final = 60.0
"""Seconds without a publication after which such a session ends."""

GATEWAY_HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a stream carries a sign of life, so that no proxy on the way takes
it for dead. Precedent: the HTML standard advises one about every 15 seconds."""
