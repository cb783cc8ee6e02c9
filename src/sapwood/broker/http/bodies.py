"""Bodies of requests, read bit by bit: bounded in length, and given up after a silence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from starlette.requests import Request

from sapwood.broker.http.refusals import Refusal
from sapwood.limits.gateway import GATEWAY_BODIES_BYTES_MAX, GATEWAY_BODY_IDLE_S

LINES_AT_ONCE: Final = 64
"""Lines that are read before other tasks get a turn."""


Hold: TypeAlias = Callable[[int], None]
"""Reserves room for the present bytes of a request. Raises `Refusal` where there is none."""


def _freely(_: int) -> None:
    """There is always room."""


class Room:
    """Room for the bodies of all requests, which are in memory until they are answered.

    #: left_bytes and the held bytes add up to the bound
    """

    def __init__(self, bytes_max: int = GATEWAY_BODIES_BYTES_MAX) -> None:
        self.left_bytes = bytes_max

    @contextmanager
    def held(self) -> Iterator[Hold]:
        """Room for one request, until it is answered."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if size - held > self.left_bytes:
                reason = "too many long bodies come at once (GATEWAY_BODIES_BYTES_MAX); try again"
                raise Refusal.later(reason)
            self.left_bytes -= size - held
            held = size

        try:
            yield hold
        finally:
            self.left_bytes += held


async def chunks(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces. Raises `Refusal` after a silence, or for an encoded body."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Refusal(415, f"a body that is encoded ({encoding}) is not read; send it as it is")
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(GATEWAY_BODY_IDLE_S):
                chunk = await anext(stream, b"")
        except TimeoutError:
            reason = f"nothing came for {GATEWAY_BODY_IDLE_S:g} s; send the whole body"
            raise Refusal(408, reason, {"Connection": "close"}) from None
        if not chunk:
            return
        yield chunk


async def whole(request: Request, bytes_max: int, hold: Hold = _freely) -> bytes:
    """The body, if it is not too long. Raises `Refusal`."""
    told = request.headers.get("content-length", "")
    too_long = Refusal(413, f"the body has more than {bytes_max:,} bytes")
    if told.isascii() and told.isdigit() and (len(told) > 15 or int(told) > bytes_max):
        raise too_long
    body = bytearray()
    async for chunk in chunks(request):
        body += chunk
        if len(body) > bytes_max:
            raise too_long
        hold(len(body))
    return bytes(body)


async def lines(
    request: Request, bytes_max: int, hold: Hold = _freely
) -> AsyncIterator[tuple[int, bytes | None]]:
    """The lines of a body with their numbers, from 1 on, without their ends.

    Empty lines are left out. `None` stands for a line that is too long, of which nothing is kept.
    Yields to other tasks now and then. Raises `Refusal` as `chunks`.
    """
    cutter = LineCutter(bytes_max)
    count = 0
    async for chunk in chunks(request):
        for found in cutter.feed(chunk):
            yield found
            count += 1
            if not count % LINES_AT_ONCE:
                await asyncio.sleep(0)
        hold(cutter.held_bytes)
    for found in cutter.end():
        yield found


class LineCutter:
    """Cuts bytes into lines, of at most `bytes_max` bytes each.

    #: _parts hold the line that has begun, unless it is too long already
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._number = 1
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def held_bytes(self) -> int:
        """The bytes of the line that has begun."""
        return self._size if self._parts else 0

    def feed(self, chunk: bytes) -> list[tuple[int, bytes | None]]:
        """The lines that end in a piece, with their numbers; `None` for one that is too long."""
        found: list[tuple[int, bytes | None]] = []
        *ended, begun = chunk.split(b"\n")
        for piece in ended:
            self._add(piece)
            found += self.end()
            self._number += 1
        self._add(begun)
        return found

    def end(self) -> list[tuple[int, bytes | None]]:
        """The line that has begun, if it is not empty."""
        size, self._size = self._size, 0
        parts, self._parts = self._parts, []
        if size > self._bytes_max:
            return [(self._number, None)]
        line = b"".join(parts).strip(b" \t\r")
        return [(self._number, line)] if line else []

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._bytes_max:
            self._parts.clear()
        elif piece:
            self._parts.append(piece)
