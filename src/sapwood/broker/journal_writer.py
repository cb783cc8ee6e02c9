"""The journal of a broker: accepted publications are appended to it, and read from it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sapwood.errors import InputError
from sapwood.files.lines import decode_publication
from sapwood.limits import REPLAY_BYTES_MAX, REPLAY_LINES_MAX
from sapwood.routing.inputs import ClientPublish, ClientPublishMany
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import shortened
from sapwood.store.journal import Journal
from sapwood.wire.interests import from_text
from sapwood.wire.messages import ReplayRefused, ReplayReply, ReplayRequest


class JournalWriter:
    """Writes a broker's journal and answers requests to read it; without one, does nothing.

    `clock` gives the seconds since 1970. A publication is written before the router sees it, and
    durable before any message about it is sent (`sync`).
    """

    def __init__(self, journal: Journal | None, clock: Callable[[], float]) -> None:
        self._journal = journal
        self._clock = clock

    def write(self, client: ClientSessionAtBroker, request: ClientPublish) -> bool:
        """Append a publication; `False` where it was answered here.

        A publication whose id the journal has is accepted without a second effect, one that cannot
        be written is refused.
        """
        answer = self._append(client, request)
        if answer is not None:
            answer()
        return answer is None

    def write_many(
        self, client: ClientSessionAtBroker, request: ClientPublishMany
    ) -> Iterator[ClientPublishMany]:
        """`write` for publications that follow each other: what is left of them, in parts.

        Each part is to be handled before the next one is asked for, so that what is answered here
        between two of them is answered in its place.
        """
        first, publications = 0, request.publications
        for place, publication in enumerate(publications if self._journal is not None else ()):
            answer = self._append(client, ClientPublish(client.name, publication))
            if answer is not None:
                if place > first:
                    yield replace(request, publications=publications[first:place])
                answer()
                first = place + 1
        if first < len(publications):
            yield replace(request, publications=publications[first:])

    def _append(
        self, client: ClientSessionAtBroker, request: ClientPublish
    ) -> Callable[[], object] | None:
        """Append a publication; where it is not to go on, what answers it."""
        if self._journal is None:
            return None
        try:
            if self._journal.append(request.publication, self._clock()):
                return None
        except InputError as error:
            return partial(client.refused, request, str(error))
        except OSError as error:
            reason = f"the broker's journal cannot be written: {error.strerror}"
            return partial(client.refused, request, reason)
        return partial(client.ledger.settle, request.publication.id)

    def retract(self, request: object) -> None:
        """Remove the publication of a request that the router refused, if it is one."""
        if self._journal is not None and isinstance(request, ClientPublish):
            self._journal.retract()

    def sync(self) -> None:
        """Return when all that was written is durable. Raises `OSError`."""
        if self._journal is not None:
            self._journal.sync()

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def replay(self, request: ReplayRequest) -> ReplayReply | ReplayRefused:
        """A part of the journal, small enough for one frame and not to delay other connections."""
        if self._journal is None:
            return ReplayRefused("this broker keeps no journal; start it with --data")
        try:
            accepted = None if request.filter is None else from_text(request.filter)
            through, size = min(request.start, self._journal.bounds.end), 0
            lines: list[bytes] = []
            stop = min(request.end, through + REPLAY_LINES_MAX)
            for line in self._journal.read(through, stop):
                if accepted is None or accepted.matches(decode_publication(line.text).publication):
                    size += len(line.text)
                    if lines and size > REPLAY_BYTES_MAX:
                        break
                    lines.append(line.text)
                through = line.offset + 1
        except (InputError, OSError) as error:
            return ReplayRefused(shortened(str(error)))
        first, end = self._journal.bounds
        return ReplayReply(through, first, end, tuple(lines))
