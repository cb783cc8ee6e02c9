"""The messages of a router that are not confirmed yet, and their causes.

Where every message causes one message at most on each other link (`counting.py`), a message is
confirmed to where it came from when all messages that it caused are confirmed; so confirmations
come back from the edges of the overlay, or from where a change is wanted no further.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sapwood.errors import InvariantError


@dataclass(slots=True, eq=False)
class Cause:
    """The cause of messages: a client's request (`key`), or message `sending` of `link`.

    #: open: the numbers of the messages that are not confirmed, by the link they were sent on
    """

    link: str | None
    key: str
    sending: int
    open: dict[str, int] = field(default_factory=dict)


class Receipts:
    """Messages that wait for their confirmation.

    #: waiting[link][n] is the cause of the message that was sent on the link under number n
    #: stated[key] is the cause of a client's request with a message that is open
    #: waiting holds a cause exactly under its open numbers, of which there is one at least
    """

    __slots__ = ("stated", "waiting")

    def __init__(self) -> None:
        self.waiting: dict[str, dict[int, Cause]] = {}
        self.stated: dict[str, Cause] = {}

    def link_up(self, link: str) -> None:
        """Begin with a link on which nothing was sent."""
        self.waiting[link] = {}

    def sent(self, link: str, number: int, cause: Cause) -> None:
        """Register a message that was just sent, to wait for its confirmation."""
        self.waiting[link][number] = cause
        cause.open[link] = number
        if cause.link is None:
            self.stated[cause.key] = cause

    def confirm(self, link: str, number: int) -> Cause | None:
        """Take in a confirmation; returns the cause for which nothing is open any more.

        The confirmation of a message that is not registered has no effect.
        """
        cause = self.waiting[link].pop(number, None)
        return self._settled(cause, link) if cause is not None else None

    def link_down(self, link: str) -> list[Cause]:
        """Give up a link; returns the causes for which nothing is open any more because of that.

        Causes that came over it are dropped: no neighbor is left to confirm them to.
        """
        settled = [self._settled(cause, link) for cause in self.waiting.pop(link).values()]
        unheard = {one for causes in self.waiting.values() for one in causes.values()}
        for cause in unheard:
            if cause.link == link:
                self._drop(cause)
        return [cause for cause in settled if cause is not None and cause.link != link]

    def forget(self, key: str) -> None:
        """Forget the cause of a client's request that is withdrawn."""
        cause = self.stated.pop(key, None)
        if cause is not None:
            self._drop(cause)

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        counted: dict[Cause, dict[str, int]] = {}
        for link, waiting in self.waiting.items():
            for number, cause in waiting.items():
                counted.setdefault(cause, {})[link] = number
        if any(cause.open != numbers for cause, numbers in counted.items()):
            raise InvariantError("messages are waited for that were confirmed, or the other way")
        stated = {cause.key: cause for cause in counted if cause.link is None}
        if stated != self.stated:
            raise InvariantError("not exactly those statements wait that are not confirmed")
        if any(cause.link not in (None, *self.waiting) for cause in counted):
            raise InvariantError("something is waited for that came over a link which is gone")

    def _drop(self, cause: Cause) -> None:
        """Forget a cause with all its open messages."""
        for link, number in cause.open.items():
            del self.waiting[link][number]

    def _settled(self, cause: Cause, link: str) -> Cause | None:
        del cause.open[link]
        if cause.open:
            return None
        if cause.link is None:
            del self.stated[cause.key]
        return cause
