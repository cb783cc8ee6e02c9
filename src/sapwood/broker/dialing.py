"""Keeping a link to one address: connect, wait until it is gone, connect again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from sapwood.broker.logs import Log
from sapwood.broker.peer import Peer
from sapwood.broker.roster import Roster
from sapwood.session.backoff import backoff_s
from sapwood.session.connection import Ending
from sapwood.wire.address import Address
from sapwood.wire.greetings import RefusalCode
from sapwood.wire.messages import GoodbyeCode


class Dialer:
    """Connects to one address for as long as it runs, unless told that it is pointless."""

    def __init__(
        self,
        address: Address,
        connect: Callable[[Address], Awaitable[Peer]],
        roster: Roster,
        log: Log,
    ) -> None:
        self.address = address
        self._connect = connect
        self._roster = roster
        self._log = log.bind(peer=str(address))
        #: attempts in a row that led to no link
        self._failures = 0
        self._last_reason = ""

    async def run(self) -> None:
        """Connect, and again whenever the link is gone."""
        while True:
            try:
                peer = await self._connect(self.address)
            except (OSError, UnicodeError) as error:  # the latter for a host that cannot be
                self._failed(f"cannot connect: {getattr(error, 'strerror', None) or error}")
            else:
                ending = await asyncio.shield(peer.finished)
                if ending.final:
                    self._log.error("not connecting again", reason=ending.reason)
                    return
                await self._ended(peer, ending)
            await asyncio.sleep(backoff_s(self._failures, random.random()))  # noqa: S311 - jitter

    async def _ended(self, peer: Peer, ending: Ending) -> None:
        if peer.was_up:
            self._failures = 1
            self._last_reason = ""
            return
        name = ending.broker or (peer.link.name if peer.link is not None else "")
        linked = ending.code in (RefusalCode.ALREADY_LINKED, GoodbyeCode.ALREADY_LINKED)
        if linked and self._is_neighbor(name):
            # This address is needed again when that link is gone.
            await self._roster.until(lambda: not self._is_neighbor(name))
            self._failures = 1
            return
        self._failed(ending.reason)

    def _is_neighbor(self, name: str) -> bool:
        """Whether the broker of that name is a neighbor, or about to become one."""
        return name in self._roster.links or name in self._roster.offered.values()

    def _failed(self, reason: str) -> None:
        """Count, and log what is new."""
        self._failures += 1
        tell = self._log.debug if reason == self._last_reason else self._log.warning
        tell("no link", reason=reason, failures=self._failures)
        self._last_reason = reason
