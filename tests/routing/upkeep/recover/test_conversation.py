"""Conversations of two ends of a link, and their `Back`s, whatever either end has lost."""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.routing.messages import Unsubscribe
from sapwood.routing.upkeep.recover.conversation import Conversation, Verdict
from sapwood.routing.upkeep.recover.notes import Back, ConversationId, Taken
from sapwood.routing.upkeep.recover.owed import Owed

A, B, C = (ConversationId(life, 1) for life in range(3))


def said(count: int, acknowledged: int = 0) -> Owed:
    owed = Owed()
    for number in range(count):
        owed.append(Unsubscribe(str(number)), None)
    owed.acknowledge(acknowledged)
    return owed


def test_ends_that_know_each_other_go_on() -> None:
    one = Conversation(A, B, taken=3, owed=said(5, acknowledged=2))
    assert one.hear(Back(B, A, 4)) is Verdict.AGREED
    assert (one.owed.acknowledged, one.sent, one.is_live) == (4, 4, False)


def test_an_end_that_has_taken_nothing_learns_the_name_of_the_other() -> None:
    one = Conversation(A, owed=said(2))
    assert one.hear(Back(B, None, 0)) is Verdict.WAIT
    assert one.theirs == B
    assert one.hear(Back(B, A, 0)) is Verdict.AGREED
    one = Conversation(A, B, owed=said(2))
    assert one.hear(Back(C, A, 1)) is Verdict.AGREED
    assert one.theirs == C


@pytest.mark.parametrize(
    ("one", "back"),
    [
        (Conversation(A, B, taken=1), Back(C, A, 0)),  # what came is of a life that is no more
        (Conversation(A, B, owed=said(5, acknowledged=3)), Back(C, None, 0)),  # it lost that
        (Conversation(C, B, owed=said(5, acknowledged=3)), Back(B, A, 3)),  # it knows an earlier id
        (Conversation(A, B, owed=said(5, acknowledged=3)), Back(B, A, 2)),  # it has older state
        (Conversation(A, B, owed=said(5)), Back(B, A, 6)),  # this end has
    ],
)
def test_what_does_not_fit_begins_afresh(one: Conversation, back: Back) -> None:
    assert one.hear(back) is Verdict.AFRESH
    assert (one.sent, one.expected) == (None, None)


@pytest.mark.parametrize(
    ("one", "back"),
    [
        (Conversation(A, B, owed=said(5), restored=5), Back(B, A, 6)),  # it has what this end lost
        (Conversation(A, B, owed=said(5), restored=2), Back(B, A, 3)),  # what this life made
        (Conversation(A, B, owed=said(5, acknowledged=3)), Back(B, C, 3)),  # C is none of this end
        (Conversation(A), Back(B, C, 0)),
    ],
)
def test_an_end_that_has_older_state_notices(one: Conversation, back: Back) -> None:
    assert one.hear(back) is Verdict.BEHIND
    assert (one.sent, one.expected) == (None, None)


def test_what_is_repeated_is_counted_once() -> None:
    one = Conversation(A, B, taken=5)
    one.has_heard, one.expected = True, 4
    assert one.take(1) == 1
    assert one.take(3) == 1
    assert one.take(1) == 0
    assert (one.taken, one.expected) == (8, 9)
    one.validate()


def test_answers_that_do_not_add_up_are_noticed() -> None:
    one = Conversation(A, B, taken=3, owed=said(5, acknowledged=2))
    assert one.answered_by(Taken(9, 9)) is None
    one.has_heard, one.expected, one.sent = True, 4, 4
    assert one.answered_by(Taken(3, 3)) is None
    assert one.owed.acknowledged == 3
    assert one.answered_by(Taken(3, 4)) == "it sent 4 messages, of which 3 came"
    for number in (2, 5):
        assert "it had 3 and was sent 4" in (one.answered_by(Taken(number, 3)) or "")
    assert one.answer() == Taken(3, 4)


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (Conversation(A, expected=1), "has not said from where"),
        (Conversation(A, has_heard=True, expected=3), "message 1 is missing"),
        (Conversation(A, answered=1), "more is acknowledged"),
        (Conversation(A, sent=1), "1 messages were sent of 0"),
    ],
)
def test_relations_are_checked(spoiled: Conversation, words: str) -> None:
    with pytest.raises(InvariantError, match=words):
        spoiled.validate()


# Two ends, and all that can happen to them -------------------------------------------------------


@dataclass
class End:
    """One end, as a router keeps it: what it has said and heard since it began afresh."""

    life: int
    begun: int = 0
    conversation: Conversation = field(init=False)
    heard: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    inbox: deque[Back | int | str] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.begin()

    @property
    def bound(self) -> int:
        """The most that the other end can have, for a life that begins with this state."""
        one = self.conversation
        return one.owed.made if one.restored is None else one.restored

    def begin(self, theirs: ConversationId | None = None) -> None:
        self.begun += 1
        self.conversation = Conversation(ConversationId(self.life, self.begun), theirs)
        self.heard, self.told = [], []

    def say(self, word: str, other: End) -> None:
        was_live = self.conversation.is_live
        self.told.append(word)
        self.conversation.owed.append(Unsubscribe(word), None)
        if was_live:
            self.conversation.sent = self.conversation.owed.made
            other.inbox.append(word)

    def read(self, other: End) -> None:
        """Take one thing in, as `Recover` does."""
        one = self.conversation
        match self.inbox.popleft():
            case Back() as back:
                before = one.theirs
                verdict = one.hear(back)
                if verdict in {Verdict.AFRESH, Verdict.BEHIND}:
                    self.begin(back.mine)
                    self.conversation.has_heard = True
                    other.inbox.append(self.conversation.back())
                    return
                if one.theirs != before:
                    other.inbox.append(one.back())
                if verdict is Verdict.AGREED:
                    other.inbox.append(one.owed.acknowledged + 1)
                    for entry in one.owed.since(one.owed.acknowledged, len(one.owed)):
                        assert isinstance(entry.content, Unsubscribe)
                        other.inbox.append(entry.content.key)
                    one.sent = one.owed.made
            case int() as first:
                assert first <= one.taken + 1
                one.expected = first
            case word:
                if one.expected is not None and one.take(1) == 0:
                    self.heard.append(word)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "read", "cut", "forget", "keep", "relapse"]), st.integers(0, 1)
    ),
    max_size=60,
)


@given(STEPS)
def test_both_ends_always_come_to_mean_the_same(steps: list[tuple[str, int]]) -> None:
    ends, lives = [End(0), End(1)], 2
    copies = deepcopy(ends)

    def cut() -> None:
        for end in ends:
            end.inbox.clear()
            end.conversation.link_down()
        for end, other in (ends, ends[::-1]):
            other.inbox.append(end.conversation.back())

    cut()
    words = 0
    for what, which in steps:
        end, other = ends[which], ends[1 - which]
        if what == "say":
            words += 1
            end.say(f"{which}:{words}", other)
        elif what == "read" and end.inbox:
            end.read(other)
        elif what == "cut":
            cut()
        elif what == "forget":
            lives += 1
            ends[which] = End(lives)
            cut()
        elif what == "keep":
            copies[which] = deepcopy(end)
        elif what == "relapse":
            lives += 1
            older = ends[which] = deepcopy(copies[which])
            older.life, older.begun = lives, 0
            older.conversation.restored = older.bound
            cut()
        for one in ends:
            one.conversation.validate()
    rounds = 0
    while ends[0].inbox or ends[1].inbox:
        for which in (0, 1):
            if ends[which].inbox:
                ends[which].read(ends[1 - which])
        rounds += 1
        assert rounds < 10_000, "the ends talk for ever"
    for end, other in (ends, ends[::-1]):
        assert end.conversation.theirs == other.conversation.mine
        assert end.conversation.is_live
        assert end.heard == other.told
