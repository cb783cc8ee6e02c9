"""A router that crashed becomes its earlier self, and goes on as if it had only been slow.

XNet's Crash/Recover (thesis 6.1, Algorithms 17 to 20; Appendix B for many producers), corrected,
and for publications as well. The thesis writes a table into a recovery database after each update;
here it is a log of the router's inputs: routing is deterministic, so its tables, its messages and
those that are owed follow from that. That is why this works under every propagation strategy, and
beside every membership.

* *Persisted before it is acknowledged*: every change of routing, and each publication, is persisted
  before it is routed; its consequences leave the router behind that.
* *Exactly once, in order*: messages of a link are counted at both ends (`notes`), the receiver
  acknowledges those it has taken, and the sender keeps the rest (`owed`): `hs`, `hr` and `RetrBuf`
  of the thesis, one for each neighbor (Appendix B's `hs^k` and `RetrBuf^k`). Numbers are given when
  a message is made; its line 4 of Algorithm 32 stamps them one too early.
* *Back*: both ends send what they have when a link comes up, not only the one that recovers
  (Algorithm 20), since a link may fail as well; and neither sends anything new before it has the
  other's. In the thesis new messages may overtake what is sent again, which leaves gaps that it
  holds to be impossible (6.1; 8,074 in 1,500 runs of ours).
* A link that is down is no change: routing does not notice it, and goes on making messages for the
  neighbor. It notices one that is down for good, and a neighbor that lost its state
  (`conversation`).

Acknowledgements are cumulative and for many messages at once: after `ACK_EVERY`, or `ACK_DELAY_S`
seconds. Publications in batches stay so; a batch of n takes n numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, get_args

import msgspec

from sapwood.errors import InvariantError
from sapwood.limits.recover import ACK_DELAY_S, ACK_EVERY, MARK_EVERY, RECALLED_MAX, RESENT_MAX
from sapwood.routing.effects import CloseLink, Effect, Persist, Recall, Release, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    Checkpoint,
    ClientPublish,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Note,
    Recalled,
    Receive,
    ReceiveMany,
    Record,
    Renewal,
    Restored,
)
from sapwood.routing.messages import Publish, UpkeepMessage, UpkeepNote, carried
from sapwood.routing.records import is_state, places_of, publications_in, rest_of, size_of
from sapwood.routing.upkeep.protocol import Action, Kept, Refill, Resume
from sapwood.routing.upkeep.recover.checkpoint import Head, checkpoint_of, head_of
from sapwood.routing.upkeep.recover.conversation import Conversation, Verdict
from sapwood.routing.upkeep.recover.given import GIVEN, GivenIds
from sapwood.routing.upkeep.recover.marks import Mark, Marks, decoded, encoded
from sapwood.routing.upkeep.recover.notes import (
    Back,
    ConversationId,
    From,
    Taken,
    note_of,
    said_in,
)
from sapwood.routing.upkeep.recover.owed import Content, LetGo, Owed, send, several

INCARNATION: Final = "incarnation"
"""The note with the incarnation that the router's names go back to."""

LINK: Final = "link "
"""Prefix of the note with the ids of the conversation; the neighbor's name follows."""

BOUND: Final = "bound "
"""Prefix, before a neighbor's name, of the note with the number of messages that the neighbor can
have taken at most when a life began; empty once the neighbor has reported what it has."""

MARK: Final = "mark"
"""The note with the last mark before which nothing is owed."""

_RECORDED: Final = (*get_args(Change), ReceiveMany, ClientPublishMany, Renewal)
_IDS: Final = tuple[ConversationId, ConversationId | None]


class Recover:
    """The messages that one router has taken from its neighbors, and those that it owes them.

    #: _links has a conversation for each link that routing takes for up
    #: _up are those of them that are up
    #: _due has the neighbors to acknowledge messages to, and the times, in order
    #: _places publications and _states state records were persisted; _place is that of _record,
    #: which is of publications and is being routed
    """

    def __init__(self, router: Kept, *, mark_every: int = MARK_EVERY) -> None:
        self._router = router
        #: the ids of conversations are of this life of the router, also where it resumes another
        self._life = router.incarnation
        self._begun = 0
        self._given = GivenIds()
        self._is_known = False
        #: true if this life has found itself to be an older one
        self._is_renewed = False
        self._is_restoring = False
        #: true while messages of routing are owed already, or were, and are not counted again
        self._is_muted = False
        self._places = self._states = 0
        #: publications, subscriptions and other records that were counted in this life
        self._seen = 0
        self._place: int | None = None
        self._record: Record | None = None
        #: publications that were let go and are being read, in the order of the requests
        self._readings: list[_Reading] = []
        self._marks = Marks(mark_every)
        self._links: dict[str, Conversation] = {}
        self._up: dict[str, None] = {}
        self._due: dict[str, float] = {}

    @property
    def is_passive(self) -> bool:
        """False: every input and message passes it."""
        return False

    @property
    def takes_batches(self) -> bool:
        """True: a batch is one record, and takes as many numbers as it has publications."""
        return True

    @property
    def conversations(self) -> Mapping[str, Conversation]:
        """The conversation of each link that routing takes for up, in the order they came up."""
        return self._links

    # Links -------------------------------------------------------------------------------------

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Send what was taken; routing receives the link the first time only."""
        neighbor = link.neighbor
        actions: list[Action] = []
        if neighbor not in self._links:
            actions += [*self._begin(neighbor), *self._log(link), link]
        self._up[neighbor] = None
        return [*actions, Send(neighbor, note_of(self._links[neighbor].back()))]

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Keep the messages that are owed, unless the neighbor is gone for good."""
        neighbor = link.neighbor
        self._end_session(neighbor)
        if neighbor not in self._links or not link.for_good:
            return ()
        return self._end(neighbor)

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Forget the link, as routing has, and as its neighbor will soon."""
        neighbor = link.neighbor
        self._end_session(neighbor)
        self._links.pop(neighbor, None)
        if self._is_restoring:
            return ()
        # Routing may have closed it because of a publication, which will not always be there.
        return [*self._log(LinkDown(neighbor)), _forgotten(neighbor)]

    def neighbors(self) -> Collection[str]:
        """The neighbors that routing takes for linked: the messages that they lack are kept."""
        return self._links.keys()

    def holds_back(self, neighbor: str) -> bool:
        """True if a neighbor is owed a message that is not on the link, or its link is down."""
        conversation = self._links.get(neighbor)
        return conversation is None or neighbor not in self._up or not conversation.is_live

    # Inputs ------------------------------------------------------------------------------------

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Persist a request, unless it is a publication that will be refused."""
        match request:
            case ClientPublish(client, publication):
                if self._router.refused(client, (publication,)):
                    return (request,)
            case _:
                pass
        return (*self._mark(), *self._log(request), request)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        """Count a message, persist it and hand it on, unless it came before."""
        neighbor = received.neighbor
        conversation = self._links.get(neighbor)
        if conversation is None or neighbor not in self._up:
            return ()
        count = 1
        if isinstance(received, ReceiveMany):
            count = len(received.publications.batch)
        elif isinstance(received.message, UpkeepMessage):
            return self._heard(neighbor, conversation, received.message, now)
        if conversation.expected is None:
            # Before it knew that this end began afresh; or it never sends what it has.
            return () if conversation.has_heard else self._stranger(neighbor)
        marked = self._mark()
        known = conversation.take(count)
        if known == count:
            return marked
        record = received if known == 0 else rest_of(received, known)
        assert isinstance(record, Receive | ReceiveMany), "the rest of a batch is a batch"
        actions: list[Action] = [*marked, *self._log(record), self._placed(record)]
        if conversation.taken - conversation.answered >= ACK_EVERY:
            actions.extend(self._answer(neighbor))
        elif neighbor not in self._due:
            self._due[neighbor] = now + ACK_DELAY_S
        return actions

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:  # noqa: ARG002
        """Send publications that were read back on to the neighbor that they were read for."""
        asked = [reading.places for reading in self._readings]
        if recalled.asked not in asked:
            return ()
        reading = self._readings.pop(asked.index(recalled.asked))
        neighbor, conversation = reading.neighbor, reading.conversation
        conversation.reading = False
        if self._links.get(neighbor) is not conversation:
            return ()  # it has begun afresh
        if len(recalled.publications) < len(reading.places):  # it cannot be sent any more
            theirs = conversation.theirs
            is_there = theirs is not None and conversation.sent is not None
            return self._begin_afresh(neighbor, theirs) if theirs and is_there else ()
        found = [publication for _, publication in recalled.publications]
        conversation.owed.read(reading.number, found)
        return self._send_on(neighbor, conversation)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:  # noqa: ARG002
        """Number a message and keep it; it leaves if the neighbor has all before it."""
        if self._is_muted:
            return ()
        conversation = self._links[send.neighbor]
        content: Content
        if isinstance(send, SendMany):
            content, place = send.publications, self._place
        else:
            assert not isinstance(send.message, UpkeepMessage), "routing says nothing for upkeep"
            content = send.message
            place = self._place if isinstance(carried(content), Publish) else None
        was_live = conversation.is_live
        owed = conversation.owed
        let_go = self._let_go(content) if place is not None and owed.is_full else None
        owed.append(content if let_go is None else let_go, place)
        if not was_live:
            return ()
        conversation.sent = conversation.owed.made
        return (send,)

    def _let_go(self, content: Content) -> LetGo | None:
        """The places of publications in the journal, to be kept instead; `None` if unknown."""
        assert self._record is not None, "a place is that of a record"
        assert self._place is not None, "a place is that of a record"
        many = several(content)
        if many is None:
            return None
        places = places_of(self._record, self._place, many.batch)
        if places is None:
            return None
        # A copy: owed messages may stay for long, and the memory of the read they came in is freed.
        return LetGo(many.origin, many.hops, places, tuple(many.digests), many.tree)

    # Coming back -------------------------------------------------------------------------------

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:  # noqa: ARG002
        """Replay all records: the messages taken, sent and owed follow from them."""
        self._is_restoring = True
        self._places = restored.first
        ids: dict[str, tuple[ConversationId, ConversationId | None]] = {}
        bounds: dict[str, int] = {}
        mark = Mark(0, 0, {})
        for record in restored.records:
            match record:
                case Note(name, value):
                    if name == INCARNATION:
                        self._is_known = True
                        yield Resume(int.from_bytes(value))
                    elif name == GIVEN:
                        self._given.restore(value)
                    elif name == MARK:
                        mark = decoded(value)
                    elif name.startswith(BOUND) and value:
                        bounds[name.removeprefix(BOUND)] = int.from_bytes(value)
                    elif name.startswith(LINK) and value:
                        ids[name.removeprefix(LINK)] = msgspec.msgpack.decode(value, type=_IDS)
                case Checkpoint():
                    head = head_of(record.parts)
                    self._states = head.states
                    self._links = {neighbor: self._make() for neighbor in head.links}
                    if head.incarnation is not None:
                        yield Resume(head.incarnation)
                    yield Refill(record)
                case _:
                    yield from self._again(record, mark)
        self._pass(mark)
        for neighbor, conversation in self._links.items():
            known = ids.get(neighbor)
            if known is not None:
                conversation.mine, conversation.theirs = known
            # It has none of the messages of lives that it never exchanged a note with.
            conversation.restored = bounds.get(neighbor, conversation.owed.made)
            conversation.answered = conversation.taken
            if neighbor not in bounds:
                yield Persist(Note(BOUND + neighbor, conversation.owed.made.to_bytes(8)))
        self._marks.restored(self._seen)
        self._is_restoring = False

    def checkpoint(self) -> Checkpoint:
        """The checkpoint of a router that was restored up to a mark. Raises `Unwritable`."""
        head = Head(self._states, tuple(self._links), self._router.incarnation)
        return Checkpoint(list(checkpoint_of(self._router.membership, head)))

    def _again(self, record: Record, mark: Mark) -> Iterator[Action]:
        """Replay a record as it was persisted; before the mark, for its changes alone."""
        self._pass(mark)
        self._is_muted = self._states < mark.states or self._places < mark.places
        count = publications_in(record)
        if count and self._places < mark.places:
            cut = min(count, mark.places - self._places)
            self._places += cut
            if cut == count:
                return
            self._pass(mark)
            self._is_muted = False
            record = rest_of(record, cut)
        match record:
            case LinkUp(neighbor):
                self._links[neighbor] = self._make()
            case LinkDown(neighbor):
                self._links.pop(neighbor, None)
            case Renewal():
                self._links.clear()
            case Receive(neighbor):
                self._links[neighbor].taken += 1
            case ReceiveMany(neighbor, many):
                self._links[neighbor].taken += len(many.batch)
            case _:
                pass
        assert isinstance(record, _RECORDED), "it is a change"
        self._count(record)
        yield self._placed(record) if isinstance(record, Receive | ReceiveMany) else record

    def _pass(self, mark: Mark) -> None:
        """Continue from a mark, where it is reached, with the counts up to there."""
        if (self._states, self._places) == (mark.states, mark.places):
            for neighbor, (taken, made) in mark.links.items():
                conversation = self._links[neighbor]
                conversation.taken, conversation.owed = taken, Owed(made)
            mark.links.clear()
        self._is_muted = False

    # Time --------------------------------------------------------------------------------------

    def tick(self, now: float) -> Sequence[Action]:
        """Send the acknowledgements that are due."""
        due = [neighbor for neighbor, at in self._due.items() if at <= now]
        return [answer for neighbor in due for answer in self._answer(neighbor)]

    def next_deadline(self) -> float | None:
        """The time of the next acknowledgement."""
        return next(iter(self._due.values()), None)

    def table_sizes(self) -> dict[str, int]:
        """`owed`: the number of messages that neighbors have not acknowledged."""
        return {"owed": sum(len(one.owed) for one in self._links.values())}

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        for conversation in self._links.values():
            conversation.validate()
        if not self._up.keys() <= self._links.keys() or not self._due.keys() <= self._up.keys():
            raise InvariantError("there are links in use that routing does not know of")
        for neighbor, conversation in self._links.items():
            if neighbor in self._up:
                is_late = conversation.taken > conversation.answered
                if conversation.sent is not None and is_late and neighbor not in self._due:
                    raise InvariantError(f"{neighbor} will not hear of what was taken")
            elif conversation.has_heard:
                raise InvariantError(f"{neighbor} has said something over a link that is down")

    # Notes of neighbors ------------------------------------------------------------------------

    def _heard(
        self, neighbor: str, conversation: Conversation, message: UpkeepMessage, now: float
    ) -> Sequence[Action]:
        said = said_in(message.note) if isinstance(message, UpkeepNote) else None
        match said:
            case Back():
                return self._hear_back(neighbor, conversation, said, now)
            case From(first):
                if conversation.has_heard and conversation.theirs is not None:
                    if first > conversation.taken + 1:
                        return self._begin_afresh(neighbor, conversation.theirs)
                    conversation.expected = first
                return ()
            case Taken():
                wrong = conversation.answered_by(said)
                if wrong is not None:
                    reason = f"the messages of the link do not add up: {wrong}"
                    self._end_session(neighbor)
                    return (CloseLink(neighbor, reason, for_good=False),)
                return [*self._settle(), *self._send_on(neighbor, conversation)]
            case _:
                return self._stranger(neighbor)

    def _hear_back(
        self, neighbor: str, conversation: Conversation, back: Back, now: float
    ) -> Sequence[Action]:
        before, was_bounded = conversation.theirs, conversation.restored is not None
        is_lost = self._given.has_lost(back.theirs, self._life)
        verdict = Verdict.BEHIND if is_lost and not self._is_renewed else conversation.hear(back)
        self._due.pop(neighbor, None)
        if verdict is Verdict.BEHIND and not self._is_renewed and back.theirs is not None:
            conversation.theirs, conversation.has_heard = back.mine, True
            return self._renew(back.theirs.life)
        if verdict in {Verdict.AFRESH, Verdict.BEHIND}:
            return self._begin_afresh(neighbor, back.mine)
        actions: list[Action] = []
        if was_bounded and conversation.restored is None:
            actions.append(_unbounded(neighbor))
        if conversation.theirs != before:
            actions.extend(self._remember(neighbor, conversation))
            actions.append(Send(neighbor, note_of(conversation.back())))
        if verdict is Verdict.AGREED:
            first = From(conversation.owed.acknowledged + 1)
            actions.append(Send(neighbor, note_of(first)))
            actions.extend(self._send_on(neighbor, conversation))
            if conversation.taken > conversation.answered:
                self._due[neighbor] = now + ACK_DELAY_S
        return actions

    def _begin_afresh(self, neighbor: str, theirs: ConversationId) -> Sequence[Action]:
        """Begin afresh with a neighbor: what came from it is void, and it has nothing."""
        self._due.pop(neighbor, None)
        down, up = LinkDown(neighbor), LinkUp(neighbor)
        actions: list[Action] = [*self._log(down), down]
        begun = self._links[neighbor] = self._make()
        begun.theirs, begun.has_heard = theirs, True
        remembered = self._remember(neighbor, begun)
        actions.append(_unbounded(neighbor))
        return [*actions, *self._log(up), up, *remembered, Send(neighbor, note_of(begun.back()))]

    def _renew(self, known: int) -> Sequence[Action]:
        """Become another router: a later life, as late as `known`, sent what is lost here.

        Under the names and numbers of this life neighbors have other entries than it would send. So
        it becomes another router, which has the same clients and nothing else.
        """
        self._is_renewed = True
        self._life = max(self._life, known + 1)
        self._given.begin_anew()
        self._due.clear()
        stated = list(self._router.membership.statements())
        renewal = Renewal(self._life)
        actions: list[Action] = [*self._log(renewal), renewal]
        # Before there are links: what was in force stays so, and publications are not refused.
        for change in stated:
            actions += [*self._log(change), change]
        for neighbor, before in list(self._links.items()):
            begun = self._links[neighbor] = self._make()
            if before.has_heard:
                begun.theirs, begun.has_heard = before.theirs, True
            up = LinkUp(neighbor)
            actions += [*self._remember(neighbor, begun), _unbounded(neighbor), *self._log(up), up]
            if neighbor in self._up:
                actions.append(Send(neighbor, note_of(begun.back())))
        return actions

    def _send_on(self, neighbor: str, conversation: Conversation) -> Sequence[Effect]:
        """Send the messages that the neighbor lacks, as many as may be sent at once."""
        if conversation.sent is None or conversation.is_live:
            return ()
        owed, effects = conversation.owed, list[Effect]()
        count = owed.acknowledged + RESENT_MAX - conversation.sent
        if count <= 0:
            return ()
        for entry in owed.since(conversation.sent, count):
            content = entry.content
            if isinstance(content, LetGo):
                if not conversation.reading:
                    conversation.reading = True
                    places = tuple(content.places[:RECALLED_MAX])
                    self._readings.append(_Reading(neighbor, conversation, entry.number, places))
                    effects.append(Recall(places))
                break
            conversation.sent = entry.last
            effects.append(send(neighbor, content))
        return effects

    def _answer(self, neighbor: str) -> Sequence[Effect]:
        """Acknowledge what was taken, unless the neighbor first needs this end's ids."""
        self._due.pop(neighbor, None)
        conversation = self._links[neighbor]
        return (
            () if conversation.sent is None else (Send(neighbor, note_of(conversation.answer())),)
        )

    def _stranger(self, neighbor: str) -> Sequence[Action]:
        """Close the link to a neighbor that never sends what it has: another upkeep."""
        reason = (
            "the neighbor does not say which messages it has: start both brokers with the upkeep "
            "recover, or neither"
        )
        self._end_session(neighbor)
        return [*self._end(neighbor), CloseLink(neighbor, reason)]

    # Records -----------------------------------------------------------------------------------

    def _begin(self, neighbor: str) -> Sequence[Effect]:
        """Begin with a neighbor that is not known."""
        conversation = self._links[neighbor] = self._make()
        remembered = self._remember(neighbor, conversation)
        return [*self._incarnation(), *remembered, _unbounded(neighbor)]

    def _end(self, neighbor: str) -> Sequence[Action]:
        """Let routing forget a neighbor, and forget the messages that it is owed."""
        del self._links[neighbor]
        down = LinkDown(neighbor)
        return [*self._log(down), down, _forgotten(neighbor)]

    def _end_session(self, neighbor: str) -> None:
        self._up.pop(neighbor, None)
        self._due.pop(neighbor, None)
        conversation = self._links.get(neighbor)
        if conversation is not None:
            conversation.link_down()

    def _make(self) -> Conversation:
        self._begun += 1
        return Conversation(ConversationId(self._life, self._begun))

    def _remember(self, neighbor: str, conversation: Conversation) -> list[Persist]:
        ids = (conversation.mine, conversation.theirs)
        note = Persist(Note(LINK + neighbor, msgspec.msgpack.encode(ids)))
        is_new = conversation.mine.life == self._life
        return [*(self._given.give(conversation.mine) if is_new else ()), note]

    def _log(self, record: Record) -> list[Effect]:
        """Persist a record; before the first one, the router's incarnation."""
        self._count(record)
        return [*self._incarnation(), Persist(record)]

    def _count(self, record: Record) -> None:
        """Give a record its places: messages that follow from it are owed as long as it is kept."""
        count = publications_in(record)
        self._place = self._places if count else None
        self._record = record if count else None
        self._places += count
        self._states += is_state(record)
        self._seen += size_of(record)

    def _placed(self, record: Receive | ReceiveMany) -> Receive | ReceiveMany:
        """A counted record with its place, by which publications that are held back are found."""
        return record if self._place is None else replace(record, place=self._place)

    def _mark(self) -> list[Effect]:
        """Make a mark at the next record, if due; all effects of earlier records are done."""
        if not self._marks.is_due(self._seen) or self._router.is_holding:
            return []
        self._marks.make(self._seen, self._states, self._places, self._links)
        return self._settle()

    def _settle(self) -> list[Effect]:
        """Release publications before a mark, if nothing is owed of them."""
        mark = self._marks.settled(self._links)
        if mark is None:
            return []
        return [Persist(Note(MARK, encoded(mark))), Release(mark.places)]

    def _incarnation(self) -> list[Effect]:
        if self._is_known:
            return []
        self._is_known = True
        incarnation = Persist(Note(INCARNATION, self._router.incarnation.to_bytes(8)))
        return [incarnation, *self._given.give(ConversationId(self._life, 0))]


class _Reading(NamedTuple):
    """Publications that are read for a neighbor; the first of them has the number `number`."""

    neighbor: str
    conversation: Conversation
    number: int
    places: tuple[int, ...]


def _unbounded(neighbor: str) -> Persist:
    return Persist(Note(BOUND + neighbor, b""))


def _forgotten(neighbor: str) -> Persist:
    return Persist(Note(LINK + neighbor, b""))
