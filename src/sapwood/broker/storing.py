"""A broker's store with its helpers: opened, restored from, committed to, closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from sapwood.broker.committing import Committed, GroupCommit
from sapwood.broker.connections import Connections
from sapwood.broker.durables import Durables, Shell
from sapwood.broker.garbage import without_garbage
from sapwood.broker.keeping import Keeper
from sapwood.broker.kernels import KernelLoader, kernels_for_many
from sapwood.broker.logs import Log
from sapwood.broker.returned import Returned
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.table_size_recorder import TableSizeRecorder, TimedTableSizeRecorder
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.limits import FRAME_OVERHEAD_BYTES, GOODBYE_S, TABLE_SIZES_S
from sapwood.limits.store import SESSION_RETURN_S
from sapwood.matching.readiness import loading
from sapwood.model.publication import Publication
from sapwood.routing.compacting import is_compactable
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import (
    ClientPublish,
    ClientPublishMany,
    DetachClient,
    Input,
    Recalled,
    Restored,
)
from sapwood.routing.router import Router
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.store.compacting import Compaction
from sapwood.store.records import of_another_version
from sapwood.store.store import JOURNAL, Store
from sapwood.store.table_sizes import TableSizes
from sapwood.store.writer import Policy, Retention
from sapwood.wire.messages import AllStated
from sapwood.wire.publications import decode_publication

SESSION: Final = "session"
"""The kind of the rows with the sessions of clients."""

_LARGE: Final = 1 << 16
"""Bytes of routing state, a thousand subscriptions, for which compiled kernels are loaded first: in
the second or so that it takes, plain Python restores ten thousand."""

_SOME: Final = 100
"""Clients that are detached at a time, so that the loop does not stand still."""


class Storing:
    """The store of one broker.

    `handle` hands an input to the router and has its effects carried out. Raises
    `EnvironmentMissingError` or `FileFormatError` where the folder cannot be used.
    """

    durables: Durables

    def __init__(
        self,
        folder: Path,
        settings: BrokerSettings,
        router: Router,
        host: Committed,
        log: Log,
    ) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._router = router
        #: the router's messages to neighbors survive, as both ends of a link count them
        self.persists = router.persists
        self._engines = settings.engines
        self._log = log
        policy = Policy(
            settings.durability, Retention(settings.keep_bytes_max, settings.keep_age_s)
        )
        began = time.monotonic()
        self.store = Store(
            folder,
            router.name,
            clock=time.time,
            protocol=router.protocol.name,
            persists=router.persists,
            policy=policy,
        )
        if is_compactable(router):
            self.store.writer.compaction = Compaction(folder)
        for finding in self.store.findings:
            log.error("the store is not as it was written", finding=finding)
        first, end = self.store.bounds
        log.info(
            "store opened",
            folder=str(folder),
            durability=str(settings.durability),
            first=first,
            end=end,
            seconds=round(time.monotonic() - began, 3),
        )
        self.commits = GroupCommit(self.store, loop, host, log)
        self.keeper = Keeper(
            self.store,
            self.commits,
            persists=router.persists,
            # A reader gets the line as it is, in a frame.
            line_bytes_max=settings.connection.frame_bytes_max - FRAME_OVERHEAD_BYTES,
        )
        #: the sessions of the router's clients; one that is gone leaves nothing to another
        self._sessions = {name: value.decode() for name, _, value in self.store.rows(SESSION)}
        #: connections with output that waits for a commit, and its bytes
        self._holding: dict[TcpConnection, int] = {}
        self._return: asyncio.TimerHandle | None = None
        self._table_sizes: TimedTableSizeRecorder | None = None

    def keep_subscriptions(self, shell: Shell) -> None:
        """Create the durable subscriptions."""
        self.durables = Durables(
            self.store, self.commits, shell, self._log, persists=self._router.persists
        )
        self._returned = Returned(self._router, shell, self._loop)

    def ticket(self) -> int | None:
        """End a turn; as `GroupCommit.ticket`."""
        self.durables.end_turn()
        return self.commits.ticket()

    def restore(self, now: float, kernels: KernelLoader) -> list[Effect]:
        """Restore the router's state; return its effects. No peer waits yet.

        Raises `EnvironmentMissingError` where another version wrote the state.
        """
        if not self._router.persists:
            return []
        began = time.monotonic()
        if self.store.state_bytes >= _LARGE:
            kernels.have(kernels_for_many(self._engines))
        records, first = self.store.restored()
        try:
            with loading(kernels), without_garbage():  # no work goes beside the loop
                effects = self._router.handle(Restored(records, first), now)
        except msgspec.MsgspecError as error:  # of a note, or of a part of a checkpoint
            raise of_another_version(self.store.folder, error) from error
        self._log.info(
            "state restored",
            clients=len(self._router.absent),
            publications=self.store.done - first,
            ready_made=self._router.ready_made,
            seconds=round(time.monotonic() - began, 3),
            **self._router.table_sizes(),
        )
        return effects

    def begin(self, handle: Callable[[Input], None], connections: Connections) -> None:
        """Begin to write table sizes; schedule the removal of clients that do not return.

        Raises `EnvironmentMissingError`, as `restore`.
        """
        try:
            self.durables.start()
        except msgspec.MsgspecError as error:
            raise of_another_version(self.store.folder, error) from error
        sizes = self._router.table_sizes
        file = TableSizes(self.store.folder / JOURNAL, self._router.name)
        recorder = TableSizeRecorder(sizes, file, time.time, self._log, TABLE_SIZES_S)
        self._table_sizes = TimedTableSizeRecorder(recorder, self._loop)
        if self._router.absent:
            self._return = self._loop.call_later(
                SESSION_RETURN_S, self._let_go, handle, connections
            )

    def attached(self, client: str, session: str) -> bool:
        """Record a client's session; true if a former run of it is absent since the restart."""
        known = self._sessions.get(client)
        if known != session and self._router.persists:
            self._sessions[client] = session
            self.store.put(SESSION, client, 0, session.encode())
        return client in self._router.absent and known != session

    def received(self, client: str, session: str, acknowledged: int) -> int:
        """The last number up to which a client's publications are in the log, or acknowledged."""
        return self.store.publishers.received(client, session, acknowledged)

    def remembers(self, client: str, session: str) -> bool:
        """True if the entries of a returning client, from before the restart, are in force."""
        return client in self._router.absent and self._sessions.get(client) == session

    def is_all_stated(self, client: ClientSessionAtBroker, message: object) -> bool:
        """True for `AllStated`; a returning client's other entries are withdrawn then."""
        if isinstance(message, AllStated) and client.restated is not None:
            self._returned.let_go(client, client.restated)
        return isinstance(message, AllStated)

    def detached(self, client: str) -> None:
        """Forget a client that has gone."""
        self.durables.gone(client)
        if self._sessions.pop(client, None) is not None:
            self.store.delete(SESSION, client, 0)

    def retain(self, settings: BrokerSettings) -> None:
        """Change the bounds of the kept part of the log."""
        self.store.writer.retain(Retention(settings.keep_bytes_max, settings.keep_age_s))

    def changed(self, now: float) -> None:
        """Take in that the router's tables may have changed."""
        if self._table_sizes is not None:
            self._table_sizes.mark_changed(now)

    def _let_go(self, handle: Callable[[Input], None], connections: Connections) -> None:
        """Detach clients from before the restart that have not returned, some at a time."""
        gone = [name for name in self._router.absent if name not in connections.clients]
        for name in gone[:_SOME]:
            self._log.info("client has not come back", client=name)
            self.detached(name)
            handle(DetachClient(name))
        self._return = None
        if len(gone) > _SOME:
            self._return = self._loop.call_later(0, self._let_go, handle, connections)

    # Output ------------------------------------------------------------------------------------

    def flush(self, tcp: TcpConnection, ticket: int | None, *, is_routed: bool) -> None:
        """Flush a connection: output behind uncommitted records is held back."""
        if ticket is None:
            tcp.flush()
            return
        if is_routed or not self.commits.is_full:
            tcp.flush(ticket)
        else:
            tcp.answer(ticket)
        held = tcp.outbox.held_bytes
        if held:
            self.commits.held_bytes += held - self._holding.get(tcp, 0)
            self._holding[tcp] = held

    def release(self, done: int) -> list[TcpConnection]:
        """Send output held for commits up to this one; return the connections that had any."""
        waited = list(self._holding)
        for tcp in waited:
            before = self._holding.pop(tcp)
            tcp.outbox.release(done)
            held = tcp.outbox.held_bytes
            self.commits.held_bytes += held - before
            if held:
                self._holding[tcp] = held
        return waited

    def forget(self, tcp: TcpConnection) -> None:
        """Forget a connection that is closed."""
        self.commits.held_bytes -= self._holding.pop(tcp, 0)

    # Effects -----------------------------------------------------------------------------------

    def recall(self, places: tuple[int, ...], handle: Callable[[Input], None]) -> None:
        """Read publications again for the router, when they are committed."""

        def look() -> None:
            read: list[tuple[int, Publication]] = []
            for one in self.store.read_places(places):
                publication = decode_publication(one.encoded)
                publication.keep_written_at(one.published_at)
                read.append((one.place, publication))
            handle(Recalled(read, places))

        self.commits.when_done(look)

    # The end -----------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Return when everything added is committed, or there is no hope of it."""
        self.durables.stop()
        if self._return is not None:
            self._return.cancel()
        if self._table_sizes is not None:
            self._table_sizes.close()  # the sizes before clients and links are gone
            self._table_sizes = None
        try:
            await asyncio.wait_for(self.commits.drained(), GOODBYE_S)
        except TimeoutError:
            self._log.error("the disk did not take everything in time")

    async def close(self) -> None:
        """Make every commit durable, and close the store."""
        await asyncio.to_thread(self.commits.close)


def admits(store: Storing | None, client: ClientSessionAtBroker, request: ClientPublish) -> bool:
    """True if a publication of a client goes on to the router."""
    return store is None or store.keeper.admit(client, request)


def admitted(
    store: Storing | None, client: ClientSessionAtBroker, request: ClientPublishMany
) -> Iterable[ClientPublishMany]:
    """The publications of a client that go on to the router."""
    if not request.publications:  # the client has sent again publications already received
        return ()
    return (request,) if store is None else store.keeper.admit_many(client, request)
