"""Which of the messages that a router sent are not confirmed yet, and whose they were.

Where every message causes one message on each other link (`counted.py`), a message is confirmed to
where it came from when all that it caused are confirmed; so confirmations come back from the edges
of the overlay.
"""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InvariantError


@dataclass(slots=True, eq=False)
class Cause:
    """What messages were sent for: a client's statement (`key`), or message `sending` of `link`.

    #: open: how many of the messages are not confirmed
    """

    link: str | None
    key: str
    sending: int
    open: int = 0


class Receipts:
    """Messages that wait for their confirmation.

    #: waiting[link][n] is the cause of the message that was sent on the link under number n
    #: stated[key] is the cause of a client's statement for which something is open
    #: the open of a cause is how often it is in waiting; never 0
    """

    __slots__ = ("stated", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[str, dict[int, Cause]] = {}
        self.stated: dict[str, Cause] = {}

    def link_up(self, link: str) -> None:
        """Begin with a link on which nothing was sent."""
        self.waiting[link] = {}

    def sent(self, link: str, number: int, cause: Cause) -> None:
        """Let a message that was just sent be waited for."""
        self.waiting[link][number] = cause
        cause.open += 1
        if cause.link is None:
            self.stated[cause.key] = cause

    def confirm(self, link: str, number: int) -> Cause | None:
        """Take in a confirmation; returns the cause for which nothing is open any more.

        One of a message that nobody waits for says nothing.
        """
        cause = self.waiting[link].pop(number, None)
        return self._settled(cause) if cause is not None else None

    def link_down(self, link: str) -> list[Cause]:
        """Give up a link; returns the causes for which nothing is open any more because of that.

        What came over it is not waited for any more: nobody is left to hear of it.
        """
        given_up = self.waiting.pop(link)
        settled = [cause for one in given_up.values() if (cause := self._settled(one)) is not None]
        for waiting in self.waiting.values():
            for number in [n for n, cause in waiting.items() if cause.link == link]:
                del waiting[number]
        return [cause for cause in settled if cause.link != link]

    def forget(self, key: str) -> None:
        """A client's statement is withdrawn: nobody waits for it any more."""
        if self.stated.pop(key, None) is not None:
            for waiting in self.waiting.values():
                for number in [n for n, cause in waiting.items() if cause.key == key]:
                    del waiting[number]

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        counted: dict[Cause, int] = {}
        for waiting in self.waiting.values():
            for cause in waiting.values():
                counted[cause] = counted.get(cause, 0) + 1
        if any(cause.open != count for cause, count in counted.items()):
            raise InvariantError("messages are waited for that were confirmed, or the other way")
        stated = {cause.key: cause for cause in counted if cause.link is None}
        if stated != self.stated:
            raise InvariantError("not exactly those statements wait that are not confirmed")
        if any(cause.link not in (None, *self.waiting) for cause in counted):
            raise InvariantError("something is waited for that came over a link which is gone")

    def _settled(self, cause: Cause) -> Cause | None:
        cause.open -= 1
        if cause.open:
            return None
        if cause.link is None:
            del self.stated[cause.key]
        return cause
