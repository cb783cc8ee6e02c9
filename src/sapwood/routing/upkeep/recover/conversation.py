"""The messages of one link since both ends began afresh, whatever happened to the link since.

Each end gives a conversation an id of its own. `Back` has both ids as the sender knows them, which
distinguishes an end that continues from one that has lost its state, or has older one:

* both know both ids: they continue, each from what the other has taken;
* an end receives a new id of the other's while it has taken nothing and none of its messages is
  missing: it takes the id over;
* the other has an id that this end never gave (`given`), or has taken messages that this end never
  made: this end has an older state than it once had. Whatever it sends may contradict what it has
  sent: it begins afresh with every neighbor;
* all else: what came from there is void. The end begins afresh, under a new id.

An end whose ids change sends `Back` again, and sends nothing that is counted until the other has
confirmed that it knows the present ids. An end that begins afresh has taken nothing, so each end
does so once at most while the link is up, unless the other loses its state again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sapwood.errors import InvariantError
from sapwood.routing.upkeep.recover.notes import Back, ConversationId, Taken
from sapwood.routing.upkeep.recover.owed import Owed


class Verdict(Enum):
    """The result of a `Back`."""

    AGREED = "both ends mean the same: send what the other lacks"
    WAIT = "the other does not know this end's id yet: it will answer"
    AFRESH = "what was said before is void"
    BEHIND = "the other knows more of this end than this end does"


@dataclass(slots=True)
class Conversation:
    """One router's end of a conversation.

    #: the first `taken` messages of the neighbor were applied; owed has what the neighbor may lack
    #: while the link is up and the neighbor has sent `From`, `expected` is its next number; it is
    #: at most taken + 1 (below that it repeats something)
    #: while both agree, the messages up to `sent` were put on the link; is_live: these are all
    #: restored is what had been made when this life of the router began, until the neighbor has
    #: sent what it has: that cannot be more
    #: answered is what the neighbor knows to be taken
    #: reading: the messages to be sent next were let go, and are being read
    """

    mine: ConversationId
    theirs: ConversationId | None = None
    taken: int = 0
    owed: Owed = field(default_factory=Owed)
    has_heard: bool = False
    expected: int | None = None
    sent: int | None = None
    restored: int | None = None
    answered: int = 0
    reading: bool = False

    @property
    def is_live(self) -> bool:
        """True if new messages are sent at once."""
        return self.sent == self.owed.made

    def back(self) -> Back:
        """The note that this end sends when the link comes up."""
        self.answered = self.taken
        return Back(self.mine, self.theirs, self.taken)

    def link_down(self) -> None:
        """Forget the state of the link: whatever was on it is gone."""
        self.has_heard = False
        self.expected = self.sent = None

    def hear(self, back: Back) -> Verdict:
        """Take in the other end's `Back`."""
        self.has_heard = True
        self.expected = self.sent = None
        is_known, is_new = back.theirs == self.mine, back.mine != self.theirs
        if self._is_behind(back):
            return Verdict.BEHIND
        if is_known and not self._can_have(back.taken):
            return Verdict.AFRESH
        if not is_known and self.owed.acknowledged:
            return Verdict.AFRESH  # the messages it has taken cannot be sent again
        if is_new and self.taken:
            return Verdict.AFRESH
        self.theirs = back.mine
        if not is_known:
            return Verdict.WAIT
        self.restored = None
        self.owed.acknowledge(back.taken)
        self.sent = back.taken
        return Verdict.AGREED

    def take(self, count: int) -> int:
        """Count messages that came; returns how many of them, the first ones, came before."""
        assert self.expected is not None, "it is known which number comes next"
        known = min(count, self.taken - self.expected + 1)
        self.expected += count
        self.taken += count - known
        return known

    def answer(self) -> Taken:
        """The acknowledgement of this end: all that came is applied and kept."""
        assert self.sent is not None, "the other end has heard what was taken before"
        self.answered = self.taken
        return Taken(self.taken, self.sent)

    def answered_by(self, taken: Taken) -> str | None:
        """Take in the other end's acknowledgement; returns what is wrong with it, if anything."""
        if self.expected is None or self.sent is None:
            return None  # of before one end began afresh
        if not self.owed.acknowledged <= taken.number <= self.sent:
            return (
                f"it says it has {taken.number} messages, where it had "
                f"{self.owed.acknowledged} and was sent {self.sent}"
            )
        if taken.sent != self.expected - 1:
            return f"it sent {taken.sent} messages, of which {self.expected - 1} came"
        self.owed.acknowledge(taken.number)
        return None

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        self.owed.validate()
        if self.expected is not None and not self.has_heard:
            raise InvariantError("messages are counted of a neighbor that has not said from where")
        if self.expected is not None and self.expected > self.taken + 1:
            raise InvariantError(f"message {self.taken + 1} is missing")
        if self.answered > self.taken:
            raise InvariantError("more is acknowledged than was taken")
        if self.sent is not None and not self.owed.acknowledged <= self.sent <= self.owed.made:
            raise InvariantError(f"{self.sent} messages were sent of {self.owed.made}")

    def _is_behind(self, back: Back) -> bool:
        """True if the other end has received what only a later life of this one can have sent."""
        if back.theirs is None or back.theirs != self.mine:
            return back.theirs is not None and back.theirs > self.mine
        return self.restored is not None and back.taken > self.restored

    def _can_have(self, taken: int) -> bool:
        """True if the other end may have taken `taken` messages of this one."""
        made = self.owed.made if self.restored is None else self.restored
        return self.owed.acknowledged <= taken <= made
