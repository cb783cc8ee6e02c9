"""The retransmission buffer of one link: what the neighbor has not said that it has.

::

    number   entry
    8        Unsubscribe(key)
    9-12     PublishMany of 4, of which the record takes the places from 130 on
    13       Publish, place 140

`acknowledge(10)` leaves the last two of the four, and 13. The places say what the journal has to
keep: here all from 130 on, as the record of a batch is released as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from sapwood.errors import InvariantError
from sapwood.routing.effects import Send, SendMany
from sapwood.routing.messages import PublishMany, RouterMessage

Content: TypeAlias = RouterMessage | PublishMany


class Entry(NamedTuple):
    """A message under its number, or several publications under the first of theirs.

    `place` is the first of the record that the publication came in; `None` for all else.
    """

    number: int
    content: Content
    place: int | None

    @property
    def last(self) -> int:
        """The last of its numbers."""
        count = len(self.content.batch) if isinstance(self.content, PublishMany) else 1
        return self.number + count - 1

    def since(self, number: int) -> Entry:
        """What of it has this number or a greater one."""
        skipped = number - self.number
        if skipped <= 0:
            return self
        assert isinstance(self.content, PublishMany), "one message has one number"
        return Entry(number, self.content.part(skipped), self.place)


class Owed:
    """Messages for one neighbor, numbered without gaps.

    #: the entries have the numbers from acknowledged + 1 up to made
    """

    __slots__ = ("_entries", "acknowledged", "made")

    def __init__(self, acknowledged: int = 0) -> None:
        self.acknowledged = acknowledged
        self.made = acknowledged
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        """How many messages the neighbor may lack."""
        return self.made - self.acknowledged

    @property
    def place(self) -> int | None:
        """The first place of a publication that the neighbor may lack; `None` where there is none.

        Places of entries grow with their numbers.
        """
        return next((entry.place for entry in self._entries if entry.place is not None), None)

    def append(self, content: Content, place: int | None) -> Entry:
        """Give numbers to what is to be sent."""
        entry = Entry(self.made + 1, content, place)
        self._entries.append(entry)
        self.made = entry.last
        return entry

    def acknowledge(self, number: int) -> None:
        """The neighbor has everything up to a number, which was made."""
        assert number <= self.made, "nobody has what was never made"
        if number <= self.acknowledged:
            return
        self.acknowledged = number
        entries = self._entries
        while entries and entries[0].last <= number:
            entries.popleft()
        if entries:
            entries[0] = entries[0].since(number + 1)

    def since(self, number: int, count: int) -> Iterator[Entry]:
        """What has a number greater than this one: whole entries, at least `count` messages."""
        last = number + count
        for entry in self._entries:
            if entry.number > last:
                return
            if entry.last > number:
                yield entry.since(number + 1)

    def validate(self) -> None:
        """Check that the numbers have no gap; raises `InvariantError`."""
        number = self.acknowledged
        for entry in self._entries:
            if entry.number != number + 1:
                raise InvariantError(f"message {number + 1} is owed, and not there")
            number = entry.last
        if number != self.made:
            raise InvariantError(f"messages up to {self.made} were made, {number} are there")


def send(neighbor: str, content: Content) -> Send | SendMany:
    """What puts an entry on the link."""
    if isinstance(content, PublishMany):
        return SendMany(neighbor, content)
    return Send(neighbor, content)
