"""A connection of any kind: its handshake in time, its keep-alive, its orderly end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from msgspec.structs import replace

from sapwood.errors import FrameError, InvariantError, PeerError
from sapwood.limits import PINGS_AT_ONCE_MAX, REASON_CHARS_MAX
from sapwood.routing import messages as routing
from sapwood.session.changes_together import ChangeRun, with_runs
from sapwood.session.keepalive import Due, KeepAlive
from sapwood.session.outgoing import LONG_BYTES, Outgoing, Piece
from sapwood.session.phases import Phase, Trigger, step
from sapwood.session.settings import ConnectionSettings
from sapwood.session.timekeeper import Timekeeper
from sapwood.timing.link_bounds import Passage, Stamp
from sapwood.wire.codec import (
    Decoder,
    append_delivery,
    append_ids,
    append_message,
    append_routing,
    delivery_in_places,
    greeting_frame,
)
from sapwood.wire.greetings import (
    Greeting,
    Hello,
    Refusal,
    RefusalCode,
    Role,
    VersionMismatchError,
    Welcome,
)
from sapwood.wire.messages import (
    AboutIds,
    Born,
    Goodbye,
    GoodbyeCode,
    Message,
    Ping,
    Pong,
)
from sapwood.wire.runs import Run, RunFinder

S = TypeVar("S")

_PING: Final = Ping()
_PONG: Final = Pong()
_CONTROL: Final = (Ping, Pong, Goodbye, Refusal, Stamp, Born)


@dataclass(frozen=True, slots=True)
class Ending:
    """The reason why a connection ended.

    `code` is `None` where the bytes simply stopped. `by_peer` is true if the peer ended the
    connection; where this end notices a fault of the peer, this end has ended it. `broker` names
    the broker that refused.
    """

    code: GoodbyeCode | RefusalCode | None
    reason: str
    by_peer: bool
    broker: str = ""

    @property
    def final(self) -> bool:
        """True if connecting again is pointless as long as both ends run."""
        return self.code is not None and self.code.final

    @property
    def retryable(self) -> bool:
        """True if a later attempt may succeed."""
        return isinstance(self.code, RefusalCode) and self.code.retryable


class Connection:
    """One connection, seen from one end.

    `role` is this end's role when it connects, and `None` when it accepts. `name` is the broker's
    name that refusals carry. With `runs`, consecutive publications are one `Run` among the
    messages.

    #: ending is not None iff phase is CLOSING or CLOSED
    """

    __slots__ = (
        "_decoder",
        "_greeting_deadline",
        "_is_greeting",
        "_make_patience",
        "_name",
        "_outgoing",
        "_role",
        "ending",
        "frame_bytes_max",
        "keepalive",
        "phase",
        "timekeeper",
    )

    def __init__(
        self,
        role: Role | None,
        settings: ConnectionSettings,
        now: float,
        name: str = "",
        runs: RunFinder | None = None,
    ) -> None:
        self.phase = Phase.GREETING
        self.ending: Ending | None = None
        self.keepalive = KeepAlive(now, settings.keepalive_idle_s, settings.keepalive_missed_max)
        self._make_patience = settings.patience()
        self._role = role
        self._name = name
        self.frame_bytes_max = settings.frame_bytes_max
        self._decoder = Decoder(role, settings.frame_bytes_max, runs)
        self._greeting_deadline = now + settings.greeting_s
        self._outgoing = Outgoing()
        #: the state of the peer's stamps and ages, where this end has a clock
        self.timekeeper = None if settings.clock is None else Timekeeper(settings.clock)
        #: a greeting is among the outgoing bytes: it has a stamp of its own, and nothing precedes
        #: it
        self._is_greeting = False

    @property
    def open(self) -> bool:
        """True if messages may be sent."""
        return self.phase is Phase.OPEN

    @property
    def ended(self) -> bool:
        """True if nothing more is read or sent, but for what `take_outgoing` still returns."""
        return self.ending is not None

    # Bytes in and out --------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> Iterator[Greeting | Message | Run]:
        """The messages in `data`, in order, but for pings, pongs, refusals and goodbyes.

        Iterate to the end. After a fault of the peer `ending` is set, and `take_outgoing` returns
        the refusal or goodbye for it.
        """
        return self._without_control(self._decoder.messages(data), now)

    def receive_in_runs(
        self, data: bytes, now: float
    ) -> Iterator[Greeting | Message | Run | ChangeRun]:
        """`receive`, with consecutive requests for single subscriptions as one `ChangeRun`."""
        return self._without_control(with_runs(self._decoder.messages(data)), now)

    def _without_control(self, messages: Iterator[S], now: float) -> Iterator[S]:
        """Take in what is about the connection, and yield the rest."""
        if self.ended:
            return
        self.keepalive.received(now)
        pings, timekeeper = 0, self.timekeeper
        for message in messages:
            if not isinstance(message, _CONTROL):
                if timekeeper is not None:
                    timekeeper.has_read = True
                    if timekeeper.bounds is None and isinstance(message, Hello | Welcome):
                        timekeeper.greeted(message.timing)
                yield message
            elif isinstance(message, Stamp | Born):
                self._time(message)
            elif isinstance(message, Ping):
                pings += 1
                if pings > PINGS_AT_ONCE_MAX:
                    self.fault(FrameError(f"more than {PINGS_AT_ONCE_MAX} pings came at once"))
                else:
                    append_message(self._outgoing.frames, _PONG)
            elif isinstance(message, Goodbye | Refusal):
                self._ended_there(message)
            if self.ended:
                return
        if self._decoder.error is not None:
            self.fault(self._decoder.error)

    def send(self, message: Message) -> None:
        """Append a message to the outgoing bytes; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        timekeeper = self.timekeeper
        if timekeeper is not None and timekeeper.begun is None:
            timekeeper.begin()
        append_message(self._outgoing.frames, message)

    def send_routing(self, message: routing.Message) -> None:
        """Append a router's message to the outgoing bytes; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        append_routing(self._outgoing.frames, message, self.frame_bytes_max)

    def send_delivery(self, subscriptions: tuple[str, ...], publication: bytes) -> None:
        """Append a delivery to the outgoing bytes; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        long = None
        if len(publication) >= LONG_BYTES:
            long = delivery_in_places(subscriptions, publication, self.frame_bytes_max)
        if long is not None:
            self._outgoing.add_piece(long)
        else:
            frames = self._outgoing.frames
            append_delivery(frames, subscriptions, publication, self.frame_bytes_max)

    def send_frames(self, frames: memoryview) -> None:
        """Append whole frames to the outgoing bytes; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        self._outgoing.add(frames)

    def send_ids(self, reply: type[AboutIds], ids: Sequence[str]) -> None:
        """Append a reply about several ids to the outgoing bytes; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        append_ids(self._outgoing.frames, reply, ids, self.frame_bytes_max)

    @property
    def outgoing_bytes(self) -> int:
        """The number of bytes that `take_outgoing` would return."""
        return len(self._outgoing)

    def take_outgoing(self) -> bytes:
        """The bytes to be sent now, at once: they begin with a stamp."""
        return b"".join(part for piece in self.take_pieces() for part in piece)

    def take_pieces(self) -> list[Piece]:
        """The bytes of `take_outgoing` in pieces of whole frames; long frames are not copied."""
        if self.timekeeper is None and not self._is_greeting:  # as a rule
            return self._outgoing.take()
        stamp = self._stamp()
        pieces = self._outgoing.take()
        if stamp:
            if pieces and len(pieces[0]) == 1 and isinstance(pieces[0][0], bytes):
                pieces[0] = (stamp + pieces[0][0],)
            else:
                pieces.insert(0, (stamp,))
        return pieces

    def _stamp(self) -> bytes:
        """The frame of the stamp for the present write; empty where it has none."""
        timekeeper, is_greeting = self.timekeeper, self._is_greeting
        self._is_greeting = False
        is_empty = not len(self._outgoing)
        if timekeeper is None or is_greeting or (is_empty and self.phase is not Phase.OPEN):
            return b""
        # Bytes before a goodbye are stamped as well: they may carry a mark.
        stamp = timekeeper.stamp(is_empty=is_empty)
        if stamp is None:
            return b""
        frame = bytearray()
        append_message(frame, stamp)
        return bytes(frame)

    # Time --------------------------------------------------------------------------------------

    @property
    def born(self) -> int | None:
        """The last bytes read were not made before the own clock showed this, if that is known."""
        return None if self.timekeeper is None else self.timekeeper.born

    def age_ns(self) -> int | None:
        """An upper bound of the present age of the last bytes read, if that is known."""
        return None if self.timekeeper is None else self.timekeeper.age_ns()

    @property
    def delay(self) -> Passage | None:
        """The delay of the last write that arrived; `None` where an end keeps no time."""
        timekeeper = self.timekeeper
        return None if timekeeper is None or timekeeper.bounds is None else timekeeper.bounds.last

    def mark(self, born: int | None) -> None:
        """Mark the next bytes as made not before the own clock showed `born`."""
        if self.timekeeper is not None:
            self._mark(self.timekeeper.mark(born))

    def mark_age(self, age_ns: int | None) -> None:
        """Mark the next bytes as at most `age_ns` old by now."""
        if self.timekeeper is not None:
            self._mark(self.timekeeper.mark_age(age_ns))

    def arrived(self) -> None:
        """Note that bytes have arrived, which go to `receive` later."""
        if self.timekeeper is not None:
            self.timekeeper.arrive()

    def _mark(self, born: Born | None) -> None:
        if born is not None and self.phase is Phase.OPEN:
            append_message(self._outgoing.frames, born)

    def _time(self, said: Stamp | Born) -> None:
        """Take in the peer's stamp or mark; an end without a clock has not requested any."""
        if self.timekeeper is None:
            raise FrameError("a peer stamps what it writes, and this end has no clock")
        if isinstance(said, Stamp):
            self.timekeeper.stamped(said)
        else:
            self.timekeeper.marked(said)

    # Greeting ----------------------------------------------------------------------------------

    def greet(self, hello: Hello) -> None:
        """Send the greeting of the end that connects."""
        if self.timekeeper is not None:
            hello = replace(hello, timing=self.timekeeper.greeting())
        self._is_greeting = True
        self._outgoing.frames += greeting_frame(hello)

    def welcome(self, welcome: Welcome, role: Role) -> None:
        """Welcome the peer, which has this role."""
        self.phase = step(self.phase, Trigger.WELCOMED if role is Role.CLIENT else Trigger.OFFERED)
        if self.timekeeper is not None and self.timekeeper.bounds is not None:
            welcome = replace(welcome, timing=self.timekeeper.greeting())
        self._is_greeting = True
        self._outgoing.frames += greeting_frame(welcome)

    def welcomed(self) -> None:
        """Take a connection into use on which this end was welcomed."""
        self.phase = step(self.phase, Trigger.WELCOMED)

    def established(self) -> None:
        """Take in that the broker which was offered a link took it into use."""
        self.phase = step(self.phase, Trigger.ESTABLISHED)

    def watch(self) -> None:
        """Treat the peer as a neighbor: a failure detector decides from now on, if configured."""
        if self._make_patience is not None:
            self.keepalive.leave_to(self._make_patience)

    def refuse(self, code: RefusalCode, reason: str) -> None:
        """Refuse a greeting; the connection ends with this."""
        self._ended_here(code, reason)
        self._is_greeting = True
        refusal = Refusal(code=code, reason=shortened(reason), name=self._name)
        self._outgoing.frames += greeting_frame(refusal)

    # The end -----------------------------------------------------------------------------------

    def say_goodbye(self, code: GoodbyeCode, reason: str) -> None:
        """End the connection with a goodbye to the peer; do nothing if it has ended already."""
        if self.ended:
            return
        if self.phase is not Phase.GREETING:
            append_message(self._outgoing.frames, Goodbye(code, shortened(reason)))
        self._ended_here(code, reason)

    def lost(self, reason: str) -> None:
        """Take in that the bytes stopped; nothing happens if the connection is closed already."""
        if self.phase is Phase.CLOSED:
            return
        self.phase = step(self.phase, Trigger.LOST)
        if self.ending is None:
            self.ending = Ending(None, reason, by_peer=True)

    def next_deadline(self) -> float | None:
        """The time of the next `expire`, if nothing arrives before; `None` after the end."""
        if self.ended:
            return None
        if self.phase is not Phase.OPEN:
            return self._greeting_deadline
        return self.keepalive.next_deadline()

    def expire(self, now: float) -> None:
        """Do what is due at `now`: ping a silent peer, give up a dead one."""
        if self.ended:
            return
        if self.phase is not Phase.OPEN:
            if now >= self._greeting_deadline:
                self._late()
            return
        due = self.keepalive.due(now)
        if due is Due.PING:
            append_message(self._outgoing.frames, _PING)
        elif due is Due.DEAD:
            self.say_goodbye(GoodbyeCode.SILENT, "nothing was heard, and pings went unanswered")

    def _late(self) -> None:
        reason = "the greeting was not completed in time"
        if self.phase is not Phase.GREETING:
            self.say_goodbye(GoodbyeCode.SILENT, reason)
        elif self._role is not None:
            self._ended_here(RefusalCode.LATE, reason)
        else:
            self.refuse(RefusalCode.LATE, reason)

    def fault(self, error: PeerError) -> None:
        """End the connection because of a fault of the peer."""
        reason = shortened(str(error))
        if self.phase is not Phase.GREETING:
            self.say_goodbye(GoodbyeCode.PROTOCOL, reason)
        elif self._role is not None:
            self._ended_here(RefusalCode.NOT_UNDERSTOOD, reason)
        elif self._decoder.foreign is not None:
            self._ended_here(RefusalCode.NOT_UNDERSTOOD, reason)
            self._outgoing.frames += self._decoder.foreign.reply
        elif isinstance(error, VersionMismatchError):
            self.refuse(RefusalCode.VERSION, reason)
        else:
            self.refuse(RefusalCode.NOT_UNDERSTOOD, reason)

    def _ended_here(self, code: GoodbyeCode | RefusalCode, reason: str) -> None:
        self.phase = step(self.phase, Trigger.ENDED_HERE)
        self.ending = Ending(code, reason, by_peer=False)

    def _ended_there(self, last: Goodbye | Refusal) -> None:
        self.phase = step(self.phase, Trigger.ENDED_THERE)
        broker = last.name if isinstance(last, Refusal) else ""
        self.ending = Ending(last.code, last.reason, by_peer=True, broker=broker)


def shortened(reason: str) -> str:
    """`reason`, cut to what a frame may carry."""
    if len(reason) <= REASON_CHARS_MAX:
        return reason
    return reason[: REASON_CHARS_MAX - 1] + "…"
