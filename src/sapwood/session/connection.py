"""A connection of any kind: its handshake in time, its keep-alive, its orderly end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from sapwood.errors import FrameError, InvariantError, PeerError
from sapwood.limits import PINGS_AT_ONCE_MAX, REASON_CHARS_MAX
from sapwood.routing import messages as routing
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

_PING: Final = Ping()
_PONG: Final = Pong()
_CONTROL: Final = (Ping, Pong, Goodbye, Refusal, Stamp, Born)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a connection ended.

    `code` is `None` where the bytes simply stopped. `by_peer` says whose word it was; a fault of
    the peer that this end noticed is this end's word. `broker` names the broker that refused.
    """

    code: GoodbyeCode | RefusalCode | None
    reason: str
    by_peer: bool
    broker: str = ""

    @property
    def final(self) -> bool:
        """Whether connecting again is pointless as long as both ends run."""
        return self.code is not None and self.code.final

    @property
    def retryable(self) -> bool:
        """Whether a refusal may not be repeated a little later."""
        return isinstance(self.code, RefusalCode) and self.code.retryable


class Connection:
    """One connection, seen from one end.

    `role` is this end's role when it connects, and `None` when it accepts. `name` is the broker's
    name that refusals carry. With `runs`, publications that stand behind each other are one `Run`
    among the messages.

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
        #: what is known of time, where this end has a clock
        self.timekeeper = None if settings.clock is None else Timekeeper(settings.clock)
        #: a greeting is among the bytes to be sent: it has a stamp of its own, and nothing precedes
        self._is_greeting = False

    @property
    def open(self) -> bool:
        """Whether messages may be sent."""
        return self.phase is Phase.OPEN

    @property
    def ended(self) -> bool:
        """Whether nothing more is read or sent, but for what `take_outgoing` still gives."""
        return self.ending is not None

    # Bytes in and out --------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> Iterator[Greeting | Message | Run]:
        """The messages in `data`, in order, but for pings, pongs, refusals and goodbyes.

        To be iterated to its end. After a fault of the peer `ending` is set, and `take_outgoing`
        has the refusal or goodbye for it.
        """
        if self.ended:
            return
        self.keepalive.received(now)
        pings, timekeeper = 0, self.timekeeper
        for message in self._decoder.messages(data):
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
        """Put a message among the bytes to be sent; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        timekeeper = self.timekeeper
        if timekeeper is not None and timekeeper.begun is None:
            timekeeper.begin()
        append_message(self._outgoing.frames, message)

    def send_routing(self, message: routing.Message) -> None:
        """Put a router's message among the bytes to be sent; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        append_routing(self._outgoing.frames, message, self.frame_bytes_max)

    def send_delivery(self, subscriptions: tuple[str, ...], publication: bytes) -> None:
        """Put a delivery among the bytes to be sent; the connection is open."""
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
        """Put whole frames among the bytes to be sent; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        self._outgoing.add(frames)

    def send_ids(self, reply: type[AboutIds], ids: Sequence[str]) -> None:
        """Put what is said of several ids among the bytes to be sent; the connection is open."""
        if self.phase is not Phase.OPEN:
            raise InvariantError(f"nothing can be sent on a connection that is {self.phase.value}")
        append_ids(self._outgoing.frames, reply, ids, self.frame_bytes_max)

    @property
    def outgoing_bytes(self) -> int:
        """How many bytes `take_outgoing` would give."""
        return len(self._outgoing)

    def take_outgoing(self) -> bytes:
        """The bytes to be sent now, at once: they begin with a stamp."""
        return b"".join(part for piece in self.take_pieces() for part in piece)

    def take_pieces(self) -> list[Piece]:
        """The same in pieces of whole frames; what is long is not copied."""
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
        """The frame of the stamp of what is sent now; empty where there is to be none."""
        timekeeper, is_greeting = self.timekeeper, self._is_greeting
        self._is_greeting = False
        is_empty = not len(self._outgoing)
        if timekeeper is None or is_greeting or (is_empty and self.phase is not Phase.OPEN):
            return b""
        # What stands before a goodbye is stamped as well: it may have been marked.
        stamp = timekeeper.stamp(is_empty=is_empty)
        if stamp is None:
            return b""
        frame = bytearray()
        append_message(frame, stamp)
        return bytes(frame)

    # Time --------------------------------------------------------------------------------------

    @property
    def born(self) -> int | None:
        """What was read last was not made before the own clock showed this, if that is known."""
        return None if self.timekeeper is None else self.timekeeper.born

    def age_ns(self) -> int | None:
        """How old what was read last is by now, at most, if that is known."""
        return None if self.timekeeper is None else self.timekeeper.age_ns()

    @property
    def delay(self) -> Passage | None:
        """How long the last write that came was under way; `None` where neither end keeps time."""
        timekeeper = self.timekeeper
        return None if timekeeper is None or timekeeper.bounds is None else timekeeper.bounds.last

    def mark(self, born: int | None) -> None:
        """Say of what is sent next that it was not made before the own clock showed this."""
        if self.timekeeper is not None:
            self._mark(self.timekeeper.mark(born))

    def mark_age(self, age_ns: int | None) -> None:
        """Say of what is sent next that it is at most so old by now."""
        if self.timekeeper is not None:
            self._mark(self.timekeeper.mark_age(age_ns))

    def arrived(self) -> None:
        """Say that bytes have arrived, which `receive` gets some time."""
        if self.timekeeper is not None:
            self.timekeeper.arrive()

    def _mark(self, born: Born | None) -> None:
        if born is not None and self.phase is Phase.OPEN:
            append_message(self._outgoing.frames, born)

    def _time(self, said: Stamp | Born) -> None:
        """Take in what the peer says of time; whoever has no clock has asked for nothing."""
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
        """The broker that was offered a link took it into use."""
        self.phase = step(self.phase, Trigger.ESTABLISHED)

    def watch(self) -> None:
        """The peer is a neighbor from now on: the failure detector decides, if one is named."""
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
        """End the connection with a word to the peer; nothing happens if it has ended already."""
        if self.ended:
            return
        if self.phase is not Phase.GREETING:
            append_message(self._outgoing.frames, Goodbye(code, shortened(reason)))
        self._ended_here(code, reason)

    def lost(self, reason: str) -> None:
        """The bytes stopped; nothing happens if the connection is closed already."""
        if self.phase is Phase.CLOSED:
            return
        self.phase = step(self.phase, Trigger.LOST)
        if self.ending is None:
            self.ending = Ending(None, reason, by_peer=True)

    def next_deadline(self) -> float | None:
        """When `expire` has to be called, if nothing arrives before; `None` once it has ended."""
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
        """End the connection because the peer did what it must not."""
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
