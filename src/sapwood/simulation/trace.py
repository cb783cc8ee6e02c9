"""The story of a simulation, and its hash: equal runs tell equal stories, to the last letter."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, assert_never

from sapwood.errors import InvariantError
from sapwood.limits import SIMULATION_STORY_LINES
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.overlay.identifiers import Range
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    Advertised,
    CloseLink,
    Connect,
    Deliver,
    DeliverMany,
    Disconnect,
    Effect,
    Persist,
    Recall,
    Refused,
    Release,
    Remaining,
    Send,
    SendMany,
    Subscribed,
    SubscribedMany,
    Supply,
    Unadvertised,
    Unsubscribed,
    UnsubscribedMany,
)
from sapwood.routing.inputs import (
    AttachClient,
    Checkpoint,
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    Compare,
    DetachClient,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Note,
    Recalled,
    Receive,
    ReceiveMany,
    Record,
    Renewal,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.messages import (
    Advertise,
    Announce,
    Carry,
    CircleMessage,
    Confirm,
    ConfirmAdvertisement,
    ConfirmMany,
    ConfirmUpdate,
    Contacts,
    Found,
    Join,
    Leave,
    Message,
    Neighbors,
    OnPlane,
    OnTree,
    Publish,
    RangeCancel,
    RangeEntries,
    RangePull,
    RangeReached,
    RangeSubscribe,
    Ready,
    Replace,
    Seek,
    Stamped,
    Subscribe,
    SubscribeMany,
    Task,
    TreeNews,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
    Update,
    UpkeepNote,
)
from sapwood.routing.propagation.xroute.triples import Operation

_DIGEST_BYTES: Final = 16


class Trace:
    """Takes every input with its time and effects; keeps a hash of all and the last in words.

    Words take as long as many an input: where they will not be read, a trace is not `kept`.
    """

    __slots__ = ("_filters", "_hash", "_is_kept", "story")

    def __init__(self, *, kept: bool = True) -> None:
        self._is_kept = kept
        self.story: deque[str] = deque(maxlen=SIMULATION_STORY_LINES)
        self._hash = blake2b(digest_size=_DIGEST_BYTES)
        #: AdvertisedContent -> its text. Filters never change, so nothing invalidates an entry.
        self._filters: dict[AdvertisedContent, str] = {}

    @property
    def digest(self) -> str:
        """The hash of the story so far, in hexadecimal."""
        if not self._is_kept:
            raise InvariantError("nobody kept a trace")
        return self._hash.hexdigest()

    def note(self, time: float, router: str, event: Input, effects: Sequence[Effect]) -> None:
        """Take one step of one router."""
        if not self._is_kept:
            return
        told = "; ".join(map(self._effect, effects))
        self._add(f"{time!r} {router}: {self._input(event)} => {told}")

    def remark(self, time: float, words: str) -> None:
        """Take something that happened outside the routers."""
        if self._is_kept:
            self._add(f"{time!r} {words}")

    def _add(self, line: str) -> None:
        self.story.append(line)
        self._hash.update(line.encode())
        self._hash.update(b"\n")

    def _input(self, event: Input) -> str:
        match event:
            case Receive(neighbor, message):
                return f"{self._message(message)} from {neighbor}"
            case AttachClient(client):
                return f"attach {client}"
            case DetachClient(client):
                return f"detach {client}"
            case ClientSubscribe(client, subscription, wanted):
                return f"{client} subscribes {subscription}: {self._filter(wanted)}"
            case ClientUnsubscribe(client, subscription):
                return f"{client} unsubscribes {subscription}"
            case ClientAdvertise(client, advertisement, wanted):
                return f"{client} advertises {advertisement}: {self._filter(wanted)}"
            case ClientUnadvertise(client, advertisement):
                return f"{client} unadvertises {advertisement}"
            case ClientPublish(client, publication):
                return f"{client} publishes {publication.id}"
            case LinkUp(neighbor):
                return f"link to {neighbor} up"
            case LinkDown(neighbor):
                return f"link to {neighbor} down"
            case Restored(_, first):
                return f"restored, with publications from {first} on"
            case Recalled(publications):
                return f"recalled {', '.join(str(place) for place, _ in publications)}"
            case ClientPublishMany() | ReceiveMany():
                raise InvariantError("a trace has publications one by one")
            case _:
                return self._many_or_timed(event)

    def _many_or_timed(
        self,
        event: ClientSubscribeMany | ClientUnsubscribeMany | Drained | Tick | Suspicion | Compare,
    ) -> str:
        match event:
            case ClientSubscribeMany(client, subscriptions):
                said = "; ".join(f"{id_}: {self._filter(one)}" for id_, one in subscriptions)
                return f"{client} subscribes {said}"
            case ClientUnsubscribeMany(client, ids):
                return f"{client} unsubscribes {', '.join(ids)}"
            case Drained(neighbor):
                return f"link to {neighbor} drained"
            case Tick():
                return "tick"
            case Suspicion(neighbor, seconds):
                return f"{neighbor} is suspected for {seconds:g} s"
            case Compare():
                return "compare"
            case _:
                assert_never(event)

    def _effect(self, effect: Effect) -> str:
        match effect:
            case Send(neighbor, message):
                return f"{self._message(message)} to {neighbor}"
            case Deliver(client, subscriptions, publication):
                return f"deliver {publication.id} to {client} for {', '.join(subscriptions)}"
            case Subscribed(client, subscription):
                return f"{client} is subscribed {subscription}"
            case Unsubscribed(client, subscription):
                return f"{client} is unsubscribed {subscription}"
            case Advertised(client, advertisement):
                return f"{client} has advertised {advertisement}"
            case Unadvertised(client, advertisement):
                return f"{client} has unadvertised {advertisement}"
            case Supply(client, subscriptions, is_there):
                word = "somebody advertises" if is_there else "nobody advertises"
                return f"{word} what {client} wants by {', '.join(subscriptions)}"
            case Accepted(client, publication):
                return f"{publication} of {client} accepted"
            case Refused(client, subject, reason):
                return f"{subject} of {client} refused: {reason}"
            case CloseLink(neighbor, reason):
                return f"close link to {neighbor}: {reason}"
            case Persist(record):
                return f"persist {self._record(record)}"
            case SendMany(neighbor, many):
                sent = (self._effect(Send(neighbor, message)) for message in many.messages())
                return "; ".join(sent)
            case _:
                return _many_or_wired(effect)

    def _record(self, record: Record) -> str:
        match record:
            case Note(name, value):
                return f"{name}: {value.hex()}"
            case Renewal(incarnation):
                return f"begins anew as incarnation {incarnation}"
            case Checkpoint(parts):
                return (
                    f"checkpoint: {blake2b(b''.join(parts), digest_size=_DIGEST_BYTES).hexdigest()}"
                )
            case _:
                return self._input(record)

    def _message(self, message: Message) -> str:
        match message:  # the most frequent first
            case Publish(origin, hops, publication, digest):
                beside = f", digest {digest.hex()}" if digest else ""
                return f"publish {publication.id} of {origin} after {hops}{beside}"
            case OnTree() | OnPlane():
                return f"{self._message(message.message)} {_where(message)}"
            case Subscribe(key, wanted, sending):
                return f"subscribe {key}, sending {sending}: {self._filter(wanted)}"
            case Replace(key, wanted, sending, replaced):
                left = ", ".join(replaced)
                return f"subscribe {key} for {left}, sending {sending}: {self._filter(wanted)}"
            case Unsubscribe(key):
                return f"unsubscribe {key}"
            case SubscribeMany() | UnsubscribeMany() | ConfirmMany():
                return self._about_many(message)
            case Confirm(key, sending):
                return f"confirm {key}, sending {sending}"
            case Update(origin, number, sending, operations):
                said = " + ".join(map(self._operation, operations))
                return f"update {number} of {origin}, sending {sending}: {said}"
            case ConfirmUpdate(sending):
                return f"confirm update, sending {sending}"
            case Advertise(key, wanted, sending):
                return f"advertise {key}, sending {sending}: {self._filter(wanted)}"
            case Unadvertise(key):
                return f"unadvertise {key}"
            case ConfirmAdvertisement(key, sending):
                return f"confirm advertisement {key}, sending {sending}"
            case Stamped(stamp, stamped):
                return f"{self._message(stamped)} (stamp {stamp.hex()})"
            case _:
                return self._of_more(message)

    def _of_more(self, message: TreeNews | UpkeepNote | CircleMessage) -> str:
        if isinstance(message, CircleMessage):
            return self._of_circles(message)
        return _of_links(message)

    def _of_circles(self, message: CircleMessage) -> str:
        """A message between routers with places on a circle, in words."""
        match message:
            case Contacts(routers, periodic):
                return f"contacts {', '.join(routers)}{' again' * periodic}"
            case Seek(range_, path):
                return f"seek {range_} for {' > '.join(path)}"
            case Found(range_, path, routers):
                return f"found {', '.join(routers) or 'nobody'} in {range_} for {' > '.join(path)}"
            case RangeSubscribe(task, range_, round_, subscriber, key, wanted, reach):
                what = f"subscribe {key} of {subscriber}, reach {reach}: {self._filter(wanted)}"
                return f"{_task(task, range_)}{' round' * round_}: {what}"
            case RangeCancel(task, range_, round_, subscriber, key):
                return f"{_task(task, range_)}{' round' * round_}: cancel {key} of {subscriber}"
            case RangeReached(task, range_):
                return f"{_task(task, range_)}: reached"
            case RangePull(range_, digest, periodic):
                return f"pull {range_}, unless {digest.hex()}{' again' * periodic}"
            case RangeEntries(range_, entries, filters, is_last):
                pairs = zip(entries, map(self._filter, filters.values), strict=True)
                said = "; ".join(f"{key}, reach {reach}: {one}" for (key, reach), one in pairs)
                return f"range {range_} has {said or 'nothing'}{', and more' * (not is_last)}"
            case _:
                assert_never(message)

    def _about_many(self, message: SubscribeMany | UnsubscribeMany | ConfirmMany) -> str:
        match message:
            case SubscribeMany(keys, filters, sending):
                pairs = zip(keys, map(self._filter, filters.values), strict=True)
                said = "; ".join(f"{key}: {wanted}" for key, wanted in pairs)
                return f"subscribe from sending {sending} on: {said}"
            case UnsubscribeMany(keys):
                return f"unsubscribe {', '.join(keys)}"
            case ConfirmMany(keys, sendings):
                numbered = zip(keys, sendings, strict=True)
                return f"confirm {', '.join(f'{key}, sending {one}' for key, one in numbered)}"
            case _:
                assert_never(message)

    def _operation(self, operation: Operation) -> str:
        """Triples as the XNet thesis writes them."""
        return " ".join(
            f"({self._filter(triple.filter)}; {triple.instances}; {triple.hidden})"
            for triple in operation
        )

    def _filter(self, wanted: AdvertisedContent) -> str:
        text = self._filters.get(wanted)
        if text is None:
            text = self._filters[wanted] = str(wanted)
        return text


def _many_or_wired(
    effect: SubscribedMany
    | UnsubscribedMany
    | Release
    | Recall
    | Connect
    | Disconnect
    | DeliverMany
    | AcceptedMany
    | Remaining,
) -> str:
    match effect:
        case Release(before):
            return f"release what is before {before}"
        case Recall(places):
            return f"recall {', '.join(map(str, places))}"
        case SubscribedMany(client, ids):
            return f"{client} is subscribed {', '.join(ids)}"
        case UnsubscribedMany(client, ids):
            return f"{client} is unsubscribed {', '.join(ids)}"
        case Connect(neighbor, address):
            return f"connect to {neighbor} at {address}"
        case Disconnect(neighbor):
            return f"disconnect from {neighbor}"
        case DeliverMany() | AcceptedMany() | Remaining():
            raise InvariantError("a trace has publications one by one")
        case _:
            assert_never(effect)


def _where(message: OnTree | OnPlane) -> str:
    """The tree on which a message is sent, or which of several paths."""
    if isinstance(message, OnPlane):
        return f"(path {message.plane}, number {message.number})"
    return f"(tree of {message.source}, life {message.epoch})"


def _task(task: Task, range_: Range) -> str:
    """A broadcast and its range, in words."""
    return f"task {task.life}.{task.number} of {task.origin} for {range_ or 'all'}"


def _of_links(message: TreeNews | UpkeepNote) -> str:
    """A message between routers about links and trees, in words."""
    match message:
        case Neighbors(router, version, neighbors):
            return f"neighbors {version[0]}.{version[1]} of {router}: {', '.join(neighbors)}"
        case Announce(tree, version, carrying):
            links = " ".join(f"{a}>{b}" for a, b in tree.links())
            return f"announce {version[0]}.{version[1]} of {tree.source}, after {carrying}: {links}"
        case Join(source, version, life):
            return f"join {version[0]}.{version[1]} of {source}, life {life}"
        case Leave(source, life):
            return f"leave the tree of {source}, life {life}"
        case Ready(source, life):
            return f"ready on the tree of {source}, life {life}"
        case UpkeepNote(note):
            return f"note {note.hex()}"
        case Carry(source, life):
            return f"the tree of {source} carries, life {life}"
        case _:
            assert_never(message)
