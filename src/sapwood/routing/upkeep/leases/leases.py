"""Soft state: every entry of a routing table runs out, unless it is renewed from where it began.

XSiena chapter 7. A router renews the subscriptions and advertisements of its own clients, each
`period_s`, on every link on which they were sent; a router that holds the entry extends its lease
and passes the renewal on at once, over the links on which it has sent the entry in turn. An entry
that is not renewed is withdrawn from routing, as if the neighbor had withdrawn it.

* *Expiry is private*: its consequences are not sent to others. Their own leases run out, and
  entries that the expired one covered are sent when they are renewed next. So a failure causes no
  storm, and tables are right a period later than they could be.
* *Renewals are short*: keys and digests of filters (`notes`). A router that lacks an entry, or has
  another filter under its key, requests it. So entries that were lost, or damaged, are right again
  with the next renewal, and nothing but renewals travels where all is right.
* *Leases are as long as renewals may be late* (`extension`): the interval plus a bound of the age
  of the renewal, which links know without common clocks. Both are capped, so that every lease ends.
* *Confirmations* are requested until they come: a renewal marks entries that wait for theirs.
* A key that is known from another side already is not believed: either entry may be the wrong one,
  and the wrong one is not renewed. Where both are, for longer than leases last, links form a
  circle, and routing closes this one.
* *Lossy links* are made FIFO by numbers (`gate`).

Explicit withdrawals, and links that are seen to fail, only make things faster: all is right without
them. So nothing here is persisted, and nothing is kept of a neighbor whose link is down.

For a link with the delay d, a period t and an interval T, an entry outlives its renewals as long as
t, plus the amount by which the next renewal is slower than this one, is at most T plus the
extension.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from sapwood.errors import InvariantError
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.model.kept import content_of
from sapwood.routing.client_entries import ADVERTISEMENTS as ADVERTISEMENT_WORDS
from sapwood.routing.client_entries import SUBSCRIPTIONS as SUBSCRIPTION_WORDS
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    ConfirmMany,
    Message,
    Replace,
    Stamped,
    Subscribe,
    SubscribeMany,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
    UpkeepNote,
)
from sapwood.routing.tables import CLIENTS, SentEntry, Table
from sapwood.routing.upkeep.leases.gate import Gate
from sapwood.routing.upkeep.leases.notes import (
    Missing,
    Renewal,
    Renewed,
    digest_of,
    note_of,
    number_in,
    portions,
    said_in,
    stamp_of,
)
from sapwood.routing.upkeep.leases.table import Lease, LeaseTable
from sapwood.routing.upkeep.leases.terms import Seen, Terms
from sapwood.routing.upkeep.protocol import Action, Kept

SUBSCRIPTIONS: Final = 0
ADVERTISEMENTS: Final = 1
_KINDS: Final = (ADVERTISEMENTS, SUBSCRIPTIONS)
"""The kinds in the order of processing: advertisements make subscriptions wanted."""

_WORDS: Final = (SUBSCRIPTION_WORDS, ADVERTISEMENT_WORDS)
"""The messages of entries, by kind."""


@dataclass(slots=True)
class _Onward:
    """The renewals for one link, by kind."""

    entries: tuple[list[Renewed], list[Renewed]]

    @staticmethod
    def nothing() -> _Onward:
        """Empty lists of both kinds."""
        return _Onward(([], []))


class Leases:
    """The leases of the entries that one router has from neighbors, and the renewals of its own.

    #: _tables have leases of links that are up, and of entries that routing has, or had; entries
    #: without a lease get one at the next renewal
    #: _gates has the links that are lossy
    """

    def __init__(self, router: Kept, terms: Terms | None = None) -> None:
        self._router = router
        self._terms = Terms() if terms is None else terms
        self._extension = self._terms.extension()
        self._tables = (LeaseTable(), LeaseTable())
        self._gates: dict[str, Gate] = {}
        self._sessions = 0
        #: when the next renewals are due; `None` before the first input
        self._due: float | None = None
        #: true while routing sends the consequences of an expiry, which are private
        self._is_private = False
        #: the age of what routing sends now, in nanoseconds
        self._age_ns: int | None = 0
        #: kind and key -> the times of its first and its last appearance on a second side
        self._disputed: dict[tuple[int, str], tuple[float, float]] = {}
        self._counts = dict.fromkeys(
            ("renewed", "expired", "missed", "overtaken", "disputed", "unread"), 0
        )
        self._utilized = 0.0

    @property
    def is_passive(self) -> bool:
        """False: every input and message passes it."""
        return False

    @property
    def takes_batches(self) -> bool:
        """True: on links that are not lossy, batches pass."""
        return True

    @property
    def utilization(self) -> float:
        """The average share of leases that had elapsed when they were renewed; 0 to 1."""
        renewed = self._counts["renewed"]
        return self._utilized / renewed if renewed else 0.0

    # Links and clients -------------------------------------------------------------------------

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        """Hand on a link; routing sends the neighbor all entries; lossy links get numbers."""
        self._see(now)
        if link.is_lossy:
            self._sessions += 1
            life = self._router.incarnation
            patience_s = self._terms.longest_s
            self._gates[link.neighbor] = Gate(life, self._sessions, patience_s)
        return (link,)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        """Hand on the end of a link; routing forgets the entries received over it."""
        self._see(now)
        self._forget(link.neighbor)
        return (link,)

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Forget a link that routing has forgotten."""
        self._forget(link.neighbor)
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:
        """Hand on a request as it is."""
        self._see(now)
        return (request,)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: nothing was persisted; neighbors renew the entries they have sent."""
        return ()

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Return nothing: no publication was recalled."""
        return ()

    # Arrivals ----------------------------------------------------------------------------------

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """Give leases to entries that are sent or renewed, and hand on changes of routing."""
        self._see(now)
        if isinstance(received, ReceiveMany):
            if received.neighbor not in self._gates:
                yield received
            return
        neighbor, message = received.neighbor, self._opened(received, now)
        if message is None:
            return
        self._age_ns = received.age_ns
        match message:
            case UpkeepNote():
                yield from self._noted(received, message, now)
            case Subscribe() | Replace() | SubscribeMany() | Advertise():
                yield from self._stated(neighbor, message, now)
            case Unsubscribe(key):
                self._tables[SUBSCRIPTIONS].drop(neighbor, key)
                yield Receive(neighbor, message)
            case UnsubscribeMany(keys):
                for key in keys:
                    self._tables[SUBSCRIPTIONS].drop(neighbor, key)
                yield Receive(neighbor, message)
            case Unadvertise(key):
                self._tables[ADVERTISEMENTS].drop(neighbor, key)
                yield Receive(neighbor, message)
            case _:
                yield Receive(neighbor, message)
        self._age_ns = 0

    def _opened(self, received: Receive, now: float) -> Message | None:
        """A message as routing reads it; `None` for one that was overtaken, or came before."""
        message, gate = received.message, self._gates.get(received.neighbor)
        if gate is None:
            return message
        number = None
        if isinstance(message, Stamped):
            number, message = number_in(message.stamp), message.message
        elif isinstance(message, UpkeepNote):
            said = said_in(message)
            number = None if said is None else said.number
        if gate.admits(number, now):
            return message
        self._counts["overtaken"] += 1
        return None

    def _noted(self, received: Receive, note: UpkeepNote, now: float) -> Iterator[Action]:
        """Take in a note of a neighbor's leases."""
        said = said_in(note)
        match said:
            case Renewal():
                yield from self._renewed(received.neighbor, said, received.age_ns, now)
            case Missing():
                yield from self._restated(received.neighbor, said, now)
            case None:
                self._counts["unread"] += 1  # damaged, or of another strategy

    # Entries -----------------------------------------------------------------------------------

    def _stated(
        self,
        neighbor: str,
        message: Subscribe | Replace | SubscribeMany | Advertise,
        now: float,
    ) -> Iterator[Action]:
        """Take in a neighbor's entry: new, again, or in conflict with another side's."""
        match message:
            case SubscribeMany(keys, filters, first):
                entries = self._entries(SUBSCRIPTIONS)
                if entries is None or not all(self._is_plain(entries, key) for key in keys):
                    for number, key, wanted in zip(
                        count(first), keys, filters.values, strict=False
                    ):
                        yield from self._stated(neighbor, Subscribe(key, wanted, number), now)
                    return
                for number, key in zip(count(first), keys, strict=False):
                    self._begin(SUBSCRIPTIONS, neighbor, key, number, now)
                yield Receive(neighbor, message)
                return
            case Replace(replaced=replaced):
                for other in replaced:
                    self._tables[SUBSCRIPTIONS].drop(neighbor, other)
            case _:
                replaced = ()
        kind = ADVERTISEMENTS if isinstance(message, Advertise) else SUBSCRIPTIONS
        if (yield from self._is_new(kind, neighbor, message, now)):
            yield Receive(neighbor, message)
        elif replaced:
            yield Receive(neighbor, UnsubscribeMany(replaced[:SUBSCRIPTIONS_AT_ONCE_MAX]))

    def _is_new(
        self, kind: int, neighbor: str, message: Subscribe | Replace | Advertise, now: float
    ) -> Generator[Action, None, bool]:
        """True if routing is to receive an entry; one that it has is confirmed again."""
        entries, key = self._entries(kind), message.key
        if entries is None or neighbor not in entries.neighbors():
            return True
        held = entries.held(neighbor, key)
        if held is not None and digest_of(held.content) == digest_of(message.filter):
            self._begin(kind, neighbor, key, message.sending, now)
            if entries.in_force(key):
                yield self._send(neighbor, _WORDS[kind].confirm(key, message.sending), 0)
            return False
        if held is not None:
            yield from self._withdraw(kind, neighbor, (key,))
        elif self._is_doubtful(kind, key, now):
            return False
        self._begin(kind, neighbor, key, message.sending, now)
        return True

    def _begin(self, kind: int, neighbor: str, key: str, sending: int, now: float) -> None:
        """Lease an entry for this router's own interval, until a renewal brings the owner's."""
        extension_ns = self._extension.of(f"stated {neighbor}", self._age_ns, now)
        length_s = self._terms.length_s(self._terms.interval_s, extension_ns)
        lease = Lease(now, now + length_s, self._age_ns, sending)
        self._tables[kind].begin(neighbor, key, lease)

    def _is_doubtful(self, kind: int, key: str, now: float) -> bool:
        """True if a neighbor cannot have a key, as far as this router knows.

        It is there from another side, and has not been for longer than any lease lasts; or it is of
        the form that this router gives to the entries of its own clients.
        """
        entries = self._entries(kind)
        if entries is not None and entries.side_of(key) is not None:
            return not self._is_circle(kind, key, now)
        return self._is_own(key)

    def _is_own(self, key: str) -> bool:
        """True if a key has the form that this router gives."""
        own = f"{self._router.name}.{self._router.incarnation}."
        return key.startswith(own) and "." not in key[len(own) :]

    def _is_plain(self, entries: Table, key: str) -> bool:
        """True if a new key is on no side, and is not this router's."""
        return entries.side_of(key) is None and not self._is_own(key)

    def _is_circle(self, kind: int, key: str, now: float) -> bool:
        """True if a key has come from two sides for longer than any lease lasts."""
        longest_s = self._terms.longest_s + self._terms.period_s
        since, last = self._disputed.get((kind, key), (now, now))
        if now - last > longest_s:
            since = now
        self._disputed[kind, key] = (since, now)
        self._counts["disputed"] += 1
        return now - since > longest_s

    # Renewals ----------------------------------------------------------------------------------

    def _renewed(
        self, neighbor: str, renewal: Renewal, age_ns: int | None, now: float
    ) -> Iterator[Action]:
        """Renew present entries, request missing ones, and pass on the renewals of sent ones."""
        extension_ns = self._extension.of(renewal.origin, age_ns, now)
        length_s = self._terms.length_s(renewal.interval_us / 1e6, extension_ns)
        onward: dict[str, _Onward] = {}
        missing: tuple[list[str], list[str]] = ([], [])
        for kind in _KINDS:
            entries = self._entries(kind)
            if entries is None or neighbor not in entries.neighbors():
                continue
            others = [other for other in entries.neighbors() if other != neighbor]
            wrong: list[str] = []
            for renewed in renewal.advertisements if kind else renewal.subscriptions:
                key = renewed.key
                held = entries.held(neighbor, key)
                if held is None:
                    if not self._is_doubtful(kind, key, now):
                        missing[kind].append(key)
                    continue
                if digest_of(held.content) != renewed.digest:
                    wrong.append(key)
                    continue
                lease = Lease(now, now + length_s, age_ns)
                self._prolong(kind, neighbor, renewed, lease, extension_ns / 1e9)
                if renewed.awaited and entries.in_force(key):
                    confirm = _WORDS[kind].confirm(key, renewed.awaited)
                    yield self._send(neighbor, confirm, 0)
                for other in others:
                    stated = entries.stated(other, key)
                    if stated is not None:
                        again = _again(entries, other, stated, renewed.digest)
                        onward.setdefault(other, _Onward.nothing()).entries[kind].append(again)
            yield from self._withdraw(kind, neighbor, wrong)
            missing[kind].extend(wrong)
        if missing[SUBSCRIPTIONS] or missing[ADVERTISEMENTS]:
            self._counts["missed"] += len(missing[SUBSCRIPTIONS]) + len(missing[ADVERTISEMENTS])
            yield from self._ask(neighbor, missing)
        for other, said in onward.items():
            yield from self._renew(other, renewal.origin, renewal.interval_us, said, age_ns)

    def _prolong(
        self, kind: int, neighbor: str, renewed: Renewed, lease: Lease, extension_s: float
    ) -> None:
        """Replace the lease of an entry by the new one, even if that is shorter."""
        present = self._tables[kind].get(neighbor, renewed.key)
        lease.sending = renewed.awaited
        if present is not None:
            lease.sending = renewed.awaited or present.sending
            utilization = (lease.begun - present.begun) / present.length_s
            self._counts["renewed"] += 1
            self._utilized += utilization
            if self._terms.observe is not None:
                seen = Seen(lease.begun, neighbor, renewed.key, utilization, extension_s)
                self._terms.observe(seen)
        self._tables[kind].begin(neighbor, renewed.key, lease)

    def _renew(
        self, neighbor: str, origin: str, interval_us: int, said: _Onward, age_ns: int | None
    ) -> Iterator[Effect]:
        """Renew entries on a link, in as many notes as are needed."""
        gate = self._gates.get(neighbor)
        for subscriptions, advertisements in portions(*said.entries):
            number = None if gate is None else gate.number()
            note = Renewal(number, origin, interval_us, subscriptions, advertisements)
            yield Send(neighbor, note_of(note), age_ns)

    def _ask(self, neighbor: str, missing: tuple[list[str], list[str]]) -> Iterator[Effect]:
        """Request entries that were renewed and are missing here."""
        gate = self._gates.get(neighbor)
        named = ([Renewed(key, b"") for key in keys] for keys in missing)
        for subscriptions, advertisements in portions(*named):
            number = None if gate is None else gate.number()
            keys = tuple(tuple(one.key for one in part) for part in (subscriptions, advertisements))
            yield Send(neighbor, note_of(Missing(number, *keys)))

    def _restated(self, neighbor: str, missing: Missing, now: float) -> Iterator[Action]:
        """Send a neighbor entries again that it has lost."""
        for kind in _KINDS:
            entries = self._entries(kind)
            if entries is None:
                continue
            for key in missing.advertisements if kind else missing.subscriptions:
                stated = entries.stated(neighbor, key)
                if stated is not None:
                    content = content_of(stated.content)
                    message = _WORDS[kind].state(key, content, stated.sending)
                    yield self._send(neighbor, message, self._age_of(kind, entries, key, now))

    def _age_of(self, kind: int, entries: Table, key: str, now: float) -> int | None:
        """The age of an entry: the time since its owner renewed it last, at most."""
        source = entries.side_of(key)
        if source is None or source == CLIENTS:
            return 0
        lease = self._tables[kind].get(source, key)
        if lease is None or lease.age_ns is None:
            return None
        return lease.age_ns + self._terms.drift.up(math.ceil((now - lease.begun) * 1e9))

    # Time --------------------------------------------------------------------------------------

    def tick(self, now: float) -> Iterable[Action]:
        """Withdraw the entries that have run out, and renew own ones when that is due."""
        self._see(now)
        for kind in _KINDS:
            gone: dict[str, list[str]] = {}
            for neighbor, key in self._tables[kind].expired(now):
                gone.setdefault(neighbor, []).append(key)
            for neighbor, keys in gone.items():
                self._counts["expired"] += len(keys)
                yield from self._withdraw(kind, neighbor, keys)
        if self._due is not None and self._due <= now:
            self._due = now + self._terms.period_s
            self._adopt(now)
            yield from self._begin_renewals()

    def next_deadline(self) -> float | None:
        """The time of the next expiry or renewal."""
        times = (self._due, *(table.next_expiry() for table in self._tables))
        return min((one for one in times if one is not None), default=None)

    def _begin_renewals(self) -> Iterator[Effect]:
        """Renew on each link the entries that began here: those of clients, and their mergers."""
        onward: dict[str, _Onward] = {}
        for kind in _KINDS:
            entries = self._entries(kind)
            if entries is None:
                continue
            for neighbor in entries.neighbors():
                for stated in entries.sent_to(neighbor):
                    if entries.side_of(stated.key) in (CLIENTS, None):
                        again = _again(entries, neighbor, stated, digest_of(stated.content))
                        onward.setdefault(neighbor, _Onward.nothing()).entries[kind].append(again)
        interval_us = max(1, round(self._terms.interval_s * 1e6))
        for neighbor, said in onward.items():
            yield from self._renew(neighbor, self._router.name, interval_us, said, 0)

    def _adopt(self, now: float) -> None:
        """Lease entries that have no lease, however they came there, for one interval."""
        longest_s = self._terms.longest_s + self._terms.period_s
        over = [one for one, (_, last) in self._disputed.items() if now - last > longest_s]
        for one in over:
            del self._disputed[one]
        for kind in _KINDS:
            entries, table = self._entries(kind), self._tables[kind]
            if entries is None:
                continue
            for neighbor in entries.neighbors():
                keys = entries.keys_from(neighbor)
                table.keep_only(neighbor, keys)
                for key in keys - table.of.get(neighbor, {}).keys():
                    length_s = self._terms.length_s(self._terms.interval_s, 0)
                    table.begin(neighbor, key, Lease(now, now + length_s, None))

    def _withdraw(self, kind: int, neighbor: str, keys: Sequence[str]) -> Iterator[Change]:
        """Let routing forget entries of a neighbor; the consequences are sent to no neighbor."""
        entries, words = self._entries(kind), _WORDS[kind]
        if entries is None:
            return
        here = [key for key in keys if entries.held(neighbor, key) is not None]
        many = words.many
        step = 1 if many is None else SUBSCRIPTIONS_AT_ONCE_MAX
        for start in range(0, len(here), step):
            some = tuple(here[start : start + step])
            message = words.withdraw(some[0]) if many is None else many.withdraw(some)
            for key in some:
                self._tables[kind].drop(neighbor, key)
            self._is_private = True
            yield Receive(neighbor, message)
            self._is_private = False

    # Messages of routing -----------------------------------------------------------------------

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:  # noqa: ARG002
        """Number a message on a lossy link; drop one that follows from an expiry."""
        if isinstance(send, SendMany):
            if send.neighbor not in self._gates:
                return (send,)
            messages = send.publications.messages()
            return [self._send(send.neighbor, message, 0) for message in messages]
        if self._is_private:
            return ()
        return (self._send(send.neighbor, self._numbered(send), self._age_ns),)

    def _numbered(self, send: Send) -> Message:
        """A confirmation with the numbers under which the neighbor has sent the entries since."""
        message, of = send.message, send.neighbor
        match message:
            case Confirm(key, sending):
                return Confirm(key, self._latest(SUBSCRIPTIONS, of, key, sending))
            case ConfirmAdvertisement(key, sending):
                latest = self._latest(ADVERTISEMENTS, of, key, sending)
                return ConfirmAdvertisement(key, latest)
            case ConfirmMany(keys, sendings):
                pairs = zip(keys, sendings, strict=True)
                return ConfirmMany(
                    keys,
                    tuple(self._latest(SUBSCRIPTIONS, of, key, number) for key, number in pairs),
                )
            case _:
                return message

    def _latest(self, kind: int, neighbor: str, key: str, sending: int) -> int:
        lease = self._tables[kind].get(neighbor, key)
        return sending if lease is None or not lease.sending else lease.sending

    def _send(self, neighbor: str, message: Message, age_ns: int | None) -> Send:
        """A message as it travels on a link."""
        gate = self._gates.get(neighbor)
        if gate is not None:
            assert not isinstance(message, UpkeepNote | Stamped), "routing has no notes"
            message = Stamped(stamp_of(gate.number()), message)
        return Send(neighbor, message, age_ns)

    # State -------------------------------------------------------------------------------------

    def table_sizes(self) -> dict[str, int]:
        """The number of leases."""
        return {"leased": sum(map(len, self._tables))}

    def counters(self) -> dict[str, int]:
        """The counts since the router was made."""
        return {f"leases_{word}": count for word, count in self._counts.items()}

    def validate(self) -> None:
        """Check that every lease is due in time; raises `InvariantError`."""
        for table in self._tables:
            table.validate()
        if self._is_private:
            raise InvariantError("what follows from an expiry is over when it was handed in")

    def _see(self, now: float) -> None:
        """Note the time; a deadline that no renewal can have is not believed."""
        latest = now + self._terms.period_s
        if self._due is None or self._due > latest:
            self._due = latest

    def _forget(self, neighbor: str) -> None:
        """Forget a link that is gone, with its leases."""
        self._gates.pop(neighbor, None)
        for table in self._tables:
            table.link_down(neighbor)

    def _entries(self, kind: int) -> Table | None:
        """The entries of a kind, if the router routes on one tree, one by one."""
        return self._router.tables.get(_WORDS[kind].noun)


def _again(entries: Table, neighbor: str, stated: SentEntry, digest: bytes) -> Renewed:
    """The renewal of an entry that was sent to a neighbor."""
    awaited = 0 if entries.is_confirmed(neighbor, stated.key) else stated.sending
    return Renewed(stated.key, digest, awaited)
