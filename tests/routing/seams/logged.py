"""An upkeep that persists: a log of changes, numbers on each link, and what is not acknowledged.

A router that crashed becomes its earlier self, and goes on as if it had only been slow: what it was
told is in its log (persisted before it is acknowledged), what it has told is made again from that
and sent again as far as the neighbor lacks it. Routing never hears that a link was down. This is
Crash/Recover of XNet (6.1) at its smallest: the log only grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.errors import InvariantError
from sapwood.routing.effects import Effect, Persist, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Note,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.messages import RouterMessage, Stamped, UpkeepMessage, UpkeepNote
from sapwood.routing.strategies import UpkeepStrategy
from sapwood.routing.upkeep.protocol import Action, Kept, Resume

INCARNATION: Final = "incarnation"
BACK: Final = b"b"
TAKEN: Final = b"t"


class Logged:
    """The log and the link numbers of one router.

    #: _taken[n] numbers came from n and were handed on, without a gap
    #: _made[n] numbers were given to messages for n; _owed[n] are those that it may lack
    #: _ready are the links that are up where the neighbor has said what it has
    """

    def __init__(self, router: Kept) -> None:
        self._router = router
        self._is_known = False
        self._taken: dict[str, int] = {}
        self._made: dict[str, int] = {}
        self._owed: dict[str, dict[int, RouterMessage]] = {}
        self._ready: set[str] = set()

    @property
    def is_passive(self) -> bool:
        return False

    @property
    def takes_batches(self) -> bool:
        return False

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        neighbor, actions = link.neighbor, list[Action]()
        if neighbor not in self._owed:
            self._know(neighbor)
            actions += [*self._log(link), link]
        return [*actions, Send(neighbor, _numbered(BACK, self._taken[neighbor]))]

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        self._ready.discard(link.neighbor)
        return ()

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:
        return self.link_down(link, now)

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:
        assert isinstance(request, Change), "publications come one by one"
        return (*self._log(request), request)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        assert isinstance(received, Receive), "publications come one by one"
        neighbor, message = received.neighbor, received.message
        match message:
            case Stamped(stamp, inner):
                self._taken[neighbor] += 1
                if self._taken[neighbor] != int.from_bytes(stamp):
                    raise InvariantError(f"something from {neighbor} is missing, or came twice")
                change = Receive(neighbor, inner)
                taken = Send(neighbor, _numbered(TAKEN, self._taken[neighbor]))
                return (*self._log(change), change, taken)
            case UpkeepNote(note):
                owed, number = self._owed[neighbor], int.from_bytes(note[1:])
                for one in [one for one in owed if one <= number]:
                    del owed[one]
                if note[:1] == TAKEN:
                    return ()
                self._ready.add(neighbor)
                return [Send(neighbor, _stamped(one, owed[one])) for one in owed]
            case _:
                raise InvariantError(f"{neighbor} has sent something without a number")

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        assert isinstance(send, Send), "publications go one by one"
        neighbor, message = send.neighbor, send.message
        assert not isinstance(message, UpkeepMessage)
        number = self._made[neighbor] = self._made[neighbor] + 1
        self._owed[neighbor][number] = message
        return (Send(neighbor, _stamped(number, message)),) if neighbor in self._ready else ()

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:
        actions: list[Action] = []
        for record in restored.records:
            if isinstance(record, Note):
                actions.append(Resume(int.from_bytes(record.value)))
                self._is_known = True
                continue
            if isinstance(record, LinkUp):
                self._know(record.neighbor)
            elif isinstance(record, Receive):
                self._taken[record.neighbor] += 1
            assert isinstance(record, Change), "nothing else was persisted"
            actions.append(record)
        return actions

    def tick(self, now: float) -> Sequence[Action]:
        return ()

    def next_deadline(self) -> float | None:
        return None

    def table_sizes(self) -> dict[str, int]:
        return {"owed": sum(map(len, self._owed.values()))}

    def validate(self) -> None:
        for neighbor, owed in self._owed.items():
            made = self._made[neighbor]
            if list(owed) != list(range(made - len(owed) + 1, made + 1)):
                raise InvariantError(f"what {neighbor} may lack has gaps")

    def _log(self, change: Change) -> Sequence[Effect]:
        if self._is_known:
            return (Persist(change),)
        self._is_known = True
        return (Persist(Note(INCARNATION, self._router.incarnation.to_bytes(8))), Persist(change))

    def _know(self, neighbor: str) -> None:
        self._taken[neighbor] = self._made[neighbor] = 0
        self._owed[neighbor] = {}


def _numbered(word: bytes, number: int) -> UpkeepNote:
    return UpkeepNote(word + number.to_bytes(4))


def _stamped(number: int, message: RouterMessage) -> Stamped:
    return Stamped(number.to_bytes(4), message)


LOGGED: Final = UpkeepStrategy(
    name="logged",
    summary="changes are logged, and what a neighbor lacks is sent again",
    make=Logged,
    persists=True,
)
