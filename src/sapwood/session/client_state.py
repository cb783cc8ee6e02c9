"""The durable state of a client: its records, and the state that they add up to.

A publisher that begins again with its state continues with its session and its numbers and sends
its unanswered publications again; its broker drops those that it has. A consumer acknowledges again
what it has acknowledged, and does not get it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from sapwood.errors import InvariantError
from sapwood.session.ledger import Unacknowledged
from sapwood.wire.durable import Numbers


class Begun(Struct, array_like=True, frozen=True, tag=1):
    """A run of the client begins: its name, its session, and the number of runs before it."""

    name: str
    session: str
    runs: int


class Published(Struct, array_like=True, frozen=True, tag=2):
    """A publication was submitted, under the next number; it is sent after this record."""

    publication: bytes


class Answered(Struct, array_like=True, frozen=True, tag=3):
    """The broker has answered all publications up to this number."""

    through: int


class Acknowledged(Struct, array_like=True, frozen=True, tag=4):
    """The application has processed deliveries of a durable subscription."""

    name: str
    generation: str
    numbers: Numbers


class Confirmed(Struct, array_like=True, frozen=True, tag=5):
    """The broker will not deliver these numbers again."""

    name: str
    generation: str
    numbers: Numbers


class Refused(Struct, array_like=True, frozen=True, tag=6):
    """The broker has refused the publication with this number, and the application knows it."""

    number: int


ClientRecord: TypeAlias = Begun | Published | Answered | Acknowledged | Confirmed | Refused


class ClientState:
    """The state that the records of a client add up to.

    #: window holds the publications without an answer; unconfirmed has the numbers that brokers may
    #: deliver again, by name and generation
    """

    def __init__(self) -> None:
        self.name = ""
        self.session = ""
        #: the number of runs that have begun so far
        self.runs = 0
        self.window = Unacknowledged()
        self.unconfirmed: dict[tuple[str, str], set[int]] = {}

    def carry_out(self, record: ClientRecord) -> None:
        """Apply a record. Raises `InvariantError` where no client writes such a record here."""
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
        """The last generation known of a durable subscription, and its unconfirmed numbers."""
        for (known, generation), numbers in reversed(self.unconfirmed.items()):
            if known == name:
                return generation, numbers
        return "", ()

    def records(self) -> Iterator[ClientRecord]:
        """The fewest records that add up to the same state."""
        yield Begun(self.name, self.session, self.runs - 1)
        if self.window.acknowledged:
            yield Answered(self.window.acknowledged)
        for _, publication in self.window.after(0):
            yield Published(publication)
        for (name, generation), numbers in self.unconfirmed.items():
            yield Acknowledged(name, generation, tuple(sorted(numbers)))
