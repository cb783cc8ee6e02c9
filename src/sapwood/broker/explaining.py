"""Answers of a broker about a subscription and a publication: for `sapwood explain --broker`.

Only clients that may read the broker's state get them (`answering.py`). Every search has a bound,
so that other clients wait for no more than some ten milliseconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from sapwood.broker.status import Asked, addresses
from sapwood.errors import InputError, LimitError
from sapwood.limits import BODY_BYTES_AT_ONCE, FILTER_STEPS_AT_ONCE
from sapwood.limits.explaining import (
    EXPLAINED_COVERS_MAX,
    EXPLAINED_NAMED_MAX,
    EXPLAINED_SEARCHED_MAX,
)
from sapwood.model.filter import EVERYTHING
from sapwood.model.interest import Interest
from sapwood.model.kept import Kept, kept
from sapwood.model.publication import Publication
from sapwood.routing.explaining.accounts import Account, Held, Owned, Question, account, ways
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.propagation.reasons import Reason, Treatment
from sapwood.routing.tables import LocalEntry, ReceivedEntry
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import shortened
from sapwood.session.durable.subscriptions import OWNER, SUBSCRIPTION_ID, is_owner
from sapwood.session.grants import Gate
from sapwood.wire.durable import DurableState
from sapwood.wire.explaining import (
    Answer,
    Asking,
    ExplainReply,
    ExplainRequest,
    Found,
    Search,
    answer_bytes,
)
from sapwood.wire.interests import InterestText, from_text
from sapwood.wire.publications import decode_publication


def explained(request: ExplainRequest, broker: Asked) -> ExplainReply:
    """The answer to a request; changes nothing."""
    router = broker.router
    links = broker.connections.links
    found: list[Found] = []
    is_all, following, answer, refusal = True, 0, b"", ""
    try:
        search = request.search
        if search is not None and search.covers:
            found, following = _covers(search, broker)
        elif search is not None:
            found, is_all = _search(search, broker)
        said = None if request.question is None else _answer(request.question, broker)
        answer = answer_bytes(Answer(tuple(found), said))
    except InputError as error:
        refusal = shortened(str(error))
    return ExplainReply(
        router.name,
        router.protocol.name,
        ways(router, router.name),
        tuple(links),
        addresses(broker),
        is_all,
        following,
        answer,
        refusal,
    )


# The router --------------------------------------------------------------------------------------


def _answer(asking: Asking, broker: Asked) -> Account | None:
    """The router's account. Raises `InputError` for a question that cannot be parsed at once."""
    subject: Owned | Held | None = asking.owned
    if asking.told is not None:
        told = asking.told
        wanted = None if told.filter is None else _read(told.filter)
        subject = Held(told.neighbor, Reason(Treatment.ITSELF, told.key, wanted))
    question = Question(
        asking.source,
        asking.way,
        subject,
        None if asking.publication is None else _publication(asking.publication),
        asking.origin,
        asking.toward,
        asking.first,
        asking.about,
    )
    return account(broker.router, question, asyncio.get_running_loop().time())


def _publication(encoded: bytes) -> Publication:
    if len(encoded) > BODY_BYTES_AT_ONCE:
        subject = "the size of a publication that is to be explained, bytes,"
        raise LimitError("BODY_BYTES_AT_ONCE", BODY_BYTES_AT_ONCE, len(encoded), subject)
    return decode_publication(encoded)


def _read(text: InterestText) -> Interest:
    return from_text(text, steps_max=FILTER_STEPS_AT_ONCE)


# Subscriptions of own clients --------------------------------------------------------------------


def _search(search: Search, broker: Asked) -> tuple[list[Found], bool]:
    """The subscriptions that a search finds, and whether all were compared."""
    core = next(iter(broker.router.membership.cores(broker.router.name)), None)
    if core is None:
        return [], True
    wanted = None if search.filter is None else _Wanted(_read(search.filter))
    found: list[Found] = []
    for looked, entry in enumerate(_candidates(core, search)):
        if looked == EXPLAINED_SEARCHED_MAX or len(found) == EXPLAINED_NAMED_MAX:
            return found, False
        session = _session(broker, entry.client)
        if wanted is None or wanted.is_in(entry, session):
            found.append(_told(core, entry, session, _mailbox(entry, broker)))
    return found, True


def _covers(search: Search, broker: Asked) -> tuple[list[Found], int]:
    """One page of the subscriptions that cover a filter, and the next place; 0 at the end."""
    core = next(iter(broker.router.membership.cores(broker.router.name)), None)
    if core is None or search.filter is None:
        return [], 0
    wanted = _read(search.filter)
    found: list[Found] = []
    place, end = search.first, search.first + EXPLAINED_COVERS_MAX
    for neighbor, key, entry in islice(_known(core), place, end):
        if len(found) == EXPLAINED_NAMED_MAX:
            return found, place
        place += 1
        if not entry.filter.covers(wanted):
            continue
        if isinstance(entry, LocalEntry):
            session = _session(broker, entry.client)
            found.append(_told(core, entry, session, _mailbox(entry, broker)))
        else:
            heard = Found("", key, entry.filter, in_force=True, is_connected=True)
            found.append(replace(heard, neighbor=neighbor))
    return found, place if place == end else 0


def _known(
    core: OnOneTree,
) -> Iterator[tuple[str, str, LocalEntry[Interest] | ReceivedEntry[Interest]]]:
    """All entries of a router: the neighbor that sent it, empty for a client, key and entry."""
    entries = core.subscriptions.entries
    for key, entry in entries.by_key.items():
        yield "", key, entry
    for neighbor, received in entries.received.items():
        for key, heard in received.items():
            yield neighbor, key, heard


def _candidates(core: OnOneTree, search: Search) -> Iterator[LocalEntry[Interest]]:
    entries = core.subscriptions.entries
    if search.durable:
        own = entries.by_client.get(OWNER + search.durable, {})
        yield from own.values()
    elif search.client:
        yield from entries.by_client.get(search.client, {}).values()
    else:
        yield from entries.by_key.values()


class _Wanted:
    """A filter, in its stored form, and as grants narrow it.

    #: _narrowed has its stored form under each tag of a grant; `None` where it is empty
    """

    def __init__(self, interest: Interest) -> None:
        self._interest = interest
        self._kept = kept(interest)
        self._narrowed: dict[str, Kept | None] = {}

    def is_in(self, entry: LocalEntry[Interest], session: ClientSessionAtBroker | None) -> bool:
        """True if an entry has the filter, or the part that its client's grant leaves of it."""
        if entry.content == self._kept:
            return True
        gate = None if session is None else session.gate
        if gate is None:
            return False
        if gate.tag not in self._narrowed:
            self._narrowed[gate.tag] = self._under(gate)
        return entry.content == self._narrowed[gate.tag]

    def _under(self, gate: Gate) -> Kept | None:
        try:
            return kept(gate.grant.narrowed(self._interest))
        except InputError:
            return None


def _told(
    core: OnOneTree,
    entry: LocalEntry[Interest],
    session: ClientSessionAtBroker | None,
    durable: DurableState | None,
) -> Found:
    gate = None if session is None else session.gate
    allowed = None
    if gate is not None and gate.grant.subscribe != EVERYTHING:
        allowed = gate.grant.subscribe
    return Found(
        entry.client,
        entry.id,
        entry.filter,
        core.subscriptions.in_force(entry.key),
        session is not None or (durable is not None and bool(durable.consumers)),
        allowed,
        durable,
    )


def _session(broker: Asked, client: str) -> ClientSessionAtBroker | None:
    tcp = broker.connections.clients.get(client)
    return None if tcp is None else tcp.client


def _mailbox(entry: LocalEntry[Interest], broker: Asked) -> DurableState | None:
    """The mailbox of a subscription that is a durable one."""
    if entry.id != SUBSCRIPTION_ID or not is_owner(entry.client) or broker.store is None:
        return None
    return broker.store.durables.state(entry.client)
