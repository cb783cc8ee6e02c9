"""The publications of a client on their way to the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from sapwood.client.names import Names
from sapwood.client.publishing import Answers, Content, Sink
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.session.client_session import ClientSession
from sapwood.wire.publications import encode_publication

FLUSH_BYTES: Final = 65_536
"""Publications are handed to the transport when so many bytes have come together."""


class Outgoing:
    """Sends publications as soon as there is room for them, many in one write.

    `send` hands what the session has to say to the transport.
    """

    def __init__(self, session: ClientSession, names: Names, send: Callable[[], None]) -> None:
        self.answers = Answers()
        #: the broker's bound, once it has told it
        self.frame_bytes_max = FRAME_BYTES_MAX
        self._session = session
        self._names = names
        self._send = send
        self._is_scheduled = False

    async def put(self, given: Content, id_: str | None, sink: Sink) -> str:
        """Send a publication; returns its id. `sink` hears what comes of it.

        Raises `InvalidValueError` or `LimitError` for attributes that cannot be published.
        """
        publication = self._publication(given, id_)
        body = encode_publication(publication, self.frame_bytes_max)
        while self._session.window.full:
            self.flush()
            await self.answers.progress()
        self._session.publish(body)
        self.answers.sent(publication.id, sink)
        if self._session.outgoing_bytes >= FLUSH_BYTES:
            self.flush()
        elif not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)
        return publication.id

    def flush(self) -> None:
        """Send what there is."""
        self._is_scheduled = False
        self._send()

    def _publication(self, given: Content, id_: str | None) -> Publication:
        if isinstance(given, Publication):
            return given if id_ is None else given.renamed(id_)
        if id_ is None:
            id_ = self._names.next(f"{self._session.name}.{self._session.session}.")
        if isinstance(given, bytes):
            return Publication(id_, document=given)
        return Publication(id_, given)
