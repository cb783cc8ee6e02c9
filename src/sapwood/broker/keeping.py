"""Admission of publications to a broker's store: duplicates, size, and replay of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sapwood.broker.committing import GroupCommit
from sapwood.errors import InputError
from sapwood.files.lines import decode_publication
from sapwood.limits import REPLAY_BYTES_MAX, REPLAY_LINES_MAX
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.routing.inputs import ClientPublish, ClientPublishMany, Record
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import shortened
from sapwood.store.batches import ids_in
from sapwood.store.lines import check_line, is_finite, is_short
from sapwood.store.store import NO_ORIGIN, Store
from sapwood.wire.interests import from_text
from sapwood.wire.messages import ReplayRefused, ReplayReply, ReplayRequest
from sapwood.wire.publications import encode_publication

_FULL = "the broker's disk is full; publish again when there is room"


class Keeper:
    """Adds publications and records to a broker's store, and answers requests to read the journal.

    A publication is admitted before the router gets it: one whose id is known is accepted without a
    second effect, one that cannot be stored is refused. Where the upkeep `persists`, it requests
    the storing of its records; else the publications of clients are added when they are admitted.
    `line_bytes_max` is the longest line for readers of the journal.
    """

    def __init__(
        self, store: Store, commits: GroupCommit, *, persists: bool, line_bytes_max: int
    ) -> None:
        self.store = store
        self._commits = commits
        self._persists = persists
        self._line_bytes_max = line_bytes_max
        #: the session of the client whose publications are handled, and the number of the next one
        self._origin = NO_ORIGIN

    # Publications of clients -------------------------------------------------------------------

    def admit(self, client: ClientSessionAtBroker, request: ClientPublish) -> bool:
        """True if a publication goes on to the router; else it was answered here."""
        answer = self._judge(client, request)
        if answer is not None:
            answer()
            return False
        self._take(client, request, client.ledger.received)
        return True

    def admit_many(
        self, client: ClientSessionAtBroker, request: ClientPublishMany
    ) -> Iterator[ClientPublishMany]:
        """`admit` for consecutive publications: those that go on, in parts.

        Each part is to be handled before the next one is requested, so that publications answered
        here between two parts are answered in their place.
        """
        publications = request.publications
        number = client.ledger.received - len(publications) + 1
        if self._are_plain(client.name, publications):
            self._take(client, request, number)
            yield request
            return
        first = 0
        for place, publication in enumerate(publications):
            one = ClientPublish(client.name, publication)
            answer = self._judge(client, one)
            if answer is None:  # an id may be given twice in a batch
                self.store.publishers.take(client.name, (publication.id.encode(),))
                continue
            if place > first:
                yield self._part(client, request, first, place, number)
            answer()
            first = place + 1
        if first < len(publications):
            yield self._part(client, request, first, len(publications), number)

    def _part(
        self,
        client: ClientSessionAtBroker,
        request: ClientPublishMany,
        first: int,
        last: int,
        number: int,
    ) -> ClientPublishMany:
        part = replace(request, publications=request.publications[first:last])
        self._take(client, part, number + first)
        return part

    def _are_plain(self, client: str, publications: object) -> bool:
        """True if a client's publications are plainly all new and fit for the store."""
        if self._commits.is_full or not isinstance(publications, PublicationBatch):
            return False
        data, starts, ends = publications.data, publications.starts, publications.ends
        begin, end = starts.item(0), ends.item(-1)
        # As a rule all of them together are short; or else the longest one has to be.
        if not is_short(end - begin, self._line_bytes_max) and not is_short(
            int((ends - starts).max()), self._line_bytes_max
        ):
            return False
        if not is_finite(data, begin, end):
            return False
        return self.store.publishers.take_new(client, ids_in(data, starts))

    def _judge(
        self, client: ClientSessionAtBroker, request: ClientPublish
    ) -> Callable[[], object] | None:
        """The answer to a publication that is not to go on."""
        publication = request.publication
        if self.store.publishers.knows(client.name, publication.id.encode()):
            return partial(client.ledger.settle, publication.id)
        if self._commits.is_full:
            return partial(client.refused, request, _FULL)
        try:
            check_line(publication.encoded or encode_publication(publication), self._line_bytes_max)
        except InputError as error:
            return partial(client.refused, request, str(error))
        return None

    def _take(
        self, client: ClientSessionAtBroker, request: ClientPublish | ClientPublishMany, number: int
    ) -> None:
        """Let publications go on, of which the first has this number in the client's session."""
        publishers = self.store.publishers
        if isinstance(request, ClientPublish):
            publishers.take(client.name, (request.publication.id.encode(),))
            count = 1
        else:
            count = len(request.publications)
        self._origin = client.ledger.session, number
        publishers.published(client.name, client.ledger.session, number, count)
        if not self._persists:
            self.store.add(request, self._origin)

    def refused(self, request: object) -> None:
        """Take in that the router has refused a request: a publication is not stored."""
        if isinstance(request, ClientPublish):
            self.store.publishers.give_back(request.client, request.publication.id.encode())
            if not self._persists:
                self.store.take_back()

    # Records -----------------------------------------------------------------------------------

    def persist(self, record: Record) -> None:
        """Add a record that the router requests to be stored."""
        if not isinstance(record, ClientPublish | ClientPublishMany):
            self.store.add(record)
            return
        session, number = self._origin
        self.store.add(record, self._origin)
        self._origin = session, number + len(self.store.places)

    # Reading -----------------------------------------------------------------------------------

    def replay(self, request: ReplayRequest) -> ReplayReply | ReplayRefused:
        """A part of the journal, small enough for one frame and not to delay other connections."""
        store = self.store
        try:
            accepted = None if request.filter is None else from_text(request.filter)
            end = store.done
            through, size = min(request.start, end), 0
            lines: list[bytes] = []
            stop = min(request.end, through + REPLAY_LINES_MAX, end)
            for line in store.lines(through, stop):
                if accepted is None or accepted.matches(decode_publication(line.text).publication):
                    size += len(line.text)
                    if lines and size > REPLAY_BYTES_MAX:
                        break
                    lines.append(line.text)
                through = line.offset + 1
            else:
                through = max(through, stop)  # publications from neighbors are between the last two
        except (InputError, OSError) as error:
            return ReplayRefused(shortened(str(error)))
        first, end = store.bounds
        return ReplayReply(through, first, end, tuple(lines))


def no_replay() -> ReplayRefused:
    """The answer of a broker without a store."""
    return ReplayRefused("this broker keeps no journal; start it with --data")
