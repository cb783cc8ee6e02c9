"""Publications between "sent" and "accepted"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sapwood.errors import FrameError, InvariantError
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.model.publication import Publication
from sapwood.session.ledger import PublisherLedger, SessionMemory, Unacknowledged


def test_ledger_admits_each_number_once() -> None:
    ledger = PublisherLedger("s")
    assert ledger.admit(1)
    ledger.pass_on(1, "p1")
    assert not ledger.admit(1)
    assert ledger.admit(2)


def test_ledger_refuses_a_gap() -> None:
    with pytest.raises(FrameError, match="publication 3 came after 1"):
        PublisherLedger("s", received=1).admit(3)


def test_ledger_refuses_more_outstanding_than_a_client_may_have() -> None:
    ledger = PublisherLedger("s")
    for number in range(1, UNACKNOWLEDGED_MAX + 1):
        assert ledger.admit(number)
        ledger.pass_on(number, f"p{number}")
    with pytest.raises(FrameError, match="4096 publications wait"):
        ledger.admit(UNACKNOWLEDGED_MAX + 1)


def test_ledger_answers_cumulatively_whatever_the_order_of_the_router() -> None:
    ledger = PublisherLedger("s")
    for number, name in enumerate(("a", "b", "c"), start=1):
        ledger.pass_on(number, name)
    assert ledger.through == 0
    assert ledger.settle("b") == 2
    assert ledger.through == 0
    assert ledger.settle("a") == 1
    assert ledger.through == 2
    assert ledger.settle("c") == 3
    assert ledger.through == 3


SOME = [Publication(name, {"a": 1}) for name in ("a", "b", "c", "b")]


def test_ledger_admits_publications_together_but_for_those_that_it_knows() -> None:
    ledger = PublisherLedger("s", received=5)
    assert ledger.admit_many(6, 4) == 0
    assert ledger.admit_many(4, 4) == 2
    assert ledger.admit_many(1, 3) == 3
    assert ledger.admit_many(7, 1) is None
    ledger.pass_on_many(6, SOME)
    assert (ledger.received, ledger.through) == (9, 5)
    assert ledger.admit_many(10, UNACKNOWLEDGED_MAX - 4) == 0
    assert ledger.admit_many(10, UNACKNOWLEDGED_MAX - 3) is None
    ledger.settle_many(3)
    assert ledger.through == 8
    ledger.pass_on(10, "d")
    ledger.settle_many(1)
    ledger.settle_many(1)
    assert ledger.through == ledger.received == 10
    with pytest.raises(InvariantError):
        ledger.settle_many(1)


def test_ledger_may_pass_on_more_together_than_may_wait_one_by_one() -> None:
    ledger = PublisherLedger("s")
    assert ledger.admit_many(1, 2 * UNACKNOWLEDGED_MAX) == 0


def test_ledger_settles_one_by_one_what_was_passed_on_together() -> None:
    ledger = PublisherLedger("s")
    ledger.pass_on(1, "b")
    ledger.pass_on_many(2, SOME)
    ledger.pass_on(6, "b")
    assert [ledger.settle("b") for _ in range(2)] == [1, 3]
    assert ledger.through == 1
    assert ledger.settle("a") == 2
    assert ledger.through == 3
    assert [ledger.settle(name) for name in ("b", "c", "b")] == [5, 4, 6]
    assert ledger.through == ledger.received == 6


def test_ledger_waits_for_all_that_was_passed_on_together() -> None:
    ledger = PublisherLedger("s")
    for first in range(1, UNACKNOWLEDGED_MAX, len(SOME)):
        assert ledger.admit(first)
        ledger.pass_on_many(first, SOME)
    with pytest.raises(FrameError, match="4096 publications wait"):
        ledger.admit(UNACKNOWLEDGED_MAX + 1)


def test_ledger_settles_the_oldest_of_two_publications_with_one_id() -> None:
    ledger = PublisherLedger("s")
    ledger.pass_on(1, "same")
    ledger.pass_on(2, "same")
    assert [ledger.settle("same"), ledger.settle("same")] == [1, 2]


def test_ledger_knows_nothing_of_an_answer_without_a_question() -> None:
    ledger = PublisherLedger("s")
    ledger.pass_on(1, "a")
    with pytest.raises(InvariantError, match="'b' was answered without being asked"):
        ledger.settle("b")


def test_ledger_repeats_refusals_that_were_not_read() -> None:
    ledger = PublisherLedger("s")
    ledger.refuse(1, "one")
    ledger.pass_on(2, "p")
    ledger.settle("p")
    ledger.refuse(3, "three")
    assert ledger.through == 3
    assert ledger.resume(0) == [(1, "one"), (3, "three")]
    assert ledger.resume(1) == [(3, "three")]
    assert ledger.resume(3) == []


def test_ledger_keeps_a_bounded_number_of_refusals() -> None:
    ledger = PublisherLedger("s")
    for number in range(1, UNACKNOWLEDGED_MAX + 11):
        assert ledger.admit(number)
        ledger.refuse(number, "no")
    kept = [number for number, _ in ledger.resume(0)]
    assert kept == list(range(11, UNACKNOWLEDGED_MAX + 11))


def test_ledger_of_a_new_broker_takes_up_where_the_client_is() -> None:
    ledger = PublisherLedger("s")
    assert ledger.resume(100) == []
    assert ledger.admit(101)
    assert not ledger.admit(100)


def test_memory_gives_a_session_back_its_ledger() -> None:
    memory = SessionMemory()
    ledger = memory.attach("c", "s")
    memory.detach("c", forget=False)
    assert memory.attach("c", "s") is ledger


def test_memory_gives_another_session_of_the_name_a_new_ledger() -> None:
    memory = SessionMemory()
    ledger = memory.attach("c", "s")
    ledger.refuse(1, "no")
    memory.detach("c", forget=False)
    other = memory.attach("c", "t")
    assert (other.session, other.received) == ("t", 0)
    assert len(memory) == 1


def test_what_the_router_was_not_handed_when_its_client_left_is_sent_again() -> None:
    memory = SessionMemory()
    ledger = memory.attach("c", "s")
    ledger.pass_on_many(1, [Publication(f"p{n}", {"n": n}) for n in range(4)])
    ledger.settle_many(3)
    ledger.pass_on(5, "q")
    memory.detach("c", forget=False)
    again = memory.attach("c", "s")
    assert (again.received, again.through) == (3, 3)
    assert again.admit(4)
    again.pass_on(4, "p3")
    assert again.settle("p3") == 4


def test_memory_forgets_a_client_that_is_done() -> None:
    memory = SessionMemory()
    memory.attach("c", "s").refuse(1, "no")
    memory.detach("c", forget=True)
    assert len(memory) == 0
    assert memory.attach("c", "s").received == 0


def test_memory_holds_one_connection_a_name() -> None:
    memory = SessionMemory()
    memory.attach("c", "s")
    with pytest.raises(InvariantError):
        memory.attach("c", "s")


def test_memory_forgets_the_one_that_left_first_and_never_who_is_there() -> None:
    memory = SessionMemory(remembered_max=2)
    for name in ("here", "a", "b", "c"):
        memory.attach(name, "s").refuse(1, "no")
    for name in ("a", "b", "c"):
        memory.detach(name, forget=False)
    assert len(memory) == 3
    assert memory.attach("a", "s").received == 0
    assert memory.attach("b", "s").received == 1
    assert memory.attach("c", "s").received == 1


def test_what_was_refused_is_sent_again_as_nothing() -> None:
    window = Unacknowledged(bytes_max=5)
    for body in (b"aa", b"bbb"):
        window.add(body)
    assert window.full
    window.refused(2)
    assert not window.full
    assert list(window.after(0)) == [(1, b"aa"), (2, b"")]
    window.answered(2)
    window.refused(2)  # a repetition, which says nothing new
    assert (len(window), window.last) == (0, 2)


def test_window_is_full_at_its_number() -> None:
    window = Unacknowledged(publications_max=2)
    assert [window.add(b"a"), window.add(b"b")] == [1, 2]
    assert window.full
    with pytest.raises(InvariantError):
        window.add(b"c")
    window.answered(1)
    assert not window.full


def test_window_is_full_at_its_bytes_but_takes_one_of_any_size() -> None:
    window = Unacknowledged(bytes_max=10)
    window.add(bytes(1000))
    assert window.full
    window.answered(1)
    window.add(bytes(9))
    assert not window.full
    window.add(bytes(9))
    assert window.full


def test_window_refuses_an_answer_to_what_was_never_sent() -> None:
    window = Unacknowledged()
    window.add(b"a")
    with pytest.raises(FrameError, match="accepted publication 2 of 1"):
        window.answered(2)


def test_window_passes_over_an_answer_that_is_repeated() -> None:
    window = Unacknowledged()
    window.add(b"a")
    window.add(b"b")
    window.answered(2)
    window.answered(1)
    assert (window.acknowledged, len(window)) == (2, 0)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_window_gives_what_comes_after_a_number(sent: int, answered: int, known: int) -> None:
    window = Unacknowledged()
    for number in range(sent):
        window.add(bytes([number + 1]))
    window.answered(min(answered, sent))
    expected = range(max(known, min(answered, sent)) + 1, sent + 1)
    assert list(window.after(known)) == [(n, bytes([n])) for n in expected]


class Publishing(RuleBasedStateMachine):
    """A client's window and a broker's ledger, with connections that break anywhere.

    `wire` and `back` are what is on the way; a break loses both. What the broker passes on must be
    exactly what the client published, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.window = Unacknowledged(publications_max=5)
        self.memory = SessionMemory()
        self.ledger = self.memory.attach("c", "s")
        self.wire: list[tuple[int, bytes]] = []
        self.back: list[tuple[str, int]] = []
        self.passed: list[int] = []
        self.refused_here: set[int] = set()
        self.refused_there: set[int] = set()

    @precondition(lambda self: not self.window.full)
    @rule()
    def publish(self) -> None:
        body = b"x"
        self.wire.append((self.window.add(body), body))

    @precondition(lambda self: self.wire)
    @rule(refuse=st.booleans())
    def arrive(self, refuse: bool) -> None:
        number, _ = self.wire.pop(0)
        if not self.ledger.admit(number):
            return
        if refuse:
            self.ledger.refuse(number, "no")
            self.refused_there.add(number)
            self.back.append(("refused", number))
        else:
            self.ledger.pass_on(number, f"p{number}")
            self.passed.append(number)
            self.ledger.settle(f"p{number}")
        self.back.append(("through", self.ledger.through))

    @precondition(lambda self: self.back)
    @rule()
    def answer(self) -> None:
        kind, number = self.back.pop(0)
        if kind == "through":
            self.window.answered(number)
        elif number > self.window.acknowledged:
            self.refused_here.add(number)

    @rule()
    def break_and_come_back(self) -> None:
        self.memory.detach("c", forget=False)
        self.ledger = self.memory.attach("c", "s")
        known = max(self.ledger.received, self.window.acknowledged)
        self.back = [("refused", n) for n, _ in self.ledger.resume(self.window.acknowledged)]
        if self.ledger.through:
            self.back.append(("through", self.ledger.through))
        self.wire = list(self.window.after(known))

    @invariant()
    def nothing_twice_and_nothing_left_out(self) -> None:
        handled = sorted([*self.passed, *self.refused_there])
        assert handled == list(range(1, len(handled) + 1))
        assert self.passed == sorted(self.passed)
        assert self.window.acknowledged <= len(handled)

    @invariant()
    def the_client_knows_every_refusal_up_to_its_acknowledgement(self) -> None:
        known = {number for number in self.refused_there if number <= self.window.acknowledged}
        assert known <= self.refused_here


TestPublishing = Publishing.TestCase
