"""What a client keeps where it survives the client: records, and the state that they come to.

A publisher that begins again with it goes on under its session and its numbers, sends again what
has no answer, and its broker drops what it has. A consumer acknowledges again what it has
acknowledged, and does not see it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from sapwood.errors import InvariantError
from sapwood.session.ledger import Unacknowledged
from sapwood.wire.durable import Numbers


class Begun(Struct, array_like=True, frozen=True, tag=1):
    """A run of the client begins: its name, its session, and how many runs there were before."""

    name: str
    session: str
    runs: int


class Published(Struct, array_like=True, frozen=True, tag=2):
    """A publication was given, under the next number; it is sent after this record."""

    publication: bytes


class Answered(Struct, array_like=True, frozen=True, tag=3):
    """The broker has answered all publications up to this number."""

    through: int


class Acknowledged(Struct, array_like=True, frozen=True, tag=4):
    """The application is done with deliveries of a durable subscription."""

    name: str
    generation: str
    numbers: Numbers


class Confirmed(Struct, array_like=True, frozen=True, tag=5):
    """The broker will not deliver these again."""

    name: str
    generation: str
    numbers: Numbers


class Refused(Struct, array_like=True, frozen=True, tag=6):
    """The broker has refused the publication with this number, and the application knows."""

    number: int


ClientRecord: TypeAlias = Begun | Published | Answered | Acknowledged | Confirmed | Refused


class ClientState:
    """What the records of a client come to.

    #: window holds the publications without an answer; unconfirmed has what brokers may deliver
    #: again, by name and generation
    """

    def __init__(self) -> None:
        self.name = ""
        self.session = ""
        #: runs that have begun so far
        self.runs = 0
        self.window = Unacknowledged()
        self.unconfirmed: dict[tuple[str, str], set[int]] = {}

    def carry_out(self, record: ClientRecord) -> None:
        """Take a record in. Raises `InvariantError` where no client has written it so."""
        match record:
            case Begun(name, session, runs):
                self.name, self.session, self.runs = name, session, runs + 1
            case Published(publication):
                self.window.add_again(publication)
            case Answered(through):
                if self.window.last == 0:
                    self.window.begin_after(through)
                elif through > self.window.last:
                    raise InvariantError("more is answered than was published")
                self.window.answered(through)
            case Refused(number):
                if number > self.window.last:
                    raise InvariantError("more is refused than was published")
                self.window.refused(number)
            case Acknowledged(name, generation, numbers):
                self.unconfirmed.setdefault((name, generation), set()).update(numbers)
            case Confirmed(name, generation, numbers):
                left = self.unconfirmed.get((name, generation), set())
                left.difference_update(numbers)
                if not left:
                    self.unconfirmed.pop((name, generation), None)

    def of(self, name: str) -> tuple[str, Iterable[int]]:
        """The generation of a durable subscription that was seen last, and what is unconfirmed."""
        for (known, generation), numbers in reversed(self.unconfirmed.items()):
            if known == name:
                return generation, numbers
        return "", ()

    def records(self) -> Iterator[ClientRecord]:
        """Records that come to the same, as few as there can be."""
        yield Begun(self.name, self.session, self.runs - 1)
        if self.window.acknowledged:
            yield Answered(self.window.acknowledged)
        for _, publication in self.window.after(0):
            yield Published(publication)
        for (name, generation), numbers in self.unconfirmed.items():
            yield Acknowledged(name, generation, tuple(sorted(numbers)))
